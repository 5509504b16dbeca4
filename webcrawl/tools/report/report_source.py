"""Reads what a crawl had saved by its last checkpoint: its state, the URLs still waiting and the
lengths of its files.
"""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from webcrawl.crawl.control.in_force import PAUSED_HOSTS, paused_hosts_in
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.record.statistics import Statistics, join_statistics
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.counter_words import FILTERED
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.history_line import PATH
from webcrawl.store.jobdir.host_row import (
    HostRow,
    OriginRow,
    behind_wall,
    given_up,
    host_rows,
    read,
)
from webcrawl.store.jobdir.host_row import HostState as Place
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.report.revisits import RevisitReport, history_of, of_hive, read_revisits

MOST = 200  # rows of each table
KNOWN = 50_000  # hosts set aside that are known by name
T = TypeVar("T")


class WaitingHost(NamedTuple):
    """A host that is set aside or has many URLs."""

    name: str
    urls: int
    failures: int
    status: int  # with which its URLs would end if it were given up now; 0: none
    due: float  # when it is tried next; 0: it is in turn


class BlockedHost(NamedTuple):
    """A host that is behind a wall."""

    name: str
    vendor: str
    answers: int  # of the wall, in a row
    since: float
    urls: int
    due: float


BY_URLS = attrgetter("urls", "name")
BY_ANSWERS = attrgetter("answers", "name")


@dataclass
class CrawlHosts:
    """Hosts and domains of a crawl or hive.

    `damaged` rows are left out: `webcrawl verify` says which they are.
    """

    hosts: int = 0
    aside: list[WaitingHost] = field(default_factory=list)  # those with most URLs
    # hosts that are set aside, as many as fit, and their status
    away: dict[str, int] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)  # hosts that nobody asks before they are resumed
    queues: list[WaitingHost] = field(default_factory=list)  # the longest
    given_up: list[tuple[str, int]] = field(default_factory=list)
    given_up_by: Counter[int] = field(default_factory=Counter)
    # over budget: URLs that wait, and its rank
    domains: list[tuple[str, int, int]] = field(default_factory=list)
    over_budget: tuple[int, int] = (0, 0)  # domains and URLs
    folded: tuple[int, int] = (0, 0)  # the same of URLs whose families bring nothing new
    damaged: int = 0
    walls: list[BlockedHost] = field(default_factory=list)  # those with most answers
    vendors: Counter[str] = field(default_factory=Counter)  # hosts behind their walls, all of them
    shut: set[str] = field(default_factory=set)  # their names, as many as fit

    @classmethod
    def together(cls, parts: Sequence[CrawlHosts]) -> Self:
        """Return the state of all drones."""
        whole = cls()
        for part in parts:
            whole.hosts += part.hosts
            whole.damaged += part.damaged
            whole.given_up_by += part.given_up_by
            whole.vendors += part.vendors
            whole.over_budget = _added(whole.over_budget, part.over_budget)
            whole.folded = _added(whole.folded, part.folded)
            whole.aside += part.aside
            whole.queues += part.queues
            whole.walls += part.walls
            whole.given_up += part.given_up
            whole.domains += part.domains
            whole.away |= part.away
            whole.paused |= part.paused
        whole.cut()
        return whole

    def cut(self) -> None:
        """Leave the first rows of each table."""
        self.aside = nlargest(MOST, self.aside, key=BY_URLS)
        self.queues = nlargest(MOST, self.queues, key=BY_URLS)
        self.walls = nlargest(MOST, self.walls, key=BY_ANSWERS)
        self.domains = sorted(self.domains, key=lambda row: (-row[1], row[0]))[:MOST]
        del self.given_up[MOST:]

    def add(self, host: HostRow, ahead: float) -> None:
        """Add the record of a host. `ahead`: what the machine's clock shows beyond the crawl's."""
        urls = host.waiting
        due = host.aside or host.ready_at
        due = due + ahead if due else due
        if given_up(host):
            self.given_up_by[host.retired] += 1
            if len(self.given_up) < MOST:
                self.given_up.append((host.name, host.retired))
        if (wall := host.wall) is not None and behind_wall(host):
            self.vendors[wall.vendor] += 1
            if len(self.shut) < KNOWN:
                self.shut.add(host.name)
            walled = BlockedHost(
                host.name, wall.vendor, wall.answers, wall.since + ahead, urls, host.due + ahead
            )
            _keep(self.walls, walled, BY_ANSWERS)
        if not urls:
            return
        # some of its origins may fail alone
        records: list[HostRow | OriginRow] = [host, *host.origins]
        worst = max(records, key=lambda record: record.failures)
        status = worst.failed.status if worst.failed is not None else 0
        waiting = WaitingHost(host.name, urls, worst.failures, status, due)
        _keep(self.queues, waiting, BY_URLS)
        if host.state == Place.ASIDE:
            _keep(self.aside, waiting, BY_URLS)
            if len(self.away) < KNOWN:
                self.away[host.name] = status


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _keep(rows: list[T], row: T, key: Callable[[T], Any]) -> None:
    rows.append(row)
    if len(rows) >= 8 * MOST:
        rows[:] = nlargest(MOST, rows, key=key)


def read_state(snapshot: Snapshot, ahead: float = 0.0) -> CrawlHosts:
    """Read the tables of hosts and domains.

    `ahead`: what the machine's clock shows beyond the crawl's.
    """
    state = CrawlHosts()
    with suppress(DamagedFile):  # `webcrawl verify` names it
        state.paused = {*meta_row.value(snapshot, PAUSED_HOSTS, paused_hosts_in, list[str]())}
    for row in host_rows(snapshot):
        state.hosts += 1
        try:
            state.add(read(row), ahead)
        except (ValueError, struct.error):
            state.damaged += 1
    waiting = "FROM domain WHERE waiting > 0"
    sums = f"SELECT count(*), coalesce(sum(waiting), 0) {waiting} AND name"
    (state.over_budget,) = snapshot.rows(f"{sums} NOT GLOB ?", (f"*{FAMILIES}",))
    (state.folded,) = snapshot.rows(f"{sums} GLOB ?", (f"*{FAMILIES}",))
    first = f"SELECT name, waiting, rank {waiting} ORDER BY waiting DESC, name LIMIT ?"
    state.domains = list(snapshot.rows(first, (MOST,)))
    state.cut()
    return state


@dataclass(kw_only=True)
class ReportSource:
    """The parts of a JOBDIR, or of a hive, that the report is made of."""

    jobdir: Path
    key: bytes  # of the crawl's hashes
    statistics: Statistics
    complete: bool  # whether the statistics heard of every line of the log
    counters: Counter[str]
    filtered: Counter[str]
    frontier: Counter[str]
    terms: dict[str, str]
    seeds: dict[str, Any]  # the position in the seed lists
    outputs: dict[str, int]  # lengths by path
    state: CrawlHosts
    queued: int = 0
    aside: tuple[int, int] = (0, 0)  # URLs and hosts
    clean: bool = False  # the last run ended with a checkpoint
    at: float = 0.0  # when the checkpoint was taken
    free: int | None = None  # bytes free on the disk
    stats: dict[str, Any] = field(default_factory=dict)  # stats.json
    odd: list[str] = field(default_factory=list)  # what could not be read
    revisits: RevisitReport | None = None  # if pages are fetched again
    drones: list[ReportSource] = field(
        default_factory=list
    )  # of a hive, whose own `outputs` are theirs

    @property
    def crawls(self) -> list[ReportSource]:
        """Return the drones of a hive, or the crawl itself."""
        return self.drones or [self]

    @property
    def figures(self) -> dict[str, int]:
        """Return all counters by the names that they have in stats.json."""
        filtered = {f"{FILTERED}{name}": many for name, many in self.filtered.items()}
        frontier = {f"frontier/{name}": many for name, many in self.frontier.items()}
        return {**self.counters, **filtered, **frontier}

    @property
    def seeds_read(self) -> int:
        good = int(self.seeds.get("good", 0))
        place = self.seeds.get("place")
        if isinstance(place, dict):
            good += int(place.get("good", 0))
        return good

    @classmethod
    def together(cls, jobdir: Path, drones: Sequence[ReportSource]) -> Self:
        """Return the source of all drones, once the statistics of each are complete."""
        key = drones[0].key
        statistics = join_statistics([drone.statistics for drone in drones], key)
        clean = all(drone.clean for drone in drones)
        times = [drone.at for drone in drones]
        return cls(
            jobdir=jobdir,
            key=key,
            statistics=statistics,
            complete=all(drone.complete for drone in drones),
            counters=_sum_of(drone.counters for drone in drones),
            filtered=_sum_of(drone.filtered for drone in drones),
            frontier=_sum_of(drone.frontier for drone in drones),
            terms=_terms(drones),
            # a seed is read by all, and belongs to one
            seeds=max(drones, key=lambda drone: drone.seeds_read).seeds,
            outputs={},
            state=CrawlHosts.together([drone.state for drone in drones]),
            queued=sum(drone.queued for drone in drones),
            aside=_sum_of_pairs(drone.aside for drone in drones),
            clean=clean,
            at=max(times) if clean else min(times),
            free=min((drone.free for drone in drones if drone.free is not None), default=None),
            stats=merged(_end_of(drone.stats) for drone in drones),
            odd=_odd_of(drones, statistics),
            drones=[*drones],
            revisits=of_hive(drone.revisits for drone in drones),
        )


def _sum_of(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter())


def _sum_of_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    firsts, seconds = zip(*pairs, strict=True)
    return sum(firsts), sum(seconds)


def _odd_of(drones: Sequence[ReportSource], statistics: Statistics) -> list[str]:
    """Return what could not be read of each drone, and what is wrong with their sum."""
    odd = [f"{drone.jobdir.name}: {message}" for drone in drones for message in drone.odd]
    has_several_keys = len({drone.key for drone in drones}) > 1
    if statistics.hosts.level and has_several_keys:
        odd.append("the drones have different hash keys, so the figures of small hosts are wrong")
    return odd


def _end_of(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reason of the last end, and the number of unexpected errors."""
    return {name: stats[name] for name in ("reason", "errors") if name in stats}


def _terms(drones: Sequence[ReportSource]) -> dict[str, str]:
    """Return the settings. Values that differ, such as the drones' numbers, stand side by side."""
    names = dict.fromkeys(chain.from_iterable(drone.terms for drone in drones))
    return {
        name: ", ".join(dict.fromkeys(drone.terms.get(name, "none") for drone in drones))
        for name in names
    }


def read_source(jobdir: Path) -> ReportSource:
    """Read the last checkpoint; NoCrawl if there is nothing to read."""
    return JobDir.open(jobdir).read(lambda snapshot: _read(jobdir, snapshot))


def _read(jobdir: Path, snapshot: Snapshot) -> ReportSource:
    odd: list[str] = []

    def unpacked(name: str) -> dict[str, Any]:
        return meta_row.readable(snapshot, name, odd)

    key = meta_row.key(snapshot)
    statistics = Statistics(key)
    complete = False
    saved = unpacked("statistics")
    if saved:
        try:
            statistics.restore(saved)
            complete = not statistics.since
        except (KeyError, TypeError, ValueError):
            odd.append("the statistics of the checkpoint cannot be read")
    tallies = unpacked("tallies")
    frontier = unpacked("frontier")
    last, ahead = meta_row.times(snapshot)
    outputs = lengths(snapshot)
    return ReportSource(
        jobdir=jobdir,
        key=key,
        statistics=statistics,
        complete=complete,
        counters=Counter(tallies.get("crawl", {})),
        filtered=Counter(tallies.get("refused", {})),
        frontier=Counter(frontier.get("counters", {})),
        terms=meta_row.terms(snapshot, odd),
        seeds=unpacked("seeds"),
        outputs=outputs,
        state=read_state(snapshot, ahead),
        queued=int(frontier.get("queued", 0)),
        aside=tuple(frontier.get("set aside", (0, 0))),
        clean=meta_row.is_clean(snapshot),
        at=last + ahead,
        free=free_bytes(jobdir),
        stats=stats_file.read(jobdir),
        odd=odd,
        revisits=read_revisits(snapshot, lambda: history_of(jobdir, outputs.get(PATH, 0)), odd),
    )


def free_bytes(folder: Path) -> int | None:
    """Return how many bytes are free on a folder's disk, or None if the system does not tell."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
