"""Compares a fetch of a page with the one before, and notes hosts whose 304 cannot be believed.

One in CHECK pages with validators is requested without them. If other bytes come with the same
strong ETag, the host's 304 is worth nothing. If the validators have changed too, the page may have
changed just then; but if that happens again and again, while no conditional request to the host
ever finds a change, its 304 cannot be believed either.
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
# an answer that was truncated at the same place each time can be compared
WHOLE = frozenset(("", "length"))

# The pages of a host that answers 304 to everything would never be seen to change.
CHECK = 25  # one in 25 requests that could be conditional is not, as a check
CHANGES_UNTIL_SURE = 3  # checks in a row that found a change, until the 304 is not believed
HOSTS_REMEMBERED = 4096  # hosts under suspicion
LONG = 30 * 86_400.0  # seconds until the 304 of such a host is believed again
WEAK = b"W/"


def judged(
    record: PageRecord | None, exchange: Exchange, digest: int, text: Callable[[], int | None]
) -> PageJudgement | None:
    """Return what an answer says of a page with this record, or with none; None if nothing.

    `digest`: of the body. `text` finds the fingerprint of the visible text, which takes as long as
    the rest of a page: it is called only if the bytes have changed.
    """
    status = exchange.status
    if record is None or not record.digest:
        return PageJudgement(Change.NEW, digest=digest) if status == 200 else None
    if status == 304 and was_conditional(exchange):
        return _unchanged(record, By.STATUS)
    if status in GONE:
        return PageJudgement(
            Change.GONE, before=record.fetched, digest_before=record.digest, visits=record.visits
        )
    if status != 200 or exchange.truncated not in WHOLE:
        return None
    # A page that was gone has changed even if its body is the old one: pipelines were told that it
    # was gone.
    if digest == record.digest and not record.gone:
        return _same_body(record, exchange)
    return _other_body(record, digest, text() or 0)


def _same_body(record: PageRecord, exchange: Exchange) -> PageJudgement:
    judgement = _unchanged(record, By.DIGEST)
    is_plain = exchange.payload is exchange.body
    if record.plain or not is_plain:
        return judgement
    # The head of a plain answer does not go with a coded payload, which nobody could read: it is
    # archived anew.
    return replace(judgement, stored=0.0, copy_of="")


def _other_body(record: PageRecord, digest: int, text: int) -> PageJudgement:
    """Return that a page has changed, and whether its text has, too. `text`: its fingerprint."""
    distance = (text ^ record.text).bit_count() if text and record.text else None
    is_same_text = distance is not None and distance <= ALIKE and not record.gone
    return PageJudgement(
        Change.CHANGED,
        By.DIGEST if is_same_text else By.TEXT,
        record.fetched,
        digest,
        record.digest,
        distance,
        text=text,
        visits=record.visits,
    )


def _unchanged(record: PageRecord, by: By) -> PageJudgement:
    """Return the judgement that a page is as it was; `by` says what shows it."""
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
    """Return whether the request had a condition: a 304 means nothing otherwise."""
    sent = exchange.request.lower()
    return b"\r\nif-none-match:" in sent or b"\r\nif-modified-since:" in sent


class Honesty:
    """Whose 304 can be believed: a row for each host under suspicion, and none for any other."""

    def __init__(self, random: Random, saved: bytes = b"") -> None:
        """`saved`: what `save` returned at the checkpoint to go on from."""
        self._random = random.random
        rows = msgpack.unpackb(saved) if saved else {}
        # by host: how many checks in a row found a change, and the time until which its pages are
        # requested without a condition, 0 while it is only suspected; the oldest row first
        self._rows: dict[str, tuple[int, float]] = {
            host: (count, until) for host, (count, until) in rows.items()
        }

    def asks_plainly(self, url: str, record: PageRecord, now: float) -> bool:
        """Return whether this page is requested without a condition despite its validators."""
        if self._rows:
            _, until = self._rows.get(host_of(url), (0, 0.0))
            if until > now:
                return True
        # One in CHECK pages, to find hosts whose 304 is not true.
        return record.visits > 0 and self._random() * CHECK < 1.0

    def update_trust(
        self,
        url: str,
        record: PageRecord,
        found: PageJudgement,
        etag: bytes,
        now: float,
        *,
        plainly: bool,
    ) -> None:
        """Learn whether to believe a host from a page that had validators.

        Only one that has changed tells anything. `record` is as it was when the page was requested;
        `plainly`: without a condition.
        """
        if found.change is not Change.CHANGED or not (plainly or self._rows):
            return
        host = host_of(url)
        if not plainly:  # requested with a condition, the host told the truth
            self._rows.pop(host, None)
            return
        count, until = self._rows.pop(host, (0, 0.0))
        # RFC 9110 8.8.1: other bytes have another strong ETag. A weak one may stay.
        has_same_etag = etag == record.etag != b""
        is_lie = has_same_etag and not etag.startswith(WEAK)
        count = CHANGES_UNTIL_SURE if is_lie else min(count + 1, CHANGES_UNTIL_SURE)
        if count >= CHANGES_UNTIL_SURE:
            until = now + LONG
        self._rows[host] = count, until
        if len(self._rows) > HOSTS_REMEMBERED:
            del self._rows[next(iter(self._rows))]

    def save(self) -> bytes:
        """Return the state for a checkpoint."""
        return bytes(msgpack.packb(self._rows)) if self._rows else b""
