"""One line of logs/crawl.log, in Heritrix's fields and widths, so that tools for its logs read ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote_from_bytes

from webcrawl.model import Exchange, Link, Outcome
from webcrawl.text.dates import digits, iso

NOTHING = "-"
NO_TYPE = "no-type"  # Heritrix's word for a missing content type
_STRANGE = re.compile(r"[^!-~]+")


def line(now: float, link: Link, outcome: Outcome, exchange: Exchange | None, annotations: Sequence[str]) -> bytes:
    """Twelve fields, in ASCII and without blanks inside a field, whatever the server sent.

    Heritrix numbers its threads in the eighth field. This crawler has none, so the number is always 1.
    """
    if exchange is None:
        size, kind, fetched, digest = NOTHING, "", NOTHING, ""
    else:
        size, kind = str(len(exchange.payload)), exchange.content_type.partition(";")[0].strip()
        fetched, digest = f"{digits(exchange.started)}+{max(0, round(outcome.seconds * 1000))}", exchange.digest
    notes = ",".join([_field(note).replace(",", "%2C") for note in annotations])
    return (
        f"{iso(now)} {outcome.status:>5} {size:>10} {_field(link.url)} {_field(link.path)} {_field(link.via)}"
        f" {_field(kind or NO_TYPE)} #001 {fetched} {_field(digest)} {_field(link.seed)} {notes or NOTHING}\n"
    ).encode("ascii")


def _field(text: str) -> str:
    if not text:
        return NOTHING
    if text.isascii() and text.isprintable() and " " not in text:  # nearly always
        return text
    return _STRANGE.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    return quote_from_bytes(match[0].encode("utf-8", "surrogatepass"), safe="")
