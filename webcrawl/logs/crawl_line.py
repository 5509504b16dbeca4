"""One line of logs/crawl.log, in Heritrix's fields and widths, so that tools for its logs read ours."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.model import Exchange, Link, Outcome
from webcrawl.text.dates import digits, iso
from webcrawl.text.percent import visible

NOTHING = "-"
NO_TYPE = "no-type"  # Heritrix's word for a missing content type


def line(now: float, link: Link, outcome: Outcome, exchange: Exchange | None, annotations: Sequence[str]) -> bytes:
    """Twelve fields, in ASCII and without blanks inside a field, whatever the server sent.

    Heritrix numbers its threads in the eighth field. This crawler has none, so the number is always 1.
    """
    if exchange is None:
        size, kind, fetched, digest = NOTHING, "", NOTHING, ""
    else:
        size, kind = str(exchange.size), exchange.content_type.partition(";")[0].strip()
        fetched, digest = f"{digits(exchange.started)}+{max(0, round(outcome.seconds * 1000))}", exchange.digest
    texts = (link.url, link.hops, link.via, digest, link.seed)
    url, path, via, digest, seed = [visible(text) or NOTHING for text in texts]
    notes = ",".join([(visible(note) or NOTHING).replace(",", "%2C") for note in annotations]) or NOTHING
    return (
        f"{iso(now)} {outcome.status:>5} {size:>10} {url} {path} {via} {visible(kind) or NO_TYPE} #001 {fetched}"
        f" {digest} {seed} {notes}\n"
    ).encode("ascii")
