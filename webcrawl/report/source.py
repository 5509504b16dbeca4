"""What a crawl left, as of its last checkpoint: the state, and which part of its files counts. Nothing is written."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack

from webcrawl.report.revisits import Revisits, history_of, read_revisits
from webcrawl.report.state import State, read_state
from webcrawl.statistics.history import PATH
from webcrawl.statistics.statistics import Statistics
from webcrawl.store import rowcrc
from webcrawl.store.errors import StoreError
from webcrawl.store.regular import regular
from webcrawl.verify.snapshot import Snapshot

LOG = "logs/crawl.log"
KEY_BYTES = 16


class NoReport(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds nothing to report on."""


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
    def seeds_read(self) -> int:
        """How many seeds were taken from the lists."""
        place = self.seeds.get("place")
        return int(self.seeds.get("good", 0)) + int(place.get("good", 0) if isinstance(place, dict) else 0)


def read_source(jobdir: Path) -> Source:
    """Opens one read transaction; StoreError in one line if there is nothing to read."""
    if not jobdir.is_dir():
        raise NoReport(f"{jobdir}: no such folder")
    if not (jobdir / "state/crawl.db").exists():
        raise NoReport(f"{jobdir}: not a crawl: state/crawl.db is missing")
    with Snapshot(jobdir / "state") as snapshot:
        source = _read(jobdir, snapshot)
        snapshot.check_still()
    return source


def _read(jobdir: Path, snapshot: Snapshot) -> Source:
    odd: list[str] = []

    def unpacked(name: str) -> dict[str, Any]:
        return _mapping(snapshot, name, odd)

    key = (snapshot.get("key") or b"").ljust(KEY_BYTES, b"\0")[:KEY_BYTES]
    statistics, complete = Statistics(key), False
    saved = unpacked("statistics")
    if saved:
        try:
            statistics.restore(saved)
            complete = not statistics.since
        except (KeyError, TypeError, ValueError):
            odd.append("the statistics of the checkpoint cannot be read")
    tallies, frontier = unpacked("tallies"), unpacked("frontier")
    clock = snapshot.get("clock")
    last, ahead = msgpack.unpackb(clock) if clock is not None else (0.0, 0.0)
    outputs = dict(snapshot.rows("SELECT path, length FROM output ORDER BY path"))
    return Source(
        jobdir,
        key,
        statistics,
        complete,
        Counter(tallies.get("crawl", {})),
        Counter(tallies.get("refused", {})),
        Counter(frontier.get("counters", {})),
        unpacked("terms"),
        unpacked("seeds"),
        outputs,
        read_state(snapshot),
        queued=int(frontier.get("queued", 0)),
        aside=tuple(frontier.get("set aside", (0, 0))),
        clean=snapshot.get("clean") == b"1",
        at=last + ahead,
        free=_free(jobdir),
        stats=read_stats(jobdir / "stats.json"),
        odd=odd,
        revisits=read_revisits(snapshot, lambda: history_of(jobdir, outputs.get(PATH, 0)), odd),
    )


def _mapping(snapshot: Snapshot, name: str, odd: list[str]) -> dict[str, Any]:
    """A value of the table meta; one whose checksum is right has the form in which it was written."""
    for row in snapshot.rows("SELECT name, value, crc FROM meta WHERE name = ?", (name,)):
        found = None
        if rowcrc.agrees(rowcrc.meta, row):
            with suppress(ValueError, TypeError):
                found = json.loads(row[1]) if row[1][:1] == b"{" else msgpack.unpackb(row[1], strict_map_key=False)
        if isinstance(found, Mapping):
            return dict(found)
        odd.append(f"{name} in state/crawl.db cannot be read")
    return {}


def _free(jobdir: Path) -> int | None:
    try:
        return shutil.disk_usage(jobdir).free
    except OSError:
        return None


def read_stats(path: Path) -> dict[str, Any]:
    """What stats.json has. It may be missing, for a user may delete it."""
    try:
        with regular(path) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
