"""The log of every request, and what a polite crawler must not do in it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import IO

from webcrawl.lab.simweb import host_kinds
from webcrawl.lab.simweb.kinds import trap_entrance
from webcrawl.lab.simweb.world import World


@dataclass(slots=True)
class Hit:
    """One request.

    Times are seconds of the machine's monotonic clock; `wall` is the start since 1970.
    """

    started: float
    wall: float
    url: str  # as requested: scheme, Host header, request target
    address: str  # the server's
    client: int  # the client's port
    attempt: int = 1
    ended: float = 0.0
    status: int = 0  # 0 if the answer had none
    bytes: int = 0  # sent, head included
    retry_after: int = 0
    outcome: str = ""  # "sent", "left" (by the client), "reset", or "stopped" with the server
    outage: str = ""  # the kind of the outage that decided the answer, or ended it
    agent: str = ""  # the client's User-Agent
    # of a changing page that was sent, or "gone"; "" for a 304 and everything else
    edition: str = ""
    conditional: bool = False  # whether the request had If-None-Match or If-Modified-Since

    @property
    def host(self) -> str:
        """Return the host's name without its port."""
        return self.url.split("/", 3)[2].partition(":")[0]

    @property
    def path(self) -> str:
        return "/" + self.url.split("/", 3)[3]


FIELDS = tuple(field.name for field in fields(Hit))


class Log:
    """Hits in the order in which they ended: in memory if `keep`, and as JSON lines in the file at
    `path`.
    """

    def __init__(self, path: Path | None = None, *, keep: bool = True) -> None:
        self.hits: list[Hit] = []
        self.count = 0
        self._keep = keep
        self._file: IO[str] | None = path.open("w", encoding="utf-8") if path else None

    def add(self, hit: Hit) -> None:
        self.count += 1
        if self._keep:
            self.hits.append(hit)
        if self._file is not None:
            self._file.write(json.dumps({name: getattr(hit, name) for name in FIELDS}) + "\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read(path: Path) -> Iterator[Hit]:
    """Yield the hits of a log file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Hit(**json.loads(line))


Key = Callable[[Hit], str]
Rule = Callable[[Hit], float]
Connections = Mapping[str, int]  # how many requests a host may have at once, if not one
SLACK = 0.001  # seconds by which a request may be early, as clocks go
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


def overlaps(
    log: Iterable[Hit], key: Key = by_host, *, connections: Connections = ONE
) -> list[tuple[Hit, Hit]]:
    """Return each request that began before an earlier one to the same host was answered, with that
    earlier request.

    `connections`: hosts that may have so many requests at once; then the one that had to be
    answered first.
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
    log: Iterable[Hit],
    rule: Rule,
    key: Key = by_host,
    *,
    slack: float = SLACK,
    connections: Connections = ONE,
) -> list[Gap]:
    """Return the successive requests to one host between which the client waited less than `rule`
    asks after the first.

    Of a host that may have several requests at once, those that began while as many had their waits
    not over.
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
    # when the wait after each earlier request is over, and its number
    before: list[tuple[float, int]] = []
    for number, hit in enumerate(hits):
        before = sorted(one for one in before if one[0] - slack > hit.started)
        if len(before) >= most:
            first = hits[before[-most][1]]
            yield Gap(first, hit, hit.started - first.ended, rule(first))
        before.append((hit.ended + rule(hit), number))


def too_early(log: Iterable[Hit], *, maximum: float = inf) -> list[Gap]:
    """Return every request to a host that came earlier than the Retry-After of any answer before it
    asked for.

    `maximum` is the longest wait that the client accepts.
    """
    found = []
    for hits in _grouped(log, by_host):
        asking, until = hits[0], 0.0
        for hit in hits:
            if hit.started < until - SLACK:
                found.append(Gap(asking, hit, hit.started - asking.ended, until - asking.ended))
            if hit.retry_after and hit.ended + min(hit.retry_after, maximum) > until:
                asking, until = hit, hit.ended + min(hit.retry_after, maximum)
    return found


def robots_first(log: Iterable[Hit]) -> list[Hit]:
    """Return each first request to an origin that is not for robots.txt, its own or one that
    another redirects to.
    """
    asked: set[str] = set()
    found = []
    for hit in sorted(log, key=lambda hit: hit.started):
        origin = hit.url[: -len(hit.path)]
        if host_kinds.is_robots(hit.path) or origin in asked:
            if hit.path == "/robots.txt":
                asked.add(origin)
            continue
        asked.add(origin)
        found.append(hit)
    return found


def trap_hits(log: Iterable[Hit]) -> Counter[tuple[str, str]]:
    """Count the requests for trap pages, by host and kind of trap."""
    counts: Counter[tuple[str, str]] = Counter()
    for hit in log:
        entrance = trap_entrance(hit.url)
        if entrance is not None:
            counts[hit.host, entrance.split("/")[4]] += 1
    return counts


def zoo_hits(world: World, log: Iterable[Hit]) -> Counter[str]:
    """Count the requests for pages of hosts that are traps, by kind of trap.

    Their robots.txt are not counted.
    """
    counts: Counter[str] = Counter()
    for hit in log:
        number = world.number(hit.host)
        if number is not None and world.trap(number) and not host_kinds.is_robots(hit.path):
            counts[world.trap(number)] += 1
    return counts


def mercator(
    world: World,
    factor: float = 10.0,
    minimum: float = 1.0,
    maximum: float = 300.0,
    crawl_delay_max: float = 300.0,
) -> Rule:
    """Return the wait that politeness asks for after a hit, as the server sees it.

    The server sees a download begin later and end sooner than the client does, so this is a lower
    bound.
    """

    def wanted(hit: Hit) -> float:
        wait = min(max(factor * (hit.ended - hit.started), minimum), maximum)
        number = world.number(hit.host)
        delay = host_kinds.crawl_delay(world, number) if number is not None else 0.0
        return max(wait, min(max(delay, hit.retry_after), crawl_delay_max))

    return wanted


def _grouped(log: Iterable[Hit], key: Key) -> Iterable[list[Hit]]:
    groups: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.started):
        groups[key(hit)].append(hit)
    return groups.values()
