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
from webcrawl.store.jobdir.crawls import is_locked
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.history_line import PATH
from webcrawl.store.jobdir.host_row import (
    BlockPageRow,
    HostRow,
    HostState,
    OriginRow,
    given_up,
    host_rows,
    is_blocked,
    read,
)
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.report.revisits import (
    RevisitReport,
    history_of,
    read_revisits,
    revisits_of_hive,
)

LISTS_AWAY = "seed_lists_away"  # in stats.json: lists that could not be read to their ends
END_FIGURES = ("reason", "errors", "seeds", "bad_seeds", LISTS_AWAY)
MAX_ROWS = 200  # of each table
# Rows are reduced to MAX_ROWS once there are so many times as many: sorting at each would be slow.
SLACK = 8
MAX_KNOWN_HOSTS = 50_000  # deferred or blocked hosts that are known by name
Row = TypeVar("Row")


class WaitingHost(NamedTuple):
    """A host that is deferred or has many URLs."""

    name: str
    urls: int
    failures: int  # in a row
    status: int  # with which its URLs would end if it were given up now; 0: none
    due: float  # when it is tried next; 0: it is in turn


class BlockedHost(NamedTuple):
    """A host that answers with block pages."""

    name: str
    vendor: str  # of the block page
    answers: int  # block pages in a row
    since: float
    urls: int
    due: float


BY_URLS = attrgetter("urls", "name")
BY_ANSWERS = attrgetter("answers", "name")


@dataclass
class CrawlHosts:
    """Hosts and domains of a crawl or hive, by why they wait.

    Lists have the first MAX_ROWS rows after `truncate`. Names are those of the first
    MAX_KNOWN_HOSTS hosts. `damaged` counts rows that are left out, which `webcrawl verify` names.
    """

    hosts: int = 0
    deferred: list[WaitingHost] = field(default_factory=list)  # deferred hosts, by URLs
    deferred_status: dict[str, int] = field(default_factory=dict)  # of deferred hosts, by name
    paused: set[str] = field(default_factory=set)  # hosts that a command has paused
    queues: list[WaitingHost] = field(default_factory=list)  # the longest
    given_up: list[tuple[str, int]] = field(default_factory=list)  # hosts and their status
    given_up_by_status: Counter[int] = field(default_factory=Counter)  # all hosts given up
    # domains over their budgets or with folded URLs: name, URLs that wait, rank
    domains: list[tuple[str, int, int]] = field(default_factory=list)
    over_budget: tuple[int, int] = (0, 0)  # domains and their URLs
    folded: tuple[int, int] = (0, 0)  # domains and their folded URLs
    damaged: int = 0
    blocked: list[BlockedHost] = field(default_factory=list)  # by block pages in a row
    blocked_by_vendor: Counter[str] = field(default_factory=Counter)  # all blocked hosts
    blocked_names: set[str] = field(default_factory=set)

    @classmethod
    def sum_of(cls, parts: Sequence[CrawlHosts]) -> Self:
        """Return the hosts and domains of all drones. Names of blocked hosts stay with the drones."""
        whole = cls()
        for part in parts:
            whole.hosts += part.hosts
            whole.damaged += part.damaged
            whole.given_up_by_status += part.given_up_by_status
            whole.blocked_by_vendor += part.blocked_by_vendor
            whole.deferred += part.deferred
            whole.queues += part.queues
            whole.blocked += part.blocked
            whole.given_up += part.given_up
            whole.domains += part.domains
            whole.deferred_status |= part.deferred_status
            whole.paused |= part.paused
        whole.over_budget = _sum_of_pairs(part.over_budget for part in parts)
        whole.folded = _sum_of_pairs(part.folded for part in parts)
        whole.truncate()
        return whole

    def truncate(self) -> None:
        """Keep the first MAX_ROWS rows of each list, in the order in which a table shows them."""
        self.deferred = nlargest(MAX_ROWS, self.deferred, key=BY_URLS)
        self.queues = nlargest(MAX_ROWS, self.queues, key=BY_URLS)
        self.blocked = nlargest(MAX_ROWS, self.blocked, key=BY_ANSWERS)
        self.domains = sorted(self.domains, key=lambda row: (-row[1], row[0]))[:MAX_ROWS]
        del self.given_up[MAX_ROWS:]

    def add(self, host: HostRow, clock_ahead: float) -> None:
        """Add the record of a host.

        `clock_ahead` is by how many seconds this machine's clock is ahead of the crawl's.
        """
        if given_up(host):
            self.given_up_by_status[host.retired] += 1
            if len(self.given_up) < MAX_ROWS:
                self.given_up.append((host.name, host.retired))
        if host.block_pages is not None and is_blocked(host):
            self._add_blocked(host, host.block_pages, clock_ahead)
        if host.waiting:
            self._add_waiting(host, clock_ahead)

    def _add_blocked(self, host: HostRow, block_pages: BlockPageRow, clock_ahead: float) -> None:
        self.blocked_by_vendor[block_pages.vendor] += 1
        if len(self.blocked_names) < MAX_KNOWN_HOSTS:
            self.blocked_names.add(host.name)
        row = BlockedHost(
            host.name,
            block_pages.vendor,
            block_pages.answers,
            block_pages.since + clock_ahead,
            host.waiting,
            host.due + clock_ahead,
        )
        _keep_largest(self.blocked, row, BY_ANSWERS)

    def _add_waiting(self, host: HostRow, clock_ahead: float) -> None:
        """Add a host with URLs that wait, deferred or not."""
        due = host.deferred_until or host.ready_at
        if due:
            due += clock_ahead
        # One of the host's origins may fail while the others answer.
        records: list[HostRow | OriginRow] = [host, *host.origins]
        worst = max(records, key=lambda record: record.failures)
        status = worst.failed.status if worst.failed is not None else 0
        row = WaitingHost(host.name, host.waiting, worst.failures, status, due)
        _keep_largest(self.queues, row, BY_URLS)
        if host.state == HostState.DEFERRED:
            _keep_largest(self.deferred, row, BY_URLS)
            if len(self.deferred_status) < MAX_KNOWN_HOSTS:
                self.deferred_status[host.name] = status


def _keep_largest(rows: list[Row], row: Row, key: Callable[[Row], Any]) -> None:
    """Add a row, and drop the smallest rows when the list has become too long."""
    rows.append(row)
    if len(rows) >= SLACK * MAX_ROWS:
        rows[:] = nlargest(MAX_ROWS, rows, key=key)


def read_state(snapshot: Snapshot, clock_ahead: float = 0.0) -> CrawlHosts:
    """Read the tables of hosts and domains.

    `clock_ahead` is by how many seconds this machine's clock is ahead of the crawl's.
    """
    state = CrawlHosts()
    with suppress(DamagedFile):  # `webcrawl verify` names it
        state.paused = {*meta_row.value(snapshot, PAUSED_HOSTS, paused_hosts_in, list[str]())}
    for row in host_rows(snapshot):
        state.hosts += 1
        try:
            state.add(read(row), clock_ahead)
        except (ValueError, struct.error):
            state.damaged += 1
    # The URLs of folded families are in rows of their own, whose names end in FAMILIES.
    of_waiting = "FROM domain WHERE waiting > 0"
    sums = f"SELECT count(*), coalesce(sum(waiting), 0) {of_waiting} AND name"
    (state.over_budget,) = snapshot.rows(f"{sums} NOT GLOB ?", (f"*{FAMILIES}",))
    (state.folded,) = snapshot.rows(f"{sums} GLOB ?", (f"*{FAMILIES}",))
    largest = f"SELECT name, waiting, rank {of_waiting} ORDER BY waiting DESC, name LIMIT ?"
    state.domains = list(snapshot.rows(largest, (MAX_ROWS,)))
    state.truncate()
    return state


@dataclass(kw_only=True)
class ReportSource:
    """What the report shows of a JOBDIR or of a hive, as of the last checkpoint."""

    jobdir: Path
    key: bytes  # of the crawl's hashes
    statistics: Statistics
    has_full_statistics: bool  # the statistics cover every line of the log
    counters: Counter[str]
    filtered: Counter[str]
    frontier: Counter[str]
    terms: dict[str, str]  # settings, as texts
    seeds: dict[str, Any]  # the position in the seed lists
    outputs: dict[str, int]  # lengths in bytes, by path; empty for a hive
    state: CrawlHosts
    queued: int = 0  # URLs
    deferred: tuple[int, int] = (0, 0)  # URLs and hosts
    is_clean: bool = False  # the last run ended with a checkpoint
    at: float = 0.0  # when the checkpoint was taken
    free_bytes: int | None = None  # bytes free on the disk
    stats: dict[str, Any] = field(default_factory=dict)  # stats.json
    # a sentence on each part that cannot be read
    unreadable: list[str] = field(default_factory=list)
    revisits: RevisitReport | None = None  # None if no page is fetched again
    drones: list[ReportSource] = field(default_factory=list)  # of a hive

    @property
    def crawls(self) -> list[ReportSource]:
        """Return the drones of a hive, or the crawl itself."""
        return self.drones or [self]

    @property
    def has_failed(self) -> bool:
        """Return whether the last run could not keep what it did, and no other has begun since.

        stats.json has the reason until the first checkpoint of the next run.
        """
        is_running = any(is_locked(crawl.jobdir) for crawl in self.crawls)
        return self.stats.get("reason") == stats_file.STORE_FAILED and not is_running

    @property
    def figures(self) -> dict[str, int]:
        """Return all counters by the names that they have in stats.json."""
        filtered = {f"{FILTERED}{name}": links for name, links in self.filtered.items()}
        frontier = {f"frontier/{name}": number for name, number in self.frontier.items()}
        return {**self.counters, **filtered, **frontier}

    @property
    def seeds_read(self) -> int:
        """Return the number of good seeds that were read."""
        return self._seed_lines("good", "seeds")

    @property
    def bad_seeds(self) -> int:
        """Return the number of lines of the seed lists that gave no seed."""
        return self._seed_lines("bad", "bad_seeds")

    def _seed_lines(self, kind: str, figure: str) -> int:
        """Return how many lines of the seed lists were read that are good, or bad.

        The position has those of the finished lists, and of the one that is being read. stats.json
        has the lists that came by command too.
        """
        number = int(self.seeds.get(kind, 0))
        place = self.seeds.get("place")
        if isinstance(place, dict):
            number += int(place.get(kind, 0))
        return max(number, int(self.stats.get(figure) or 0))

    @classmethod
    def of_hive(cls, jobdir: Path, drones: Sequence[ReportSource]) -> Self:
        """Return the sums of all drones, whose statistics must be complete by then."""
        key = drones[0].key
        statistics = join_statistics([drone.statistics for drone in drones], key)
        is_clean = all(drone.is_clean for drone in drones)
        times = [drone.at for drone in drones]
        return cls(
            jobdir=jobdir,
            key=key,
            statistics=statistics,
            has_full_statistics=all(drone.has_full_statistics for drone in drones),
            counters=_sum_of(drone.counters for drone in drones),
            filtered=_sum_of(drone.filtered for drone in drones),
            frontier=_sum_of(drone.frontier for drone in drones),
            terms=_terms(drones),
            # Each drone reads the lists of all: the one that is farthest has the position.
            seeds=max(drones, key=lambda drone: drone.seeds_read).seeds,
            outputs={},
            state=CrawlHosts.sum_of([drone.state for drone in drones]),
            queued=sum(drone.queued for drone in drones),
            deferred=_sum_of_pairs(drone.deferred for drone in drones),
            is_clean=is_clean,
            at=max(times) if is_clean else min(times),
            free_bytes=min(
                (drone.free_bytes for drone in drones if drone.free_bytes is not None), default=None
            ),
            stats=merged(_end_figures(drone.stats) for drone in drones),
            unreadable=_unreadable_parts(drones, statistics),
            drones=[*drones],
            revisits=revisits_of_hive(drone.revisits for drone in drones),
        )


def _sum_of(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter())


def _sum_of_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    firsts, seconds = zip(*pairs, strict=True)
    return sum(firsts), sum(seconds)


def _unreadable_parts(drones: Sequence[ReportSource], statistics: Statistics) -> list[str]:
    """Return a sentence on each part of a drone that cannot be read, and on wrong sums."""
    unreadable = [
        f"{drone.jobdir.name}: {message}" for drone in drones for message in drone.unreadable
    ]
    has_several_keys = len({drone.key for drone in drones}) > 1
    if statistics.hosts.level and has_several_keys:
        unreadable.append(
            "the drones have different hash keys, so the figures of small hosts are wrong"
        )
    return unreadable


def _end_figures(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of stats.json that the state does not have."""
    return {name: stats[name] for name in END_FIGURES if name in stats}


def _terms(drones: Sequence[ReportSource]) -> dict[str, str]:
    """Return the settings of all drones. Values that differ are listed with commas between."""
    names = dict.fromkeys(chain.from_iterable(drone.terms for drone in drones))
    return {
        name: ", ".join(dict.fromkeys(drone.terms.get(name, "none") for drone in drones))
        for name in names
    }


def read_source(jobdir: Path) -> ReportSource:
    """Read the last checkpoint of a crawl. Raise NoCrawl if there is none."""
    return JobDir.open(jobdir).read(lambda snapshot: _read(jobdir, snapshot))


def _read(jobdir: Path, snapshot: Snapshot) -> ReportSource:
    """Read a checkpoint. A row that cannot be read is empty, and has a sentence in `unreadable`."""
    unreadable: list[str] = []

    def unpacked(name: str) -> dict[str, Any]:
        return meta_row.readable(snapshot, name, unreadable)

    key = meta_row.key(snapshot)
    statistics = Statistics(key)
    has_full_statistics = False
    checkpoint_at, clock_ahead = meta_row.times(snapshot)
    saved = unpacked("statistics")
    if saved:
        try:
            statistics.restore(saved)
            if statistics.series.start:  # by the crawl's clock
                statistics.series.start += round(clock_ahead * 1000)
            has_full_statistics = not statistics.since
        except (KeyError, TypeError, ValueError):
            unreadable.append("the statistics of the checkpoint cannot be read")
    tallies = unpacked("tallies")
    frontier = unpacked("frontier")
    outputs = lengths(snapshot)
    return ReportSource(
        jobdir=jobdir,
        key=key,
        statistics=statistics,
        has_full_statistics=has_full_statistics,
        counters=Counter(tallies.get("crawl", {})),
        filtered=Counter(tallies.get("refused", {})),
        frontier=Counter(frontier.get("counters", {})),
        terms=meta_row.terms(snapshot, unreadable),
        seeds=unpacked("seeds"),
        outputs=outputs,
        state=read_state(snapshot, clock_ahead),
        queued=int(frontier.get("queued", 0)),
        deferred=tuple(frontier.get("set aside", (0, 0))),  # as the state calls it
        is_clean=meta_row.is_clean(snapshot),
        at=checkpoint_at + clock_ahead,
        free_bytes=free_bytes_of(jobdir),
        stats=stats_file.read(jobdir),
        unreadable=unreadable,
        revisits=read_revisits(
            snapshot, lambda: history_of(jobdir, outputs.get(PATH, 0)), unreadable
        ),
    )


def free_bytes_of(folder: Path) -> int | None:
    """Return how many bytes are free on a folder's disk, or None if it cannot be found out."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
