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

MEDIAN_SECONDS = 0.2  # of an answer
SPREAD = 0.7  # the standard deviation of the logarithm between hosts
MINUTE = 60.0
MIN_REQUESTS = 50  # of a host whose average means something
SLACK = 1e-6
BURST_SECONDS = 1.0  # seconds between two requests that belong together
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table: a policy, and the connections that every host allows."""

    name: str
    politeness: Politeness
    connections: int = 1


CASES = (
    Case("strong: ten times the download, at least 1 s (default)", Mercator(10, 1, 300)),
    Case("strong, without a minimum", Mercator(10, 0, 300)),
    Case("strong, with 4 connections to every host", Mercator(10, 1, 300), 4),
    Case("weak: no pause", Weak(10, 0, 300)),
)


def spans_of_crawl(case: Case, world: World, slots: int, folder: Path) -> dict[str, list[Span]]:
    """Simulate a crawl, and return the begin and the end of each request by host."""
    db = CrawlDB(folder)
    random = Random(1)
    now = 0.0
    connections = Connections(others=case.connections) if case.connections > 1 else None
    limits = Limits(queues=3 * slots, max_queues=30_000, fetchers=slots, connections=connections)
    rules = Rules(ByDepth(3), case.politeness, limits)
    frontier = open_frontier(db, Shape(3, 2.0, 64 << 20), rules, Hooks(), random=Random(1), now=now)
    usual_seconds: dict[str, float] = {}
    for links in _pages(world):
        frontier.add(links)
    found: dict[str, list[Span]] = defaultdict(list)
    in_flight: list[tuple[float, int, Link, float]] = []
    while True:
        while len(in_flight) < slots and (link := frontier.take(now)) is not None:
            host = host_of(link.url)
            drawn = MEDIAN_SECONDS * exp(random.gauss(0, SPREAD))
            seconds = usual_seconds.setdefault(host, drawn) * random.uniform(0.9, 1.1)
            found[host].append((now, now + seconds))
            heappush(in_flight, (now + seconds, frontier.counters["taken"], link, seconds))
        ready = frontier.next_ready() if len(in_flight) < slots else None
        if in_flight and (ready is None or in_flight[0][0] <= max(ready, now)):
            now, _, link, seconds = heappop(in_flight)
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
    """Return the most requests to a host that began within a second."""
    begun = [begin for begin, _ in spans]
    return max(bisect_left(begun, begin + 1) - number for number, begin in enumerate(begun))


def longest_burst(spans: list[Span]) -> int:
    """Return the most requests in a row between which less than BURST_SECONDS passed."""
    longest = run = 1
    for (_, ended), (begun, _) in pairwise(spans):
        run = run + 1 if begun - ended < BURST_SECONDS - SLACK else 1
        longest = max(longest, run)
    return longest


def mean_in_flight(spans: list[Span]) -> float:
    """Return how many requests a host had under way on average, from the first to the last."""
    return sum(end - begin for begin, end in spans) / (spans[-1][1] - spans[0][0])


def run(hosts: int, pages: int, slots: int) -> None:
    """Simulate all cases, and report each."""
    world = World(hosts, pages)
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = spans_of_crawl(case, world, slots, Path(folder))
        begun = sorted(begin for spans in found.values() for begin, _ in spans)
        large = [spans for spans in found.values() if len(spans) >= MIN_REQUESTS]
        report(
            case.name,
            pages_a_second_at_first=sum(begin < MINUTE for begin in begun) / MINUTE,
            minutes_for_all=begun[-1] / 60,
            a_host_sees_in_a_second=max(map(busiest_second, found.values())),
            longest_burst=max(map(longest_burst, found.values())),
            most_under_way_on_average=max(map(mean_in_flight, large)),
        )


def main() -> None:
    """Run the cases with the numbers of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policies", description=__doc__)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--pages", type=int, default=20_000, help="pages of the synthetic web")
    parser.add_argument("--slots", type=int, default=64, help="downloads at once")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.slots)


if __name__ == "__main__":
    main()
