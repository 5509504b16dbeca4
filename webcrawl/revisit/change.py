"""What a fetch says of a page, beside what the fetch before it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from webcrawl.model import Exchange
from webcrawl.revisit.record import PageRecord

ALIKE = 4  # bits in which the fingerprints of two texts may differ that count as the same
GONE = frozenset({404, 410})
WHOLE = frozenset(("", "length"))  # an answer that was cut at the same place each time can be compared


class Change(StrEnum):
    """What became of a page since its last fetch."""

    NEW = "new"  # there was none
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # answered 404 or 410


class By(StrEnum):
    """How it is known that a page is as it was, or is not."""

    STATUS = "status-304"  # the server says that it was not modified
    DIGEST = "digest"  # the bytes are the same; or they differ, and the visible text does not
    TEXT = "text"  # the visible text differs, or the page was away in between


@dataclass(slots=True)  # not frozen: to make one would take five times as long
class Judged:
    """One fetch of a page that has a record; `Exchange.revisit`."""

    change: Change
    by: By | None = None
    before: float = 0.0  # the fetch before, seconds since 1970; 0: there was none
    digest: int = 0  # of the body, keyed; 0: there is no body
    digest_before: int = 0
    distance: int | None = None  # bits in which the fingerprints of the texts differ, where both have one
    announced: bool = False  # a sitemap, feed or hub had said that the page has changed
    text: int = 0  # the fingerprint of the visible text, if it was wanted; 0: none
    visits: int = 0  # how often the page was fetched again before
    stored: float = 0.0  # when the answer was fetched that the archive has, if this one is the same; 0: it has none
    said: tuple[int, int] = (0, 0)  # of an unchanged page: what the answer before said of its use


def judged(record: PageRecord | None, exchange: Exchange, digest: int, text: Callable[[], int | None]) -> Judged | None:
    """What this answer says of a page with this record, or with none; None if it says nothing.

    `digest`: of the body. `text` finds the fingerprint of the visible text, which takes as long as all else of a page:
    it is asked for only once the bytes have changed.
    """
    status = exchange.status
    if record is None or not record.digest:
        return Judged(Change.NEW, digest=digest) if status == 200 else None
    before, was, visits, stored = record.fetched, record.digest, record.visits, record.stored
    if status == 304 and was_conditional(exchange):
        return Judged(Change.UNCHANGED, By.STATUS, before, was, was, visits=visits, stored=stored, said=record.said)
    if status in GONE:
        return Judged(Change.GONE, None, before, 0, was, visits=visits)
    if status != 200 or exchange.truncated not in WHOLE:
        return None
    if digest == was and not record.gone:  # of one that was gone, pipelines were told so
        return Judged(Change.UNCHANGED, By.DIGEST, before, digest, was, visits=visits, stored=stored, said=record.said)
    seen = text() or 0
    distance = (seen ^ record.text).bit_count() if seen and record.text else None
    by = By.DIGEST if distance is not None and distance <= ALIKE and not record.gone else By.TEXT
    return Judged(Change.CHANGED, by, before, digest, was, distance, text=seen, visits=visits)


def was_conditional(exchange: Exchange) -> bool:
    """Whether the request said so: a 304 means nothing otherwise."""
    sent = exchange.request.lower()
    return b"\r\nif-none-match:" in sent or b"\r\nif-modified-since:" in sent
