"""The account as CSV: one line per request, for those who reckon with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from webcrawl.account.account import Account, unknown
from webcrawl.account.asked import Asked
from webcrawl.account.words import kept, outcome
from webcrawl.text.dates import iso

COLUMNS = (
    *("time", "method", "url", "status", "bytes", "seconds", "waited", "wait_needed", "rule", "tries_before"),
    *("robots_txt", "kept", "digest", "found_on", "path", "notes", "outcome"),
)


def sheet(account: Account) -> Iterator[str]:
    """Lines as RFC 4180 has them."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for one in account.requests:
        writer.writerow([_safe(value) for value in _row(account, one)])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _row(account: Account, one: Asked) -> list[object]:
    end = one.end
    done: list[object] = ["", "", ""] if end is None else [end.status, end.size, end.seconds]
    about = ["", "", "", ""] if end is None else [end.digest, end.via, end.path, end.notes]
    return [
        *(iso(one.at), one.method, one.url, *done, one.waited, one.needed, one.rule, one.tries),
        *(int(one.path.endswith("P")), kept(one), *about, outcome(one, lost=unknown(account, one))),
    ]


def _safe(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe: servers choose some of them."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
