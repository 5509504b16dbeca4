"""Checks of a request log for what a polite crawler must not do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from webcrawl.lab.simweb import robots_kinds
from webcrawl.lab.simweb.kinds import trap_entrance
from webcrawl.lab.simweb.request_log import Hit
from webcrawl.lab.simweb.world import World

Key = Callable[[Hit], str]
Rule = Callable[[Hit], float]
Connections = Mapping[str, int]  # how many requests a host may have at once, if not one
ONE: Connections = {}


def by_host(hit: Hit) -> str:
    return hit.host


def by_address(hit: Hit) -> str:
    return hit.address


@dataclass(frozen=True, slots=True)
class Gap:
    """Two successive requests that came too close together."""

    first: Hit
    second: Hit
    seconds: float
    wanted: float


def overlaps(log: Iterable[Hit], key: Key = by_host, *, connections: Connections = ONE) -> list[tuple[Hit, Hit]]:
    """Each request that began before an earlier one to the same host was answered, with that earlier request.

    `connections`: hosts that may have so many requests at once; then the one that had to be answered first.
    """
    found = []
    for hits in _grouped(log, key):
        most, running = connections.get(hits[0].host, 1), list[Hit]()
        for hit in hits:
            running = [one for one in running if one.ended > hit.started]
            if len(running) >= most:
                found.append((sorted(running, key=lambda one: one.ended)[-most], hit))
            running.append(hit)
    return found


def gaps(
    log: Iterable[Hit], rule: Rule, key: Key = by_host, *, slack: float = 0.001, connections: Connections = ONE
) -> list[Gap]:
    """The successive requests to one host between which the client waited less than `rule` asks after the first.

    Of a host that may have several requests at once, those that began while as many had their waits not over.
    """
    found: list[Gap] = []
    for hits in _grouped(log, key):
        if (most := connections.get(hits[0].host, 1)) > 1:
            found += _crowded(hits, rule, most, slack)
            continue
        for first, second in pairwise(hits):
            seconds, wanted = second.started - first.ended, rule(first)
            if seconds < wanted - slack:
                found.append(Gap(first, second, seconds, wanted))
    return found


def _crowded(hits: list[Hit], rule: Rule, most: int, slack: float) -> Iterator[Gap]:
    before: list[tuple[float, int]] = []  # when the wait after each earlier request is over, and its number
    for number, hit in enumerate(hits):
        before = sorted(one for one in before if one[0] - slack > hit.started)
        if len(before) >= most:
            first = hits[before[-most][1]]
            yield Gap(first, hit, hit.started - first.ended, rule(first))
        before.append((hit.ended + rule(hit), number))


def too_early(log: Iterable[Hit], key: Key = by_host, *, maximum: float = inf, slack: float = 0.001) -> list[Gap]:
    """Every request to a host that came earlier than the Retry-After of any answer before it asked for.

    `maximum` is the longest wait that the client accepts.
    """
    found = []
    for hits in _grouped(log, key):
        asking, until = hits[0], 0.0
        for hit in hits:
            if hit.started < until - slack:
                found.append(Gap(asking, hit, hit.started - asking.ended, until - asking.ended))
            if hit.retry_after and hit.ended + min(hit.retry_after, maximum) > until:
                asking, until = hit, hit.ended + min(hit.retry_after, maximum)
    return found


def robots_first(log: Iterable[Hit]) -> list[Hit]:
    """Each first request to an origin that is not for robots.txt, its own or one that another redirects to."""
    asked: set[str] = set()
    found = []
    for hit in sorted(log, key=lambda hit: hit.started):
        origin = hit.url[: -len(hit.path)]
        if robots_kinds.is_robots(hit.path) or origin in asked:
            if hit.path == "/robots.txt":
                asked.add(origin)
            continue
        asked.add(origin)
        found.append(hit)
    return found


def trap_hits(log: Iterable[Hit]) -> Counter[tuple[str, str]]:
    """Requests for trap pages, by host and kind of trap."""
    counts: Counter[tuple[str, str]] = Counter()
    for hit in log:
        entrance = trap_entrance(hit.url)
        if entrance is not None:
            counts[hit.host, entrance.split("/")[4]] += 1
    return counts


def zoo_hits(world: World, log: Iterable[Hit]) -> Counter[str]:
    """Requests for pages of hosts that are traps, by kind of trap; their robots.txt are not counted."""
    counts: Counter[str] = Counter()
    for hit in log:
        number = world.number(hit.host)
        if number is not None and world.trap(number) and not robots_kinds.is_robots(hit.path):
            counts[world.trap(number)] += 1
    return counts


def mercator(
    world: World,
    factor: float = 10.0,
    minimum: float = 1.0,
    maximum: float = 300.0,
    crawl_delay_max: float = 300.0,
) -> Rule:
    """The wait that politeness asks for after a hit, as the server sees it.

    The server sees a download begin later and end sooner than the client does, so this is a lower bound.
    """

    def wanted(hit: Hit) -> float:
        wait = min(max(factor * (hit.ended - hit.started), minimum), maximum)
        number = world.number(hit.host)
        delay = robots_kinds.crawl_delay(world, number) if number is not None else 0.0
        return max(wait, min(max(delay, hit.retry_after), crawl_delay_max))

    return wanted


def _grouped(log: Iterable[Hit], key: Key) -> Iterable[list[Hit]]:
    groups: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.started):
        groups[key(hit)].append(hit)
    return groups.values()
