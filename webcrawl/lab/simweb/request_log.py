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
    """Collects hits in the order in which they ended.

    They stay in memory if `keep`, and are written as JSON lines to the file at `path` if there is
    one. `count` counts them in any case.
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


HitKey = Callable[[Hit], str]  # what counts as one server: the host, or the address
WaitRule = Callable[[Hit], float]  # returns the seconds to wait after a hit
Connections = Mapping[str, int]  # the requests that a host may have at once, if not one
SLACK_SECONDS = 0.001  # by which a request may be early, as clocks go
ONE_AT_A_TIME: Connections = {}


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
    log: Iterable[Hit], key: HitKey = by_host, *, connections: Connections = ONE_AT_A_TIME
) -> list[tuple[Hit, Hit]]:
    """Return each request that began too early, and before it the one that had to be answered first.

    A request begins too early if the host has as many unanswered ones as `connections` allows it.
    """
    offences = []
    for hits in _hits_by(log, key):
        limit = connections.get(hits[0].host, 1)
        running: list[Hit] = []
        for hit in hits:
            running = [earlier for earlier in running if earlier.ended > hit.started]
            if len(running) >= limit:
                by_end = sorted(running, key=lambda earlier: earlier.ended)
                offences.append((by_end[-limit], hit))
            running.append(hit)
    return offences


def gaps(
    log: Iterable[Hit],
    rule: WaitRule,
    key: HitKey = by_host,
    *,
    slack: float = SLACK_SECONDS,
    connections: Connections = ONE_AT_A_TIME,
) -> list[Gap]:
    """Return the pairs of requests to one host between which the client waited less than `rule` says.

    A host in `connections` may have several requests at once. There, a request is too early if it
    began while as many earlier ones were not answered or had their waits not over.
    """
    offences: list[Gap] = []
    for hits in _hits_by(log, key):
        limit = connections.get(hits[0].host, 1)
        if limit > 1:
            offences += _gaps_between_many(hits, rule, limit, slack)
            continue
        for first, second in pairwise(hits):
            seconds = second.started - first.ended
            wanted = rule(first)
            if seconds < wanted - slack:
                offences.append(Gap(first, second, seconds, wanted))
    return offences


def _gaps_between_many(hits: list[Hit], rule: WaitRule, limit: int, slack: float) -> Iterator[Gap]:
    """Yield what `gaps` returns for a host that may have `limit` requests at once."""
    # the end of the wait after each earlier request, and the number of the request
    waits: list[tuple[float, int]] = []
    for number, hit in enumerate(hits):
        waits = sorted((end, earlier) for end, earlier in waits if end - slack > hit.started)
        if len(waits) >= limit:
            _, earlier = waits[-limit]
            first = hits[earlier]
            yield Gap(first, hit, hit.started - first.ended, rule(first))
        waits.append((hit.ended + rule(hit), number))


def too_early(log: Iterable[Hit], *, maximum: float = inf) -> list[Gap]:
    """Return every request that came before the time that a Retry-After of its host has asked for.

    `maximum` is the longest wait in seconds that the client accepts.
    """
    offences = []
    for hits in _hits_by(log, by_host):
        asking = hits[0]  # the hit whose Retry-After reaches farthest
        until = 0.0
        for hit in hits:
            if hit.started < until - SLACK_SECONDS:
                offences.append(Gap(asking, hit, hit.started - asking.ended, until - asking.ended))
            end = hit.ended + min(hit.retry_after, maximum)
            if hit.retry_after and end > until:
                asking = hit
                until = end
    return offences


def robots_first(log: Iterable[Hit]) -> list[Hit]:
    """Return the first request to each origin whose robots.txt had not been requested before.

    A robots.txt to which another one redirects may come first, too.
    """
    known: set[str] = set()  # origins whose robots.txt was requested, or that were reported
    found = []
    for hit in sorted(log, key=lambda hit: hit.started):
        origin = hit.url[: -len(hit.path)]
        if hit.path == "/robots.txt":
            known.add(origin)
        elif origin not in known and not host_kinds.is_robots(hit.path):
            known.add(origin)
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
) -> WaitRule:
    """Return the rule of Mercator's politeness: the seconds to wait after a hit.

    The server sees a download begin later and end sooner than the client does, so this is a lower
    bound.
    """

    def wanted(hit: Hit) -> float:
        wait = min(max(factor * (hit.ended - hit.started), minimum), maximum)
        number = world.number(hit.host)
        delay = host_kinds.crawl_delay(world, number) if number is not None else 0.0
        return max(wait, min(max(delay, hit.retry_after), crawl_delay_max))

    return wanted


def _hits_by(log: Iterable[Hit], key: HitKey) -> Iterable[list[Hit]]:
    """Return the hits of each host or address, in the order in which they began."""
    groups: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.started):
        groups[key(hit)].append(hit)
    return groups.values()
