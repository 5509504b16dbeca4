"""The frontier opened from the last checkpoint, and saved with the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgpack

from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.admission import Admission
from webcrawl.frontier.blocks import Blocks
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.fifo import Fifo, Pool
from webcrawl.frontier.front import FrontEnd
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.hosts import HostTable
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.model import Link
from webcrawl.store.crawldb import CrawlDB

HOST_BYTES = 768  # a host's record and empty queue as Python objects: 630 measured (docs/frontier.md)
META = "frontier"


@dataclass(slots=True)
class FrontierPart:
    """What of the checkpoint is the frontier's: host records, both ends' queues, counters and chance."""

    db: CrawlDB
    frontier: Frontier
    front: FrontEnd
    hosts: HostTable
    parked: Fifo
    random: Random

    def prepare(self) -> Iterator[None]:
        yield from self.hosts.prepare()

    def save(self) -> None:
        self.hosts.save()
        frontier = self.frontier
        state = {
            "front": [queue.save() for queue in self.front.queues],
            "parked": self.parked.save(),
            "queued": len(frontier),  # a URL in flight comes again, if this checkpoint is what remains
            "width": frontier.width,
            "counters": frontier.counters,
            "random": self.random.getstate(),
        }
        self.db.set(META, msgpack.packb(state))


def open_frontier(
    db: CrawlDB,
    prioritizer: Prioritizer,
    politeness: Politeness,
    limits: Limits,
    *,
    levels: int,
    bias: float,
    memory: int,
    random: Random,
    addresses: Addresses | None = None,
    admission: Admission | None = None,
    dropped: Callable[[Link, int], None] | None = None,
    now: float = 0.0,
) -> Frontier:
    """Half of `memory` is for the queues' heads and tails, a quarter for hosts as objects, one for packed rows."""
    data = db.get(META)
    saved: dict[str, Any] = msgpack.unpackb(data) if data else {}
    pool = Pool(Blocks(db), memory // 2)
    hosts = HostTable(db, pool, memory // 4 // HOST_BYTES, memory // 4)
    queues: list[bytes | None] = list(saved.get("front", ()))
    queues += [None] * (levels - len(queues))  # fewer levels than before: the queues beyond them still run empty
    front = FrontEnd([pool.fifo(queue) for queue in queues], bias, random)
    parked = pool.fifo(saved.get("parked"))
    frontier = Frontier(
        front,
        hosts,
        parked,
        prioritizer,
        politeness,
        limits,
        addresses=addresses,
        admission=admission,
        dropped=dropped,
        resumed=now if saved else 0.0,
    )
    if saved:
        frontier.queued, frontier.width = saved["queued"], max(saved["width"], limits.queues)
        frontier.counters = Counter(saved["counters"])
        version, words, gauss = saved["random"]
        random.setstate((version, tuple(words), gauss))
    db.join(FrontierPart(db, frontier, front, hosts, parked, random))
    return frontier
