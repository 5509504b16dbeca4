"""Finds the crawls that there are, and looks at each: at what it says itself, or at what it left.

A look serves all pages that are open.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

from webcrawl.base.markup import Html
from webcrawl.crawl.control.client import add_seeds
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import HIVE, crawls_of, hive_of, is_crawl, is_locked
from webcrawl.store.jobdir.figures import HostTurns, merged
from webcrawl.store.jobdir.history_line import KINDS, PATH, Moment, in_order, moment, moment_of
from webcrawl.store.jobdir.history_line import read as read_moment
from webcrawl.tools.report.report_page import LiveReport

Call = Callable[[], Coroutine[Any, Any, Any]]
# of a JOBDIR, a command, its words, `written` for `-`: an answer; CommandError, NotRunning
Ask = Callable[..., Any]
TAIL = 1 << 16  # bytes of the history's end: 130 moments and more
# states of a hive's drones
MOST_URGENT_FIRST = ("silent", "running", "stopping", "paused", "killed", "new")
# seconds by which a moment may be later than now: the crawl's machine may have another clock
AHEAD = 60.0


@dataclass(frozen=True)
class CrawlSample:
    """A crawl at a moment. `state`: running, paused, stopping, stopped, killed, new, gone, silent.

    silent: it runs and does not answer.
    """

    at: float
    state: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # why it is so, in a few words
    drones: Mapping[str, CrawlSample] = field(default_factory=dict)  # by id

    @property
    def runs(self) -> bool:
        return self.state in ("running", "paused", "stopping", "silent")

    @property
    def answers(self) -> bool:
        return self.runs and self.state != "silent"

    @property
    def turns(self) -> HostTurns:
        return HostTurns.of(
            {name: self.number(name) for name in ("in_flight", "in_flight/more", "ready", "hosts")}
        )

    def number(self, name: str) -> float:
        """Return a figure, if it is a number."""
        value = self.figures.get(name, 0)
        return value if isinstance(value, (int, float)) and value == value else 0  # noqa: PLR0124 - not a number


def look(known: WatchedCrawl, ask: Ask) -> CrawlSample:
    """Ask a crawl, or each drone of a hive, which takes as long as the slowest of them."""
    if not known.drones:
        sample = _look(known.jobdir, ask)
        # a drone's folder may be on another machine
        if sample.state == "new" and not known.jobdir.is_dir():
            return replace(sample, state="gone", note="its folder no longer exists")
        return sample
    drones = {drone.id: _look(drone.jobdir, ask) for drone in known.drones}
    return together(drones)


def _look(jobdir: Path, ask: Ask) -> CrawlSample:
    try:
        figures = ask(jobdir, "status")
        if not isinstance(figures, Mapping):
            raise CommandError("the answer has an unexpected form")  # noqa: TRY301 - as one that cannot be read
    except NotRunning:
        return _left(jobdir, time.time())
    except CommandError as error:
        return CrawlSample(time.time(), "silent", _saved(jobdir), str(error))
    state = figures.get("state")
    if state not in ("paused", "stopping"):
        state = "running"
    return CrawlSample(time.time(), state, figures)


def _left(jobdir: Path, now: float) -> CrawlSample:
    """Return the sample of a crawl that does not answer."""
    figures = _saved(jobdir)
    if is_locked(jobdir):
        return CrawlSample(
            now,
            "silent",
            figures,
            "it is running, but does not accept commands: these are its last saved figures",
        )
    if not figures:
        return CrawlSample(now, "new", figures, "it has saved no figures yet")
    reason = figures.get("reason")
    if reason is None:
        return CrawlSample(
            now,
            "killed",
            figures,
            "its last run was killed: run the same command to resume from its last checkpoint",
        )
    return CrawlSample(now, "stopped", figures, f"{reason}")


def together(drones: Mapping[str, CrawlSample]) -> CrawlSample:
    """Return the sample of a hive: sums, and the state that most concerns an operator."""
    samples = [*drones.values()]
    states = {sample.state for sample in samples}
    state = next((state for state in MOST_URGENT_FIRST if state in states), "stopped")
    at = max((sample.at for sample in samples), default=time.time())
    return CrawlSample(at, state, _hive_figures(samples), _hive_note(samples, state), drones)


def _hive_figures(samples: Sequence[CrawlSample]) -> dict[str, Any]:
    """Return the sums. A figure that pages read is there, though no drone has it."""
    plain = [
        {name: value for name, value in sample.figures.items() if name != "statistics"}
        for sample in samples
    ]
    figures = {
        "mix": {},
        "milliseconds": [],
        "levels": [],
        "in_force": [],
        "trouble": "",
        **merged(plain),
    }
    figures["mix"] = {kind: figures["mix"].get(kind, 0) for kind in KINDS}
    return figures


def _hive_note(samples: Sequence[CrawlSample], state: str) -> str:
    """Return how many drones run if not all do; if none runs, the note of one in this state."""
    running = sum(sample.runs for sample in samples)
    if running == len(samples) > 0:
        return ""
    # The others may run on other machines.
    if running:
        return f"{running} of {len(samples)} drones are running here"
    notes = [sample.note for sample in samples if sample.state == state]
    return notes[0] if notes else ""


def _saved(jobdir: Path) -> dict[str, Any]:
    """Return its stats.json, with the figures of the history if these are newer."""
    figures = stats_file.read(jobdir)
    last = next(iter(recent(jobdir)[-1:]), None)
    if last is None or not figures or last.at <= (saved_at(figures) or 0.0):
        return figures
    return {**figures, **last.figures, "mix": last.mix}


def saved_at(figures: Mapping[str, Any]) -> float | None:
    """Return the time at which stats.json was written, of the figures that come from there."""
    try:
        return datetime.fromisoformat(str(figures["at"])).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def recent(jobdir: Path) -> list[Moment]:
    """Return the last moments of its history, without those of a clock that was ahead."""
    try:
        with regular(jobdir / PATH) as file:
            file.seek(max(file.seek(0, 2) - TAIL, 0))
            lines = file.read(TAIL).splitlines(keepends=True)
    except OSError:
        return []
    latest = time.time() + AHEAD
    # The first line may be cut by TAIL, and the last one not be whole yet.
    whole = [line.removesuffix(b"\n") for line in lines if line.endswith(b"\n")]
    found = filter(None, map(read_moment, whole))
    return in_order([one for one in found if one.at <= latest])


def told(sample: CrawlSample) -> Moment | None:
    """Return the moment that a crawl has just told, if it tells enough."""
    try:
        return moment_of(moment(sample.figures, sample.at))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


DEEPEST = 3  # folders below the one that is searched
MOST_FOLDERS, MOST = 5000, 500  # looked at; shown
SOCKET = "control.sock"


@dataclass(frozen=True, slots=True)
class WatchedCrawl:
    """A crawl, or a hive with its drones.

    A browser knows it by its id alone, and never by a path.
    """

    id: str
    name: str
    jobdir: Path
    drones: tuple[WatchedCrawl, ...] = ()

    @property
    def crawls(self) -> tuple[WatchedCrawl, ...]:
        """Itself, or the drones of a hive."""
        return self.drones or (self,)


class CrawlFinder:
    """Finds crawls: the `given` folders or, without any, all crawls below `root`."""

    def __init__(self, given: Sequence[Path], root: Path) -> None:
        self._given = given
        self._root = root
        self._by_id: dict[str, WatchedCrawl] = {}

    def look(self) -> list[WatchedCrawl]:
        """Return all crawls that are there now, by name."""
        if self._given:
            found = [_known(jobdir, jobdir.resolve().name) for jobdir in self._given]
        else:
            below = _below(self._root)
            found = [_known(jobdir, str(jobdir.relative_to(self._root))) for jobdir in below]
        found.sort(key=lambda one: one.name)
        self._by_id = {one.id: one for crawl in found for one in (crawl, *crawl.drones)}
        return found

    def get(self, name: str) -> WatchedCrawl | None:
        """Return the crawl with this id, among those that the last look found."""
        return self._by_id.get(name)


def _known(jobdir: Path, name: str) -> WatchedCrawl:
    try:
        hive = hive_of(jobdir)
        drones = crawls_of(jobdir) if hive is not None else []
    except (StoreError, OSError):  # hive.json cannot be read: what can be, is shown
        drones = []
    return WatchedCrawl(
        _id(jobdir),
        name,
        jobdir,
        tuple(WatchedCrawl(_id(one), f"{name}/{one.name}", one) for one in drones),
    )


def _id(jobdir: Path) -> str:
    """Return an id that is the same in every run, so that a page can be bookmarked."""
    return blake2b(os.fsencode(jobdir.resolve()), digest_size=6).hexdigest()


def is_jobdir(folder: Path) -> bool:
    """Return True if a crawl or a hive lies here, or is just beginning."""
    return is_crawl(folder) or (folder / HIVE).exists() or (folder / SOCKET).exists()


def _below(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder in _walk(root):
        found.append(folder)
        if len(found) == MOST:
            break
    return found


def _walk(root: Path) -> Iterator[Path]:
    """Yield the crawls below a folder, the nearest first; none in a crawl, none behind a link.

    A folder that cannot be read is left out.
    """
    waiting = deque([(root, 0)])
    visited = 0
    while waiting and visited < MOST_FOLDERS:
        folder, depth = waiting.popleft()
        visited += 1
        try:
            if is_jobdir(folder) or (depth and hive_of(folder) is not None):
                yield folder
            elif depth < DEEPEST:
                waiting += [(folder / name, depth + 1) for name in _folders_in(folder)]
        except (StoreError, OSError):
            continue


def _folders_in(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


# An answer to `status` cost a crawl of 200 hosts 0.25 ms of CPU: one open page, or ten of the same
# crawl, cost 0.013 % of a core.
INTERVAL = 2.0  # seconds between two looks while a page is open
FRESH = 1.5  # seconds for which a look is good enough for another page
LASTS = 5.0  # seconds for which an answer to a command that only asks is shown again
MOST_ANSWERS = 50
MOST_MOMENTS = 100  # some minutes, which is what rates are of
READS = 10.0  # seconds for which a report is shown at least
SHARE = 20  # it is read again when so many times as long as that takes has passed
PATIENCE = 2.0  # seconds for which a page waits for the report


class CrawlWatch:
    """Watches one crawl or hive."""

    def __init__(
        self,
        known: WatchedCrawl,
        ask: Ask,
        executor: Executor,
        defaults: Mapping[str, str] | None = None,
    ) -> None:
        self.known = known
        self._ask = ask
        self._executor = executor
        self._report = LiveReport(
            known.jobdir, [one.jobdir for one in known.crawls], defaults or {}
        )
        self._reading: asyncio.Task[None] | None = None
        self._read_again = 0.0  # when, by time.monotonic
        self._answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        self._moments = deque[Moment](maxlen=MOST_MOMENTS)
        self._drones = frozenset[str]()  # of a hive, that answered the last time
        self._orders = 0  # given from here

    async def sample(self) -> CrawlSample:
        """Return its state now, or a moment ago."""
        sample: CrawlSample = await self.answer("look", self._look, FRESH)
        return sample

    async def _look(self) -> CrawlSample:
        """Look, and drop the moments of other drones, which would seem to have fetched much."""
        if not self._moments and not self.known.drones:
            self._moments.extend(await self.run(lambda: recent(self.known.jobdir)))
        sample: CrawlSample = await self.run(lambda: look(self.known, self._ask))
        drones = frozenset(name for name, drone in sample.drones.items() if drone.answers)
        if drones != self._drones:
            self._drones = drones
            self._moments.clear()
        seen = told(sample) if sample.answers else None
        if seen is not None:
            self._moments.append(seen)
        return sample

    def moments(self) -> list[Moment]:
        """Return its last minutes, as they were seen here, or as its history has them."""
        return [*self._moments]

    async def asked(self, what: Hashable, call: Callable[[], Any]) -> Any:
        """Return the result of `call`, which runs in a thread.

        All who ask for the same `what` within LASTS seconds share it, errors too.
        """
        return await self.answer(what, lambda: self.run(call), LASTS)

    async def answer(self, what: Hashable, call: Call, lasts: float) -> Any:
        """Return the result of `call`, for all pages that want it within seconds; errors too."""
        while True:
            orders = self._orders
            begun, task = self._answers.get(what, (0.0, None))
            if task is None or (task.done() and time.monotonic() - begun > lasts):
                task = self._begin_answer(what, call)
            # Shielded: a page that is closed must not take the answer from the others.
            found = await asyncio.shield(task)
            if orders == self._orders:  # else it may be how it was before the last one
                return found

    def _begin_answer(self, what: Hashable, call: Call) -> asyncio.Task[Any]:
        """Begin a call, and forget the oldest answers beyond MOST_ANSWERS."""
        done = [name for name, (_, one) in self._answers.items() if one.done()]
        for name in done[: max(len(self._answers) - MOST_ANSWERS, 0)]:
            del self._answers[name]
        task = asyncio.get_running_loop().create_task(call())
        task.add_done_callback(_heard)
        self._answers[what] = time.monotonic(), task
        return task

    async def report(self) -> Mapping[str, Html]:
        """Return the report's sections as of a checkpoint; read again while pages show them."""
        if self._reading is None or (self._reading.done() and time.monotonic() >= self._read_again):
            self._reading = asyncio.get_running_loop().create_task(self._read_report())
            self._reading.add_done_callback(_heard)
        # The report of a large crawl takes longer: the page has it in one of its next turns.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._reading), PATIENCE)
        return self._report.sections

    async def _read_report(self) -> None:
        begun = time.monotonic()
        try:
            await self.run(self._report.read)
        finally:
            took = time.monotonic() - begun
            self._read_again = begun + took + max(SHARE * took, READS)

    def forget(self) -> None:
        """After a command nothing is as it was."""
        self._answers.clear()
        self._orders += 1

    async def order(self, name: str, *words: str, **more: bytes) -> Any:
        try:
            return await self.run(lambda: self._ask(self.known.jobdir, name, *words, **more))
        finally:
            self.forget()

    async def add_seeds(self, written: bytes) -> Any:
        """Give a crawl seeds, in a file of its own; a hive knows where its drones can read them."""
        jobdir = self.known.jobdir
        if self.known.drones:
            return await self.order("seeds", "add", "-", written=written)
        try:
            return await self.run(
                lambda: add_seeds(
                    partial(self._ask, jobdir), jobdir, ("add", "-"), BytesIO(written)
                )
            )
        finally:
            self.forget()

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return the result of `call`, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)


def _heard(task: asyncio.Task[Any]) -> None:
    """Ignore an error here: it is for the task that waits for the answer, if one still does."""
    if not task.cancelled():
        task.exception()
