"""A line of logs/crawl.log, in Heritrix's fields and widths, so that tools for its logs read ours
(docs/logs.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.dates import digits, iso, read_digits, read_iso
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.url_text import visible
from webcrawl.store.disk import regular
from webcrawl.store.lines import lines_of

LOG = "logs/crawl.log"
DATE = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
SHAPE = re.compile(
    DATE
    + rb" +-?\d+ +(\d+|-) [!-~]+ ([A-Z]+|-) [!-~]+ [!-~]+ #\d{3} (\d{17}\+\d+|-) (sha1:[A-Z2-7]{32}|-) [!-~]+"
    rb" [!-~]+\n"
)
FIELDS = 12
STATUS, SIZE, URL, PATH, VIA, SEED, NOTES = 1, 2, 3, 4, 5, 10, 11  # positions
PREREQUISITE = b"P"  # the last letter of the path: a robots.txt that was fetched for others
# the last letters of the paths that no link, listing or seed led to: robots.txt and probes
OURS = b"PS"
REVISIT = "revisit"
INLINE = "inline"
GIVEN_UP = "given_up"
DUPLICATE = "duplicate:digest"
TRUNCATED = "truncated:"
LINKS_CUT = "links_cut:"  # with the number of links that were not followed, as there are too many
# with a colon and who says so: its owner does not want it for what the crawl is for
WITHHELD = "withheld"
PROXY = "proxy"  # the proxy of this request did not get through
NOTHING = "-"
NO_TYPE = "no-type"  # Heritrix's word for a missing content type


def line(
    now: float, link: Link, outcome: Outcome, exchange: Exchange | None, annotations: Sequence[str]
) -> bytes:
    """Return the line of a URL that ended: twelve fields, in ASCII and without blanks inside a field.

    `exchange`: the request and its answer; None if there was none. Heritrix numbers its threads in
    the eighth field. This crawler has none, so the number is always 1.
    """
    size = fetched = NOTHING
    kind = digest = ""
    if exchange is not None:
        size = str(exchange.size)
        kind = exchange.content_type.partition(";")[0].strip()
        fetched = f"{digits(exchange.started)}+{max(0, round(outcome.seconds * 1000))}"
        digest = exchange.digest
    texts = [link.url, link.hops, link.via, digest, link.seed, kind]
    # One look for all of them: `visible` returns a text that needs no escapes as it is
    if visible(whole := "".join(texts)) is not whole:
        texts = [*map(visible, texts)]
    url, path, via, digest, seed, kind = texts
    notes = ""
    if annotations:
        # A comma parts two annotations
        notes = ",".join([(visible(note) or NOTHING).replace(",", "%2C") for note in annotations])
    return (
        f"{iso(now)} {outcome.status:>5} {size:>10} {url or NOTHING} {path or NOTHING} {via or NOTHING}"
        f" {kind or NO_TYPE} #001 {fetched} {digest or NOTHING} {seed or NOTHING} {notes or NOTHING}\n"
    ).encode("ascii")


class CrawlLine(NamedTuple):
    """The end of a URL. What is `-` in the log is empty here."""

    text: str
    time: str  # ISO 8601
    at: float  # the same, in seconds since 1970
    status: int
    size: int | None  # bytes of the body; None: there was no answer
    url: str
    path: str
    via: str
    mime: str
    started: float | None  # when its last request began
    seconds: float  # that this one took
    digest: str
    seed: str
    notes: str

    @property
    def annotations(self) -> list[str]:
        return self.notes.split(",")

    @property
    def is_prerequisite(self) -> bool:
        """Return whether it is a robots.txt that was fetched for others."""
        return self.path.endswith("P")


def read(data: bytes) -> CrawlLine | None:
    """Return the fields of a line; None if it is no line of this log."""
    texts = data.decode("ascii", "replace").split()
    if len(texts) != FIELDS:
        return None
    time, status, size, url, path, via, mime, _, fetched, digest, seed, notes = map(_text, texts)
    began, _, milliseconds = fetched.partition("+")
    if mime == NO_TYPE:
        mime = ""
    try:
        ended = read_iso(time)
        code = int(status)
        length = int(size) if size else None
        started = read_digits(began) if began else None
        seconds = int(milliseconds or 0) / 1000
    except (ValueError, IndexError):
        return None
    text = " ".join(texts)
    first_fields = text, time, ended, code, length, url, path, via, mime
    return CrawlLine(*first_fields, started, seconds, digest, seed, notes)


def fields(data: bytes) -> list[bytes] | None:
    """Return the fields of a line as they are written, at a quarter of the cost of `read`.

    None if it has another number.
    """
    found = data.split()
    return found if len(found) == FIELDS else None


def each(path: Path, start: int, end: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the place and the fields of each line between these bytes.

    A damaged line has whatever is left of it.
    """
    with regular(path) as file:
        for at, data in lines_of(file, end, start):
            yield at, data.split()


def _text(field: str) -> str:
    return "" if field == NOTHING else field
