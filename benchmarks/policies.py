"""Politeness policies compared: how fast a crawl is, and what its hosts would complain of. A
simulated clock.

The real frontier with the hosts of the synthetic web, all of whose pages are known at the start. A
host always answers in about the same time, drawn for each of them: 0.2 seconds in the median, two
seconds for one in two thousand. A burst is a run of requests each of which begins less than a
second after the end of the one before. Nothing is measured but the order and the times of requests,
so every run of the same command gives the same figures.
"""

from __future__ import annotations

import argparse
import tempfile
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from math import exp
from pathlib import Path
from random import Random

from benchmarks.support.report import report
from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Hooks, Rules, Shape
from webcrawl.frontier.host_queues import Connections
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.politeness.fixed import Weak
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.lab.simweb.world import World
from webcrawl.store.crawldb import CrawlDB

MEDIAN, SPREAD = 0.2, 0.7  # seconds of an answer; the logarithm's deviation between hosts
MINUTE = 60.0
LARGE = 50  # requests of a host whose average means something
SLACK = 1e-6
BURST = 1.0  # seconds between two requests that belong together
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table."""

    name: str
    politeness: Politeness
    connections: int = 1


CASES = (
    Case("strong: ten times the download, at least 1 s (default)", Mercator(10, 1, 300)),
    Case("strong, without a minimum", Mercator(10, 0, 300)),
    Case("strong, with 4 connections to every host", Mercator(10, 1, 300), 4),
    Case("weak: no pause", Weak(10, 0, 300)),
)


def crawled(case: Case, world: World, slots: int, folder: Path) -> dict[str, list[Span]]:
    """Begin and end of each request, by host."""
    db, chance, now = CrawlDB(folder), Random(1), 0.0
    connections = Connections(others=case.connections) if case.connections > 1 else None
    limits = Limits(queues=3 * slots, max_queues=30_000, fetchers=slots, connections=connections)
    rules = Rules(ByDepth(3), case.politeness, limits)
    frontier = open_frontier(db, Shape(3, 2.0, 64 << 20), rules, Hooks(), random=Random(1), now=now)
    usual: dict[str, float] = {}
    for links in _pages(world):
        frontier.add(links)
    found: dict[str, list[Span]] = defaultdict(list)
    flying: list[tuple[float, int, Link, float]] = []
    while True:
        while len(flying) < slots and (link := frontier.take(now)) is not None:
            host = host_of(link.url)
            seconds = usual.setdefault(
                host, MEDIAN * exp(chance.gauss(0, SPREAD))
            ) * chance.uniform(0.9, 1.1)
            found[host].append((now, now + seconds))
            heappush(flying, (now + seconds, frontier.counters["taken"], link, seconds))
        ready = frontier.next_ready() if len(flying) < slots else None
        if flying and (ready is None or flying[0][0] <= max(ready, now)):
            now, _, link, seconds = heappop(flying)
            frontier.done(link, Outcome(200, seconds), now)
        elif ready is None:
            break
        else:
            now = max(now, ready)
    db.close()
    return found


def _pages(world: World) -> Iterator[list[bytes]]:
    for host in range(world.hosts):
        yield [
            Link(f"http://{world.name(host)}/{page}").pack() for page in range(world.pages_of(host))
        ]


def busiest_second(spans: list[Span]) -> int:
    """The most requests that began within a second."""
    begun = [begin for begin, _ in spans]
    return max(bisect_left(begun, begin + 1) - number for number, begin in enumerate(begun))


def longest_burst(spans: list[Span]) -> int:
    longest = run = 1
    for (_, ended), (begun, _) in pairwise(spans):
        run = run + 1 if begun - ended < BURST - SLACK else 1
        longest = max(longest, run)
    return longest


def share(spans: list[Span]) -> float:
    """How many of its requests a host had under way on average, from the first one to the last."""
    return sum(end - begin for begin, end in spans) / (spans[-1][1] - spans[0][0])


def run(hosts: int, pages: int, slots: int) -> None:
    world = World(hosts, pages)
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = crawled(case, world, slots, Path(folder))
        begun = sorted(begin for spans in found.values() for begin, _ in spans)
        large = [spans for spans in found.values() if len(spans) >= LARGE]
        report(
            case.name,
            pages_a_second_at_first=sum(begin < MINUTE for begin in begun) / MINUTE,
            minutes_for_all=begun[-1] / 60,
            a_host_sees_in_a_second=max(map(busiest_second, found.values())),
            longest_burst=max(map(longest_burst, found.values())),
            most_under_way_on_average=max(map(share, large)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policies", description=__doc__)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--pages", type=int, default=20_000, help="pages of the synthetic web")
    parser.add_argument("--slots", type=int, default=64, help="downloads at once")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.slots)


if __name__ == "__main__":
    main()
