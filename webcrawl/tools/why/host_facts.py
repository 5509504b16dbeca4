"""The record of one host and of its domain, in words: turn, delay, failures, queues, budget; and how long it waits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from siphashc import siphash

from webcrawl.base.dates import iso, read_iso
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.sheets import OF_HOST
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.rules import allowance_of, limits_of, own_of, politeness_of
from webcrawl.frontier.booking import Booking
from webcrawl.store import rowcrc
from webcrawl.store.jobdir import host_row, meta_row
from webcrawl.store.jobdir.crawl_line import URL
from webcrawl.store.jobdir.domain_row import DomainRow, domain_row, links_to
from webcrawl.store.jobdir.host_row import HostRow, OriginRow, State, behind_wall
from webcrawl.store.jobdir.queue_row import count_of
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.course import Floats, course
from webcrawl.tools.why.file_search import LogFile
from webcrawl.tools.why.queued import NO_FRONT, saved_front
from webcrawl.tools.why.saved_settings import SavedSheets

SLOWED = 1.001  # times the usual wait; what is below it is a difference of rounding
FAILED = ("failure", "retry-after", "wall")  # rules by which a host is left alone that is not well


def booking_of(values: Mapping[str, Any], sheets: SavedSheets) -> Booking:
    """The object that the crawl asks how long hosts are left alone; it has heard of none that is under strain."""
    book = Booking(politeness_of(values), limits_of(values))
    book.own = sheets.own(OF_HOST, own_of, values)
    return book


@dataclass(slots=True)
class Delay:
    """Seconds between two requests to a host that is well, and what makes them so many."""

    seconds: float
    because: str
    connections: int = 1  # requests at once, with so many seconds after each
    turn: float = 0.0  # seconds from one of its URLs to the next


def delay_of(
    book: Booking, host: HostRow | None, name: str, values: Mapping[str, Any], live: Mapping[str, Any] | None = None
) -> Delay:
    """As the crawl computes it. `live`: what it says itself, if it runs: it alone knows which hosts it slows down."""
    asked = host if host is not None else new_host(name)
    wait, connections = book.wait(asked), book.connections(asked)
    turn = turn_of(book, asked)
    now = float((live or {}).get("wait", 0.0)) if (live or {}).get("rule") not in FAILED else 0.0
    if now > SLOWED * wait:
        because = "slowed down: it answers later than it did"
        return Delay(now, because, connections, turn + (now - wait) / connections)
    return Delay(wait, _because(asked, wait, values), connections, turn)


class Once(NamedTuple):
    """A host as if it had been asked once."""

    name: str
    times: list[float]
    crawl_delay: float


def turn_of(book: Booking, host: HostRow) -> float:
    """Seconds from one of its URLs to the next, as means over its last downloads."""
    turns = [book.wait(Once(host.name, [took], host.crawl_delay)) + took for took in host.times or [0.0]]
    return fmean(turns) / book.connections(host)


RENDERING = "SELECT host, data, crc FROM rendering WHERE host = ?"


def rendering_of(snapshot: Snapshot, host: str) -> str:
    """What rendering has shown of this host, in words; nothing if it has sent no shell, or nothing was rendered."""
    for row in snapshot.rows(RENDERING, (host,)) if snapshot.has("rendering") else ():
        if not rowcrc.agrees(rowcrc.of_host, row):
            raise snapshot.damaged(f"table rendering, {host}: checksum")
        return Need.unpack(row[1]).in_words()
    return ""


def new_host(name: str) -> HostRow:
    """A host of which nothing is known."""
    return HostRow(name, State.IDLE, 0.0, [], 0.0, 0, 0, 0, "", [], None, 0.0, None, [])


def _because(host: HostRow, wait: float, values: Mapping[str, Any]) -> str:
    factor, least, most = (values[f"POLITENESS_{name}"] for name in ("FACTOR", "MIN_DELAY", "MAX_DELAY"))
    asked = min(host.crawl_delay, values["CRAWL_DELAY_MAX"])
    if host.crawl_delay and asked >= wait:
        bounded = f", bounded by CRAWL_DELAY_MAX = {values['CRAWL_DELAY_MAX']:g}" if asked < host.crawl_delay else ""
        return f"the Crawl-delay of its robots.txt is {host.crawl_delay:g}{bounded}"
    if wait == least:
        return f"POLITENESS_MIN_DELAY = {least:g}"
    if wait == most:
        return f"POLITENESS_MAX_DELAY = {most:g}"
    times = host.times
    last = f"its last download took {times[-1]:.2f} s, POLITENESS_FACTOR = {factor:g}" if times else "it is new"
    return f"{values['POLITENESS_POLICY'].rpartition('.')[2]}: {last}"


def to_json(host: HostRow, delay: Delay, wall: float, *, paused: bool, most: int) -> dict[str, Any]:
    """`wall`: what the machine's clock is ahead of the crawl's. `paused`: by command. `most`: HOST_MAX_FAILURES."""
    failed = host.failed if host.failures else None
    return {
        "name": host.name,
        "place": host.state.name.lower(),
        "health": host.told(most),
        "paused": paused,
        "failures": host.failures,
        "failed_at": iso(failed.at + wall) if failed is not None else None,
        "failed_status": failed.status if failed is not None else None,
        "wall": _wall(host, wall),
        "next_request": iso(host.due + wall) if host.due else None,
        "delay": round(delay.seconds, 3),
        "delay_because": delay.because,
        "connections": delay.connections,
        "crawl_delay": host.crawl_delay,
        "pages": host.pages,
        "queued": host.waiting,
        "given_up_with": host.retired or None,
        "ip": host.ip or None,
        "http2_only": host.http2,
        "origins": [_origin(one, wall, most) for one in host.origins],
    }


def _origin(one: OriginRow, ahead: float, most: int) -> dict[str, Any]:
    return {
        "origin": one.origin or "other ports",
        "health": one.told(most),
        "failed_status": one.failed.status if one.failed is not None and one.failures else None,
        "queued": one.waiting,
        "next_request": iso(one.ready_at + ahead) if one.waiting and not one.retired else None,
    }


def _wall(host: HostRow, ahead: float) -> dict[str, Any] | None:
    row = host.wall
    if row is None or not behind_wall(host):
        return None
    return {"vendor": row.vendor, "since": iso(row.since + ahead), "answers": row.answers}


class DomainBudget(NamedTuple):
    """`most` is None where there is no limit."""

    domain: str
    pages: int  # let in so far
    most: int | None
    links: int  # other domains that link to it; no more than 64 are counted
    seed: bool
    waiting: int  # URLs over the budget
    debt: int = 0  # pages that are not answered, or had nothing new and are not paid for
    lead: float = math.inf  # how many these may be

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.domain,
            "pages": self.pages,
            "budget": self.most,
            "linking_domains": self.links,
            "seed": self.seed,
            "over_budget": self.waiting,
            "debt": self.debt,
            "lead": None if math.isinf(self.lead) else int(self.lead),
        }


def budget_of(snapshot: Snapshot, domain: str, key: bytes, values: Mapping[str, Any]) -> DomainBudget:
    """As of the last checkpoint, by the policy that the crawl asks."""
    row = domain_row(snapshot, domain) or DomainRow(domain, 0, 0, False, 0, 0, 0, None)
    links = links_to(snapshot, int(siphash(key, domain)) - 2**63)
    policy = allowance_of(values)
    most = policy.most(links, seed=row.seed)
    return DomainBudget(
        domain, row.used, None if math.isinf(most) else int(most), links, row.seed, row.waiting, row.debt, policy.lead
    )


QUICK = 8 << 20  # bytes of crawl.log, some 50,000 lines: 50 ms
LATELY = 30.0  # seconds of the crawl's pace
HOSTS = 20_000  # in turn that are looked at: a quarter of a second


class Load:
    """The crawl's pace, shared by the hosts in turn: who waits longest goes first, so all have as many turns.

    But for those whose own delay is longer, and those that have no URLs left and whose place nobody takes.
    """

    def __init__(
        self,
        queued: Sequence[int],
        turns: Sequence[float],
        rate: float,
        at: float,
        addresses: Sequence[str] = (),
        behind: int = 0,
        coming: Sequence[int] = (),
    ) -> None:
        """`queued` URLs and seconds between two `turns` of each host, as of the time `at`; `rate`: URLs per second.

        `behind`: URLs in the front-end, whose hosts take the places of those that are done. `coming`: those on their
        way into each host's queue. `addresses` of the hosts, if those with the same one wait for each other
        (POLITENESS_PER_IP).
        """
        self._there = defaultdict[str, list[tuple[int, float]]](list)
        for address, count, turn in zip(addresses, queued, turns, strict=False):
            self._there[address].append((count, turn))
        own = np.maximum(np.asarray(turns, float), 1e-3)
        if addresses:
            turns = [sum(turn for _, turn in self._there[address]) for address in addresses]
        self._queued, self._turns = np.asarray(queued, float), np.maximum(np.asarray(turns, float), 1e-3)
        self._coming = np.asarray(coming, float) if coming else np.zeros(len(queued))
        self._own, self._addresses = own, addresses or range(len(queued))
        self._rate, self._behind, self.at = rate, behind, at

    @cached_property
    def _course(self) -> tuple[Floats, Floats]:
        there = np.unique(np.asarray(self._addresses), return_inverse=True)[1]
        return course(self._queued, self._coming, self._own, there, self._rate, self._behind)

    def at_address(self, host: HostRow, turn: float, turns: int) -> float:
        """Seconds until it has had so many turns among the hosts at its address, each of which keeps the others off."""
        there = self._there.get(host.ip, ()) if host.ip else ()
        all_of_them = sum(min(count, turns) * other for count, other in there)
        return max(all_of_them, turns * turn)

    def seconds(self, turns: int) -> float:
        """From `at` until each host has had so many turns, if it has the URLs, and its own delay allows it."""
        chance = 2 * sqrt(self._rate / LATELY)  # by which a rate that was seen for so long may be too low
        if not self._rate or not turns or float((1 / self._turns).sum()) <= self._rate + chance:
            return 0.0  # nobody waits for anybody else
        times, had = self._course
        return float(np.interp(turns, had, times))


def load_of(
    snapshot: Snapshot, book: Booking, rate: float, at: float, coming: Mapping[str, int], *, per_ip: bool
) -> Load:
    """As of the last checkpoint. `coming`: URLs of each host that are on their way into its queue."""
    rows = snapshot.rows(f"{host_row.ALL} WHERE state = ? LIMIT ?", (int(State.ACTIVE), HOSTS))
    try:
        hosts = [host for host in map(host_row.read, rows) if host.waiting]
        others = coming.keys() - {host.name for host in hosts}
        hosts += [new_host(name) for name in sorted(others)[: HOSTS - len(hosts)]]
    except ValueError as error:
        raise snapshot.damaged(f"table host: {error}") from error
    addresses = [host.ip or host.name for host in hosts] if per_ip else ()
    front, lines = meta_row.value(snapshot, meta_row.FRONTIER, saved_front, NO_FRONT)
    behind = sum(map(count_of, (*front, *lines.values())))
    turns = [turn_of(book, host) for host in hosts]
    queued, entering = [host.waiting for host in hosts], [coming.get(host.name, 0) for host in hosts]
    return Load(queued, turns, rate, at, addresses, behind, entering)


def ended(log: LogFile, hosts: Collection[str], checkpoint: float) -> tuple[Counter[str], float]:
    """URLs of each of these hosts that ended since the checkpoint; and lately, of all hosts, per second."""
    since, times, begun = Counter[str](), list[bytes](), iso(checkpoint).encode()
    for line in log.last_lines(QUICK):
        fields = line.split(None, URL + 1)
        if len(fields) > URL + 1 and fields[URL].count(b"/") > 2:
            times.append(fields[0])
            if fields[0] > begun and (host := host_of(fields[URL].decode("ascii", "replace"))) in hosts:
                since[host] += 1
    return since, _rate(sorted(times))


def _rate(times: list[bytes]) -> float:
    try:
        first, last = read_iso(times[0].decode()), read_iso(times[-1].decode())
    except (IndexError, ValueError):  # there are none, or those of a damaged line
        return 0.0
    begun = max(first, last - LATELY)
    return (len(times) - bisect_left(times, iso(begun).encode())) / max(last - begun, 1.0)
