"""The records of all pages that wait to be fetched again, by their due times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from math import inf
from random import Random

import msgpack

from webcrawl.revisit.policy import Policy
from webcrawl.revisit.record import PageRecord, pack, unpack
from webcrawl.store.crawldb import CrawlDB

META = "revisits"
SAVED = 1.0  # seconds for which tokens are saved up


class Revisits:
    """A heap in memory."""

    def __init__(
        self, db: CrawlDB, policy: Policy, *, rate: Callable[[], float], random: Random, memory: int = 0
    ) -> None:
        del random, memory
        self._db, self._policy, self._rate = db, policy, rate
        self._tokens, self._at = 1.0, 0.0
        data = db.get(META)
        saved, state = msgpack.unpackb(data) if data is not None else ([], b"")
        self._heap: list[tuple[float, int, bytes]] = [(due, at, record) for at, (due, record) in enumerate(saved)]
        self._count = len(self._heap)
        heapify(self._heap)
        policy.restore(state)
        db.join(self)

    def __len__(self) -> int:
        return len(self._heap)

    def __repr__(self) -> str:
        return f"<Revisits {len(self)}>"

    def keep(self, record: PageRecord, now: float, due: float | None = None) -> None:
        """After a fetch: until its due time, or this one."""
        if due is None:
            due = self._policy.due(record, now)
        self._count += 1
        heappush(self._heap, (due, self._count, pack(record)))

    def take(self, now: float, most: int) -> list[PageRecord]:
        """The next in the order of due times, as many as the budget allows by now."""
        rate = self._rate()
        found: list[PageRecord] = []
        self._tokens = min(self._tokens + max(now - self._at, 0.0) * rate, max(rate * SAVED, 1.0))
        self._at = now
        while self._heap and len(found) < most and self._tokens >= 1.0:
            due, _, data = self._heap[0]
            if due == inf or (due > now and not self._policy.early):
                break
            heappop(self._heap)
            self._tokens -= 1.0
            record = unpack(data)
            self._policy.took(record, now, due)
            found.append(record)
        return found

    def next_take(self, now: float) -> float | None:
        """When `take` may return something."""
        rate = self._rate()
        if not self._heap or self._heap[0][0] == inf or rate <= 0.0:
            return None
        ready = now + max(1.0 - self._tokens - max(now - self._at, 0.0) * rate, 0.0) / rate
        return ready if self._policy.early else max(ready, self._heap[0][0])

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        saved = [(due, record) for due, _, record in sorted(self._heap)]
        self._db.set(META, msgpack.packb([saved, self._policy.state()]))
