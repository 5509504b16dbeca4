"""A line of logs/crawl.log, in Heritrix's fields and widths, so that programs that read its logs read ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote_from_bytes

from webcrawl.text.dates import digits, iso

NOTHING = "-"
NO_TYPE = "no-type"  # Heritrix's word where there is no content type
_STRANGE = re.compile(r"[^!-~]+")


def line(
    *,
    now: float,
    status: int,
    size: int | None,
    url: str,
    path: str,
    via: str,
    content_type: str,
    started: float | None,
    seconds: float,
    digest: str,
    seed: str,
    annotations: Sequence[str],
    slot: int = 1,
) -> bytes:
    """One line of twelve fields. A server may send what it likes as a type: the log is ASCII without blanks."""
    length = NOTHING if size is None else str(size)
    kind = content_type.partition(";")[0].strip()
    fetched = NOTHING if started is None else f"{digits(started)}+{max(0, round(seconds * 1000))}"
    notes = ",".join([_field(note).replace(",", "%2C") for note in annotations])
    return (
        f"{iso(now)} {status:>5} {length:>10} {_field(url)} {_field(path)} {_field(via)} {_field(kind or NO_TYPE)}"
        f" #{slot:03d} {fetched} {_field(digest)} {_field(seed)} {notes or NOTHING}\n"
    ).encode("ascii")


def _field(text: str) -> str:
    if not text:
        return NOTHING
    if text.isascii() and text.isprintable() and " " not in text:  # nearly all
        return text
    return _STRANGE.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    return quote_from_bytes(match[0].encode("utf-8", "surrogatepass"), safe="")
