"""Compares a fetch of a page with the one before, and notes the hosts whose 304 is not to be
believed.

One in CHECK pages with validators is asked for without them. If other bytes come with the same
strong ETag, the host's 304 is worth nothing. If the validators are others too, the page may have
changed just then; but if that happens again and again, while no conditional request to the host
ever finds a change, its 304 is not to be believed either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import msgpack

from webcrawl.base.model import Exchange
from webcrawl.base.page_values import GONE, By, Change, PageJudgement
from webcrawl.base.url_text import host_of
from webcrawl.crawl.revisit.record import PageRecord

ALIKE = 4  # bits in which the fingerprints of two texts may differ that count as the same
# an answer that was cut at the same place each time can be compared
WHOLE = frozenset(("", "length"))

CHECK = 25  # of so many requests that could be conditional one is not
SURE = 3  # checks in a row that found a change
MOST = 4096  # hosts that are remembered
LONG = 30 * 86_400.0  # seconds until one is believed again
WEAK = b"W/"


def judged(
    record: PageRecord | None, exchange: Exchange, digest: int, text: Callable[[], int | None]
) -> PageJudgement | None:
    """Judges a page with this record, or with none, by its answer; None if it says nothing.

    `digest`: of the body. `text` finds the fingerprint of the visible text, which takes as long as
    all else of a page: it is asked for only once the bytes have changed.
    """
    status = exchange.status
    if record is None or not record.digest:
        return PageJudgement(Change.NEW, digest=digest) if status == 200 else None
    before, was, visits = record.fetched, record.digest, record.visits
    if status == 304 and was_conditional(exchange):
        return _unchanged(record, By.STATUS)
    if status in GONE:
        return PageJudgement(Change.GONE, None, before, 0, was, visits=visits)
    if status != 200 or exchange.truncated not in WHOLE:
        return None
    if digest == was and not record.gone:  # of one that was gone, pipelines were told so
        found = _unchanged(record, By.DIGEST)
        is_plain = exchange.payload is exchange.body
        # The head of a plain answer does not go with a coded payload, which nobody could read: it
        # is archived anew
        return replace(found, stored=0.0, copy_of="") if is_plain and not record.plain else found
    seen = text() or 0
    distance = (seen ^ record.text).bit_count() if seen and record.text else None
    by = By.DIGEST if distance is not None and distance <= ALIKE and not record.gone else By.TEXT
    return PageJudgement(
        Change.CHANGED, by, before, digest, was, distance, text=seen, visits=visits
    )


def _unchanged(record: PageRecord, by: By) -> PageJudgement:
    return PageJudgement(
        Change.UNCHANGED,
        by,
        record.fetched,
        record.digest,
        record.digest,
        visits=record.visits,
        stored=record.stored,
        copy_of=record.copy_of,
        said=record.said,
    )


def was_conditional(exchange: Exchange) -> bool:
    """True if the request said so: a 304 means nothing otherwise."""
    sent = exchange.request.lower()
    return b"\r\nif-none-match:" in sent or b"\r\nif-modified-since:" in sent


class Honesty:
    """A row for each host that is under suspicion, and none for any other."""

    def __init__(self, random: Random, saved: bytes = b"") -> None:
        self._random = random.random
        rows = msgpack.unpackb(saved) if saved else {}
        self._rows: dict[str, tuple[int, float]] = {
            host: (count, until) for host, (count, until) in rows.items()
        }

    def asks_plainly(self, url: str, record: PageRecord, now: float) -> bool:
        """True if this page is asked for without a condition, although it has validators."""
        if self._rows and self._rows.get(host_of(url), (0, 0.0))[1] > now:
            return True
        return record.visits > 0 and self._random() * CHECK < 1.0

    def heard(
        self,
        url: str,
        record: PageRecord,
        found: PageJudgement,
        etag: bytes,
        now: float,
        *,
        plainly: bool,
    ) -> None:
        """Takes what came of a page that had validators; `record` is as it was when it was asked
        for.
        """
        if found.change is not Change.CHANGED or not (plainly or self._rows):
            return
        host = host_of(url)
        if plainly:
            count, until = self._rows.pop(host, (0, 0.0))
            lies = etag == record.etag != b"" and not etag.startswith(WEAK)
            count = SURE if lies else min(count + 1, SURE)
            self._rows[host] = count, now + LONG if count >= SURE else until
            if len(self._rows) > MOST:
                del self._rows[next(iter(self._rows))]
        else:  # asked with a condition, it told the truth
            self._rows.pop(host, None)

    def save(self) -> bytes:
        """Return the state for a checkpoint."""
        return bytes(msgpack.packb(self._rows)) if self._rows else b""
