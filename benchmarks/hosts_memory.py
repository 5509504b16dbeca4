"""Bytes of memory per host, by Python's own account: while it is active, at rest, and what is remembered of it.

An active host has one URL in its queue, as nearly all hosts of a broad crawl. The bounds of a crawl (FRONTIER_MEMORY,
and those of the caches of names and rules) are out of reach here, so nothing of it is on disk.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.support.report import report
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.arguments import Rules, Shape
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.robots_rows import RobotsRows
from webcrawl.frontier.state import open_frontier
from webcrawl.net.dns import CachingResolver
from webcrawl.net.dns_answer import Answer
from webcrawl.net.robots_book import RobotsBook
from webcrawl.store.crawldb import CrawlDB

MEMORY = 1 << 28  # bytes for the frontier, and for the rules
ROBOTS = {
    "missing": (404, b""),
    "of three rules": (200, b"User-agent: *\nDisallow: /admin/\nAllow: /admin/ajax.php\nDisallow: /search\n"),
}


def url(host: int) -> str:
    return f"http://www.example-{host}.test/"


def of_each(hosts: int, work: Callable[[], object]) -> int:
    """Bytes per host that are held after this work and were not before."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    work()
    gc.collect()
    return round((tracemalloc.get_traced_memory()[0] - before) / hosts)


def links(hosts: int) -> Iterator[Link]:
    return (Link(url(host), "L", "http://www.example.test/") for host in range(hosts))


def frontier(db: CrawlDB, hosts: int) -> tuple[int, int]:
    """Bytes of a host that is active, with its URL in flight, and of one at rest."""
    limits = Limits(queues=hosts, max_queues=hosts)
    made = open_frontier(db, Shape(8, 2.0, MEMORY), Rules(ByDepth(8), Mercator(10, 1, 300), limits), random=Random(1))

    def activate() -> None:
        made.add(link.pack() for link in links(hosts))
        while made.take(0.0) is not None:
            pass

    def finish() -> None:
        for link in links(hosts):
            made.done(link, Outcome(200, 0.2, ip="192.0.2.1"), 1.0)

    active = of_each(hosts, activate)
    return active, active + of_each(hosts, finish)


def robots(db: CrawlDB, hosts: int, status: int, body: bytes) -> int:
    """Bytes of the rules of a host in memory."""
    book = RobotsBook(RobotsRows(db), "webcrawl", memory=MEMORY)

    def answer() -> None:
        for host in range(hosts):
            book.answered(url(host).rstrip("/"), status, body, 0.0)

    return of_each(hosts, answer)


def name(hosts: int) -> int:
    """Bytes of a resolved name."""

    class Known:
        """A name server that answers at once."""

        async def ask(self, host: str) -> Answer:
            return Answer((f"192.0.2.{len(host)}",), 3600)

        async def check(self, host: str) -> Answer:
            return await self.ask(host)

        async def probe(self) -> None: ...

        async def close(self) -> None: ...

    async def resolve() -> None:
        for host in range(hosts):
            await resolver.resolve(f"www.example-{host}.test")

    with asyncio.Runner() as runner:

        async def make() -> CachingResolver:
            return CachingResolver(Known(), size=hosts)

        resolver = runner.run(make())
        return of_each(hosts, lambda: runner.run(resolve()))


def run(hosts: int) -> None:
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder, closing(CrawlDB(Path(folder))) as db:
        active, rest = frontier(db, hosts)
        rules = {kind: robots(db, hosts, *answer) for kind, answer in ROBOTS.items()}
    report("hosts_memory", hosts=hosts, active=active, at_rest=rest, rules=rules, resolved=name(hosts))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts_memory", description=__doc__)
    parser.add_argument("--hosts", type=int, default=20_000, help="hosts of each kind (default: %(default)s)")
    run(parser.parse_args().hosts)


if __name__ == "__main__":
    main()
