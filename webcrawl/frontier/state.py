"""The frontier opened from the last checkpoint, and saved with the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgpack

from webcrawl.base.url_text import host_of
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.core import Core, Hooks, Queues, Rules, Shape
from webcrawl.frontier.deferred_hosts import DeferredHostQueue
from webcrawl.frontier.domain_table import DomainTable
from webcrawl.frontier.families.families import Families
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.front_end import FrontEnd
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.host_rows import RetryAfterJournal
from webcrawl.frontier.hosts import HostTable
from webcrawl.frontier.place_shares import GroupQueues
from webcrawl.frontier.prioritizers import Informed, Learning, Popularity
from webcrawl.frontier.reputation import Reputation
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.counter_words import by_present_names
from webcrawl.store.jobdir.meta_row import FRONTIER

# a host's record and empty queue as Python objects: 630 measured
HOST_BYTES = 768
# a domain's record as a Python object, most of them without a queue: 560 measured
DOMAIN_BYTES = 640
POPULARITY = "popularity"
# part of the memory for what a prioritizer learns, if it does, and of families: it comes off the
# queues'
LEARNT = 16
NO_HOOKS = Hooks()


@dataclass(slots=True)
class FrontierPart:
    """The frontier's part of a checkpoint: queues, host records, counters and the random state."""

    db: CrawlDB
    core: Core
    random: Random
    table: Popularity | None = None  # what the prioritizer has learnt

    def prepare(self) -> Iterator[None]:
        yield from self.core.queues.budgets.prepare()
        # Last, because each page that comes meanwhile changes a host again. Where they were first,
        # all 4,000 hosts of a crawl had changed again by the end.
        yield from self.core.queues.hosts.prepare()

    def save(self) -> None:
        """Write all of the frontier's state that `prepare` has not, in the open transaction."""
        core = self.core
        queues = self.core.queues
        queues.hosts.save()
        queues.budgets.save()
        state = {
            "front": [queue.save() for queue in queues.front.queues],
            "parked": queues.parked.save(),
            # Deferred hosts were once called hosts set aside, and the state has the old names.
            "aside": queues.deferred.save(),
            "set aside": (core.deferred.urls, core.deferred.hosts),
            "lines": queues.lines.save(),
            # after a crash what is in flight is handed out again
            "queued": core.queued + core.in_flight,
            "width": core.width,
            "counters": core.counters,
            "random": self.random.getstate(),
        }
        if queues.front.old is not None:
            state["revisits"] = queues.front.old.save()
        self.db.set(FRONTIER, msgpack.packb(state))
        if self.table is not None:
            self.db.set(POPULARITY, self.table.save())


def open_frontier(
    db: CrawlDB,
    shape: Shape,
    rules: Rules,
    hooks: Hooks = NO_HOOKS,
    *,
    random: Random,
    now: float = 0.0,
    kind: Callable[..., Frontier] = Frontier,
) -> Frontier:
    """Open the frontier as of the last checkpoint.

    `now`, unless it is 0: every host waits its turn again, counted from then. It is for a resumed
    crawl that did not stop cleanly, as the requests since the checkpoint are unknown. `kind`: the
    class Frontier, or one made of it.
    """
    data = db.get(FRONTIER)
    saved: dict[str, Any] = msgpack.unpackb(data) if data else {}
    queues = _open_queues(db, shape, rules, saved, random)
    frontier = kind(queues, rules, hooks, resumed=now if saved else 0.0)
    core = frontier.core
    if saved:
        core.queued = saved["queued"]
        # FRONTIER_QUEUES may have been raised since.
        core.width = max(saved["width"], rules.limits.queues)
        core.counters.update(by_present_names(saved["counters"]))
        urls, hosts = saved["set aside"]
        core.deferred.urls += urls
        core.deferred.hosts += hosts
        version, words, gauss = saved["random"]
        random.setstate((version, tuple(words), gauss))
    db.join(FrontierPart(db, core, random, _restore_popularity(db, shape.memory // LEARNT, rules)))
    return frontier


def read_core(db: CrawlDB, shape: Shape, rules: Rules) -> Core:
    """Open the kernel as of the last checkpoint to be asked only: no host enters the back-end."""
    data = db.get(FRONTIER)
    saved: dict[str, Any] = msgpack.unpackb(data) if data else {}
    return Core(_open_queues(db, shape, rules, saved, Random()), rules, NO_HOOKS, 0.0)


def _restore_popularity(db: CrawlDB, memory: int, rules: Rules) -> Popularity | None:
    """Give the prioritizer what it has learnt up to the last checkpoint, if it learns."""
    if not isinstance(rules.prioritizer, Learning):
        return None
    table = Popularity(rules.key, memory)
    data = db.get(POPULARITY)
    if data is not None:
        table.restore(data)
    rules.prioritizer.learn(table)
    return table


def _open_queues(
    db: CrawlDB, shape: Shape, rules: Rules, saved: dict[str, Any], random: Random
) -> Queues:
    """Open the queues with their shares of FRONTIER_MEMORY.

    Half of it is for the queues' heads and tails, a quarter for hosts as objects, an eighth for
    packed rows, and the last eighth for registered domains. The caches of robots.txt rules
    (crawl/admission.py) and of addresses (net/network.py) come on top, in proportion to it.
    """
    quarter = shape.memory // 4
    blocks = Blocks(db)
    # one share for a prioritizer that learns, and one for families
    learnt = shape.memory // LEARNT * (isinstance(rules.prioritizer, Learning) + rules.folds)
    pool = Pool(blocks, shape.memory // 2 - learnt)
    hosts = HostTable(db, pool, quarter // HOST_BYTES, quarter // 2)
    levels: list[bytes | None] = list(saved.get("front", ()))
    # with fewer levels than before, the extra queues still run empty
    levels += [None] * (shape.levels - len(levels))
    old = pool.fifo(saved.get("revisits")) if shape.revisits or "revisits" in saved else None
    front = FrontEnd(
        [pool.fifo(level) for level in levels], shape.bias, random, rules.prioritizer, old
    )
    hosts.revisits = old is not None
    parked = pool.fifo(saved.get("parked"))
    deferred = DeferredHostQueue(pool.fifo, saved.get("aside", ()))
    families = Families(db, shape.memory // LEARNT) if rules.folds else None
    budgets = _open_budgets(db, blocks, shape.memory // 8, rules, families)
    return Queues(
        front,
        hosts,
        parked,
        RetryAfterJournal(db),
        deferred,
        GroupQueues(pool.fifo, saved.get("lines", {})),
        budgets,
    )


def _open_budgets(
    db: CrawlDB, blocks: Blocks, memory: int, rules: Rules, families: Families | None
) -> Budgets:
    """Open the budgets of registered domains, with shares of `memory` bytes.

    A half is for domains as objects, a quarter for their queues, an eighth for who links to whom.
    """
    reputation = Reputation(db, rules.domain, rules.key, memory // 8)
    if isinstance(rules.prioritizer, Informed):
        rules.prioritizer.inform(lambda url: reputation.remembered(rules.domain(host_of(url))))
    domains = DomainTable(db, Pool(blocks, memory // 4), memory // 2 // DOMAIN_BYTES)
    return Budgets(
        domains, reputation, rules.allowance, requisites=rules.requisites, families=families
    )
