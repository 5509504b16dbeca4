"""Which hosts say 304 of pages that have changed: they get no conditional requests for a while.

One in CHECK pages with validators is asked for without them. If other bytes come with the same strong ETag, the host's
304 is worth nothing. If the validators are others too, the page may have changed just then; but if that happens again
and again, while no conditional request to the host ever finds a change, its 304 is not to be believed either.
"""

from __future__ import annotations

from random import Random

import msgpack

from webcrawl.revisit.change import Change, Judged
from webcrawl.revisit.record import PageRecord
from webcrawl.urls.hosts import host_of

CHECK = 25  # of so many requests that could be conditional one is not
SURE = 3  # checks in a row that found a change
MOST = 4096  # hosts that are remembered
LONG = 30 * 86_400.0  # seconds until one is believed again
WEAK = b"W/"


class Honesty:
    """A row for each host that is under suspicion, and none for any other."""

    def __init__(self, random: Random, saved: bytes = b"") -> None:
        self._random = random.random
        rows = msgpack.unpackb(saved) if saved else {}
        self._rows: dict[str, tuple[int, float]] = {host: (count, until) for host, (count, until) in rows.items()}

    def __repr__(self) -> str:
        return f"<Honesty hosts={len(self._rows)}>"

    def asks_plainly(self, url: str, record: PageRecord, now: float) -> bool:
        """Whether this page is asked for without a condition, although it has validators."""
        if self._rows and self._rows.get(host_of(url), (0, 0.0))[1] > now:
            return True
        return record.visits > 0 and self._random() * CHECK < 1.0

    def heard(self, url: str, record: PageRecord, found: Judged, etag: bytes, now: float, *, plainly: bool) -> None:
        """What came of a page that had validators; `record` is as it was when it was asked for."""
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
        """What a checkpoint keeps."""
        return bytes(msgpack.packb(self._rows)) if self._rows else b""
