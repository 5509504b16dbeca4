"""Reads what a crawl left as of its last checkpoint: the state, what waits, and which part of its files counts."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.record.statistics.statistics import Statistics, joined
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.history_line import PATH
from webcrawl.store.jobdir.host_row import HostRow, OriginRow, behind_wall, given_up, host_rows, read
from webcrawl.store.jobdir.host_row import State as Place
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.left_out import FILTERED
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.report.revisit_source import Revisits, history_of, of_hive, read_revisits


@dataclass
class Source:
    """The parts of a JOBDIR that the report is made of."""

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
    state: State
    queued: int = 0
    aside: tuple[int, int] = (0, 0)  # URLs and hosts
    clean: bool = False  # the last run ended with a checkpoint
    at: float = 0.0  # when the checkpoint was taken
    free: int | None = None  # bytes free on the disk
    stats: dict[str, Any] = field(default_factory=dict)  # stats.json
    odd: list[str] = field(default_factory=list)  # what could not be read
    revisits: Revisits | None = None  # if pages are fetched again
    drones: list[Source] = field(default_factory=list)  # of a hive, whose own `outputs` are theirs

    @property
    def crawls(self) -> list[Source]:
        """Itself, or the drones of a hive."""
        return self.drones or [self]

    @property
    def figures(self) -> dict[str, int]:
        """All counters by the names that they have in stats.json."""
        filtered = {f"{FILTERED}{name}": many for name, many in self.filtered.items()}
        frontier = {f"frontier/{name}": many for name, many in self.frontier.items()}
        return {**self.counters, **filtered, **frontier}

    @property
    def seeds_read(self) -> int:
        """The number of seeds taken from the lists."""
        place = self.seeds.get("place")
        return int(self.seeds.get("good", 0)) + int(place.get("good", 0) if isinstance(place, dict) else 0)


def read_source(jobdir: Path) -> Source:
    """Reads the last checkpoint; NoCrawl if there is nothing to read."""
    return JobDir.open(jobdir).read(lambda snapshot: _read(jobdir, snapshot))


def _read(jobdir: Path, snapshot: Snapshot) -> Source:
    odd: list[str] = []

    def unpacked(name: str) -> dict[str, Any]:
        return meta_row.readable(snapshot, name, odd)

    key = meta_row.key(snapshot)
    statistics, complete = Statistics(key), False
    saved = unpacked("statistics")
    if saved:
        try:
            statistics.restore(saved)
            complete = not statistics.since
        except (KeyError, TypeError, ValueError):
            odd.append("the statistics of the checkpoint cannot be read")
    tallies, frontier = unpacked("tallies"), unpacked("frontier")
    last, ahead = meta_row.times(snapshot)
    outputs = lengths(snapshot)
    return Source(
        jobdir,
        key,
        statistics,
        complete,
        Counter(tallies.get("crawl", {})),
        Counter(tallies.get("refused", {})),
        Counter(frontier.get("counters", {})),
        meta_row.terms(snapshot, odd),
        unpacked("seeds"),
        outputs,
        read_state(snapshot, ahead),
        queued=int(frontier.get("queued", 0)),
        aside=tuple(frontier.get("set aside", (0, 0))),
        clean=meta_row.is_clean(snapshot),
        at=last + ahead,
        free=_free(jobdir),
        stats=stats_file.read(jobdir),
        odd=odd,
        revisits=read_revisits(snapshot, lambda: history_of(jobdir, outputs.get(PATH, 0)), odd),
    )


def _free(jobdir: Path) -> int | None:
    try:
        return shutil.disk_usage(jobdir).free
    except OSError:
        return None


MOST = 200  # rows of each table
KNOWN = 50_000  # hosts set aside that are known by name


class Waiting(NamedTuple):
    """A host that is set aside or has many URLs."""

    name: str
    urls: int
    failures: int
    status: int  # with which its URLs would end if it were given up now; 0: none
    due: float  # when it is tried next; 0: it is in turn


class Walled(NamedTuple):
    """A host that is behind a wall."""

    name: str
    vendor: str
    answers: int  # of the wall, in a row
    since: float
    urls: int
    due: float


@dataclass
class State:
    """`damaged` rows are left out: `scrapy verify` says which they are."""

    hosts: int = 0
    aside: list[Waiting] = field(default_factory=list)
    away: dict[str, int] = field(default_factory=dict)  # hosts that are set aside, as many as fit, and their status
    queues: list[Waiting] = field(default_factory=list)  # the longest
    given_up: list[tuple[str, int]] = field(default_factory=list)
    given_up_by: Counter[int] = field(default_factory=Counter)
    domains: list[tuple[str, int, int]] = field(default_factory=list)  # over budget: URLs that wait, and its rank
    over_budget: tuple[int, int] = (0, 0)  # domains and URLs
    folded: tuple[int, int] = (0, 0)  # the same of URLs whose families bring nothing new
    damaged: int = 0
    walls: list[Walled] = field(default_factory=list)  # those with most answers
    vendors: Counter[str] = field(default_factory=Counter)  # hosts behind their walls, all of them
    shut: set[str] = field(default_factory=set)  # their names, as many as fit


def most_answers(rows: Iterable[Walled]) -> list[Walled]:
    """Those whose walls have answered most often."""
    return nlargest(MOST, rows, key=lambda host: (host.answers, host.name))


def read_state(snapshot: Snapshot, ahead: float = 0.0) -> State:
    """Reads both tables. `ahead`: what the machine's clock shows beyond the crawl's."""
    state = State()
    aside: list[Waiting] = []
    queues: list[Waiting] = []
    for host, place in _hosts(snapshot, state, ahead):
        if host.urls:
            _keep(queues, host)
            if place == Place.ASIDE:
                _keep(aside, host)
                if len(state.away) < KNOWN:
                    state.away[host.name] = host.status
    state.walls = most_answers(state.walls)
    state.queues, state.aside = longest(queues), longest(aside)
    waiting = "FROM domain WHERE waiting > 0"
    sums = f"SELECT count(*), coalesce(sum(waiting), 0) {waiting} AND name"
    (state.over_budget,) = snapshot.rows(f"{sums} NOT GLOB ?", (f"*{FAMILIES}",))
    (state.folded,) = snapshot.rows(f"{sums} GLOB ?", (f"*{FAMILIES}",))
    state.domains = list(
        snapshot.rows(f"SELECT name, waiting, rank {waiting} ORDER BY waiting DESC, name LIMIT ?", (MOST,))
    )
    return state


def _keep(rows: list[Waiting], host: Waiting) -> None:
    rows.append(host)
    if len(rows) >= 8 * MOST:
        rows[:] = longest(rows)


def longest(rows: Iterable[Waiting]) -> list[Waiting]:
    """Those with most URLs."""
    return nlargest(MOST, rows, key=lambda host: (host.urls, host.name))


def _hosts(snapshot: Snapshot, state: State, ahead: float) -> Iterator[tuple[Waiting, int]]:
    for row in host_rows(snapshot):
        state.hosts += 1
        try:
            host = read(row)
            urls = host.waiting
        except (ValueError, struct.error):
            state.damaged += 1
            continue
        if given_up(host):
            state.given_up_by[host.retired] += 1
            if len(state.given_up) < MOST:
                state.given_up.append((host.name, host.retired))
        if (wall := host.wall) is not None and behind_wall(host):
            state.vendors[wall.vendor] += 1
            if len(state.shut) < KNOWN:
                state.shut.add(host.name)
            state.walls.append(Walled(host.name, wall.vendor, wall.answers, wall.since + ahead, urls, host.due + ahead))
            if len(state.walls) >= 8 * MOST:
                state.walls = most_answers(state.walls)
        records: list[HostRow | OriginRow] = [host, *host.origins]  # some of its origins may fail alone
        worst = max(records, key=lambda record: record.failures)
        status = worst.failed.status if worst.failed is not None else 0
        due = host.aside or host.ready_at
        yield Waiting(host.name, urls, worst.failures, status, due + ahead if due else due), host.state


def one_of(jobdir: Path, drones: Sequence[Source]) -> Source:
    """The source of all of them together, once the statistics of each are complete."""
    first = drones[0]
    whole = Source(
        jobdir,
        first.key,
        joined([drone.statistics for drone in drones], first.key),
        all(drone.complete for drone in drones),
        Counter(stats_file.added_names(drone.counters for drone in drones)),
        Counter(stats_file.added_names(drone.filtered for drone in drones)),
        Counter(stats_file.added_names(drone.frontier for drone in drones)),
        _terms(drones),
        max(drones, key=lambda drone: drone.seeds_read).seeds,  # a seed is read by all, and belongs to one
        {},
        _state([drone.state for drone in drones]),
        queued=sum(drone.queued for drone in drones),
        aside=(sum(drone.aside[0] for drone in drones), sum(drone.aside[1] for drone in drones)),
        clean=(clean := all(drone.clean for drone in drones)),
        at=(max if clean else min)(drone.at for drone in drones),
        free=min((drone.free for drone in drones if drone.free is not None), default=None),
        stats=_stats(drones),
        odd=[f"{drone.jobdir.name}: {one}" for drone in drones for one in drone.odd],
        drones=[*drones],
        revisits=of_hive(drone.revisits for drone in drones),
    )
    if whole.statistics.hosts.level and len({drone.key for drone in drones}) > 1:
        whole.odd.append("the drones have different hash keys, so the figures of small hosts are wrong")
    return whole


def _terms(drones: Sequence[Source]) -> dict[str, str]:
    """The settings; the values of one that differs, such as the drone's number, stand side by side."""
    names = dict.fromkeys(chain.from_iterable(drone.terms for drone in drones))
    return {name: ", ".join(dict.fromkeys(drone.terms.get(name, "none") for drone in drones)) for name in names}


def _stats(drones: Sequence[Source]) -> dict[str, Any]:
    """The reason for the last end, and the unexpected errors of all."""
    return merged({name: drone.stats[name] for name in ("reason", "errors") if name in drone.stats} for drone in drones)


def _state(parts: Sequence[State]) -> State:
    return State(
        hosts=sum(part.hosts for part in parts),
        aside=longest(chain.from_iterable(part.aside for part in parts)),
        away=dict(islice(chain.from_iterable(part.away.items() for part in parts), KNOWN)),
        queues=longest(chain.from_iterable(part.queues for part in parts)),
        given_up=[*islice(chain.from_iterable(part.given_up for part in parts), MOST)],
        given_up_by=sum((part.given_up_by for part in parts), Counter[int]()),
        domains=sorted(chain.from_iterable(part.domains for part in parts), key=itemgetter(1), reverse=True)[:MOST],
        over_budget=_both(part.over_budget for part in parts),
        folded=_both(part.folded for part in parts),
        damaged=sum(part.damaged for part in parts),
        walls=most_answers(chain.from_iterable(part.walls for part in parts)),
        vendors=sum((part.vendors for part in parts), Counter[str]()),
    )


def _both(each: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Sums of the first numbers, and of the second ones."""
    firsts, seconds = zip(*each, strict=True)
    return sum(firsts), sum(seconds)
