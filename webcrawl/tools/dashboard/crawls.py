"""Finds crawls, and takes samples of each: the figures that it answers, or those that it saved.

All pages that are open share a sample.
"""

from __future__ import annotations

import asyncio
import math
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
from itertools import islice
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
# Gives a crawl a command, and returns its answer: of a JOBDIR, the command and its words. The
# argument `written` has what the word `-` stands for. Raises CommandError or NotRunning.
Ask = Callable[..., Any]
HISTORY_TAIL_BYTES = 1 << 16  # read from its end: 130 moments and more
# The state of a hive is the first of these that a drone has.
MOST_URGENT_FIRST = ("silent", "running", "stopping", "paused", "killed", "new")
# Moments may be so much later than now: the crawl's machine may have another clock.
MAX_CLOCK_AHEAD_SECONDS = 60.0


@dataclass(frozen=True)
class CrawlSample:
    """The state and the figures of a crawl at one moment.

    The state is running, paused, stopping, silent (it runs, but does not answer), stopped, killed,
    new (it has saved nothing yet) or gone (its folder no longer exists).
    """

    at: float
    state: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # the reason of the state, in a few words
    drones: Mapping[str, CrawlSample] = field(default_factory=dict)  # by id

    @property
    def runs(self) -> bool:
        return self.state in ("running", "paused", "stopping", "silent")

    @property
    def answers(self) -> bool:
        return self.runs and self.state != "silent"

    @property
    def turns(self) -> HostTurns:
        """Return how many hosts are active, are ready, and wait."""
        return HostTurns.of(
            {name: self.number(name) for name in ("in_flight", "in_flight/more", "ready", "hosts")}
        )

    def number(self, name: str) -> float:
        """Return a figure; 0 if it is missing or no number."""
        value = self.figures.get(name, 0)
        if not isinstance(value, (int, float)):
            return 0
        is_nan = isinstance(value, float) and math.isnan(value)
        return 0 if is_nan else value


def take_sample(crawl: WatchedCrawl, ask: Ask) -> CrawlSample:
    """Return the sample of a crawl, or of all drones of a hive, which are asked one by one."""
    if not crawl.drones:
        sample = _sample_of(crawl.jobdir, ask)
        # A drone's folder may be on another machine, so that a hive's drones are never gone.
        if sample.state == "new" and not crawl.jobdir.is_dir():
            return replace(sample, state="gone", note="its folder no longer exists")
        return sample
    drones = {drone.id: _sample_of(drone.jobdir, ask) for drone in crawl.drones}
    return hive_sample(drones)


def _sample_of(jobdir: Path, ask: Ask) -> CrawlSample:
    """Ask a crawl for its status, or else read the figures that it saved."""
    try:
        figures = ask(jobdir, "status")
        if not isinstance(figures, Mapping):
            raise CommandError("the answer has an unexpected form")  # noqa: TRY301 - as one that cannot be read
    except NotRunning:
        return _sample_without_answer(jobdir, time.time())
    except CommandError as error:
        return CrawlSample(time.time(), "silent", _saved_figures(jobdir), str(error))
    state = figures.get("state")
    if state not in ("paused", "stopping"):
        state = "running"
    return CrawlSample(time.time(), state, figures)


def _sample_without_answer(jobdir: Path, now: float) -> CrawlSample:
    """Return the sample of a crawl that does not answer, by its lock and its saved figures."""
    if is_locked(jobdir):
        return CrawlSample(
            now,
            "silent",
            _saved_figures(jobdir),
            "it is running, but does not accept commands: these are its last saved figures",
        )
    # Of a crawl that was killed, the history has pages that the next run fetches again.
    figures = stats_file.read(jobdir)
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


def hive_sample(drones: Mapping[str, CrawlSample]) -> CrawlSample:
    """Return the sample of a hive: sums, and the state that most concerns an operator."""
    samples = [*drones.values()]
    states = {sample.state for sample in samples}
    state = next((state for state in MOST_URGENT_FIRST if state in states), "stopped")
    at = max((sample.at for sample in samples), default=time.time())
    figures = _hive_figures(samples)
    # The drones may have ended for different reasons.
    reason = str(figures.get("reason") or "")
    note = reason if state == "stopped" else _hive_note(samples, state)
    return CrawlSample(at, state, figures, note, drones)


def _hive_figures(samples: Sequence[CrawlSample]) -> dict[str, Any]:
    """Return the sums of the drones' figures. Figures that pages read are always there."""
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
    """Return how many drones run here, unless all do. If none runs, return the note of a drone."""
    running = sum(sample.runs for sample in samples)
    if running == len(samples) > 0:
        return ""
    # The others may run on other machines.
    if running:
        return f"{running} of {len(samples)} drones are running here"
    notes = [sample.note for sample in samples if sample.state == state]
    return notes[0] if notes else ""


def _saved_figures(jobdir: Path) -> dict[str, Any]:
    """Return the figures of stats.json of a crawl that runs, updated by the last moment of the
    history if it is newer.
    """
    figures = stats_file.read(jobdir)
    moments = recent_moments(jobdir)
    if not figures or not moments:
        return figures
    last = moments[-1]
    is_newer = last.at >= (saved_at(figures) or 0.0)
    return {**figures, **last.figures, "mix": last.mix} if is_newer else figures


def saved_at(figures: Mapping[str, Any]) -> float | None:
    """Return when the figures of a stats.json were written, or None if they do not tell."""
    try:
        return datetime.fromisoformat(str(figures["at"])).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def recent_moments(jobdir: Path) -> list[Moment]:
    """Return the last moments of a crawl's history, without those of a clock that was ahead."""
    try:
        with regular(jobdir / PATH) as file:
            file.seek(max(file.seek(0, 2) - HISTORY_TAIL_BYTES, 0))
            lines = file.read(HISTORY_TAIL_BYTES).splitlines(keepends=True)
    except OSError:
        return []
    latest = time.time() + MAX_CLOCK_AHEAD_SECONDS
    # The crawl may be writing the last line. A part of a line at the beginning is no moment.
    whole_lines = [line.removesuffix(b"\n") for line in lines if line.endswith(b"\n")]
    moments = filter(None, map(read_moment, whole_lines))
    return in_order([moment for moment in moments if moment.at <= latest])


def moment_of_sample(sample: CrawlSample) -> Moment | None:
    """Return the moment that a sample shows, or None if it lacks figures or they are damaged."""
    try:
        return moment_of(moment(sample.figures, sample.at))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


MAX_DEPTH = 3  # of folders below the one that is searched
MAX_FOLDERS = 5000  # searched
MAX_CRAWLS = 500  # shown
SOCKET = "control.sock"


@dataclass(frozen=True, slots=True)
class WatchedCrawl:
    """A crawl, or a hive with its drones.

    Browsers name it by its id alone, so that no request has a path.
    """

    id: str
    name: str
    jobdir: Path
    drones: tuple[WatchedCrawl, ...] = ()

    @property
    def crawls(self) -> tuple[WatchedCrawl, ...]:
        """Return the drones of a hive, or the crawl itself."""
        return self.drones or (self,)


class CrawlFinder:
    """Finds crawls: the `given` folders or, if there are none, all crawls below `root`."""

    def __init__(self, given: Sequence[Path], root: Path) -> None:
        self._given = given
        self._root = root
        self._by_id: dict[str, WatchedCrawl] = {}

    def find(self) -> list[WatchedCrawl]:
        """Return all crawls that are there now, in the order of their names."""
        if self._given:
            crawls = [_watched(jobdir, jobdir.resolve().name) for jobdir in self._given]
        else:
            crawls = [
                _watched(jobdir, str(jobdir.relative_to(self._root)))
                for jobdir in islice(_crawls_below(self._root), MAX_CRAWLS)
            ]
        crawls.sort(key=lambda crawl: crawl.name)
        with_drones = [one for crawl in crawls for one in (crawl, *crawl.drones)]
        self._by_id = {one.id: one for one in with_drones}
        return crawls

    def get(self, crawl_id: str) -> WatchedCrawl | None:
        """Return the crawl or drone with this id, or None if the last `find` did not find it."""
        return self._by_id.get(crawl_id)


def _watched(jobdir: Path, name: str) -> WatchedCrawl:
    """Return a crawl or hive. A hive whose hive.json cannot be read is shown without drones."""
    try:
        folders = crawls_of(jobdir) if hive_of(jobdir) is not None else []
    except (StoreError, OSError):
        folders = []
    drones = [WatchedCrawl(_id(folder), f"{name}/{folder.name}", folder) for folder in folders]
    return WatchedCrawl(_id(jobdir), name, jobdir, tuple(drones))


def _id(jobdir: Path) -> str:
    """Return an id that is the same in every run, so that a page can be bookmarked."""
    return blake2b(os.fsencode(jobdir.resolve()), digest_size=6).hexdigest()


def is_jobdir(folder: Path) -> bool:
    """Return whether a folder has a crawl or a hive, or one that is just beginning."""
    return is_crawl(folder) or (folder / HIVE).exists() or (folder / SOCKET).exists()


def _crawls_below(root: Path) -> Iterator[Path]:
    """Yield the folders of crawls below a folder, the nearest first.

    Folders within a crawl, behind a link or without read permission are not searched.
    """
    waiting = deque([(root, 0)])
    visited = 0
    while waiting and visited < MAX_FOLDERS:
        folder, depth = waiting.popleft()
        visited += 1
        try:
            if is_jobdir(folder) or (depth and hive_of(folder) is not None):
                yield folder
            elif depth < MAX_DEPTH:
                waiting += [(folder / name, depth + 1) for name in _folders_in(folder)]
        except (StoreError, OSError):
            continue


def _folders_in(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


# An answer to `status` cost a crawl of 200 hosts 0.25 ms of CPU: one open page, or ten of the same
# crawl, cost 0.013 % of a core.
# All in seconds.
UPDATE_SECONDS = 2.0  # between two updates of a page that stays open
MAX_SAMPLE_AGE = 1.5  # of a sample that further pages share
MAX_ANSWER_AGE = 5.0  # of an answer that further pages share
MIN_REPORT_AGE = 10.0  # of a report before it is read again
# A report is not read again before so many times as long as its reading took, so that reading takes
# at most a twentieth of a core.
REPORT_AGE_PER_SECOND = 20
MAX_REPORT_WAIT = 2.0  # for which a page waits for the report
MAX_KEPT_ANSWERS = 50
MAX_MOMENTS = 100  # some minutes: rates are means of less


class CrawlWatch:
    """Asks one crawl or hive, for all pages that show it."""

    def __init__(
        self,
        crawl: WatchedCrawl,
        ask: Ask,
        executor: Executor,
        defaults: Mapping[str, str] | None = None,
    ) -> None:
        """`ask` and reading run in `executor`. `defaults` of settings, as texts, for the report."""
        self.crawl = crawl
        self._ask = ask
        self._executor = executor
        self._report = LiveReport(
            crawl.jobdir, [one.jobdir for one in crawl.crawls], defaults or {}
        )
        self._report_reading: asyncio.Task[None] | None = None
        self._next_report_at = 0.0  # by time.monotonic
        # by key: when the call began, by time.monotonic, and its task
        self._answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        self._moments = deque[Moment](maxlen=MAX_MOMENTS)
        self._answering_drones = frozenset[str]()  # of a hive, in the last sample
        self._orders = 0  # the number of commands given by pages

    async def sample(self) -> CrawlSample:
        """Return a sample that is not older than MAX_SAMPLE_AGE."""
        sample: CrawlSample = await self.shared_result("sample", self._take_sample, MAX_SAMPLE_AGE)
        return sample

    async def _take_sample(self) -> CrawlSample:
        """Take a sample, and add its moment to the last ones."""
        if not self._moments and not self.crawl.drones:
            self._moments.extend(await self.run(lambda: recent_moments(self.crawl.jobdir)))
        sample: CrawlSample = await self.run(lambda: take_sample(self.crawl, self._ask))
        drones = frozenset(name for name, drone in sample.drones.items() if drone.answers)
        if drones != self._answering_drones:
            # The sums are of other drones now: the difference to earlier ones would be no rate.
            self._answering_drones = drones
            self._moments.clear()
        moment_now = moment_of_sample(sample) if sample.answers else None
        if moment_now is not None:
            self._moments.append(moment_now)
        return sample

    def moments(self) -> list[Moment]:
        """Return the moments of the last minutes, by samples or by the crawl's history."""
        return [*self._moments]

    async def shared_answer(self, key: Hashable, call: Callable[[], Any]) -> Any:
        """Return the result of `call`, which runs in a thread, or raise its error.

        All calls with the same key within MAX_ANSWER_AGE seconds share the result.
        """
        return await self.shared_result(key, lambda: self.run(call), MAX_ANSWER_AGE)

    async def shared_result(self, key: Hashable, call: Call, max_age: float) -> Any:
        """Return the result of `call`, or that of an earlier call with the same key.

        An earlier call counts if it began at most `max_age` seconds ago, or is not done. Errors are
        shared too.
        """
        while True:
            orders = self._orders
            begun, task = self._answers.get(key, (0.0, None))
            if task is None or (task.done() and time.monotonic() - begun > max_age):
                task = self._begin_call(key, call)
            # Shielded: a page that is closed must not take the answer from the others.
            result = await asyncio.shield(task)
            # A command that was given meanwhile may have changed what the result tells.
            if orders == self._orders:
                return result

    def _begin_call(self, key: Hashable, call: Call) -> asyncio.Task[Any]:
        """Begin a call, and forget the oldest answers beyond MAX_KEPT_ANSWERS."""
        done = [name for name, (_, task) in self._answers.items() if task.done()]
        for name in done[: max(len(self._answers) - MAX_KEPT_ANSWERS, 0)]:
            del self._answers[name]
        task = asyncio.get_running_loop().create_task(call())
        task.add_done_callback(_ignore_error)
        self._answers[key] = time.monotonic(), task
        return task

    async def report(self) -> Mapping[str, Html]:
        """Return the report's sections as of a checkpoint, which are read again now and then."""
        task = self._report_reading
        if task is None or (task.done() and time.monotonic() >= self._next_report_at):
            task = asyncio.get_running_loop().create_task(self._read_report())
            task.add_done_callback(_ignore_error)
            self._report_reading = task
        # The report of a large crawl takes longer: one of the page's next updates has it.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), MAX_REPORT_WAIT)
        return self._report.sections

    async def _read_report(self) -> None:
        begun = time.monotonic()
        try:
            await self.run(self._report.read)
        finally:
            ended = time.monotonic()
            took = ended - begun
            self._next_report_at = ended + max(REPORT_AGE_PER_SECOND * took, MIN_REPORT_AGE)

    def forget(self) -> None:
        """Drop all answers, because a command may have changed what they tell."""
        self._answers.clear()
        self._orders += 1

    async def order(self, name: str, *words: str, **more: bytes) -> Any:
        """Give a command, and return its answer. Raise CommandError or NotRunning."""
        try:
            return await self.run(lambda: self._ask(self.crawl.jobdir, name, *words, **more))
        finally:
            self.forget()

    async def add_seeds(self, written: bytes) -> Any:
        """Give a crawl or a hive seeds, and return the answer. Raise CommandError or NotRunning.

        A crawl gets a file of its own with the seeds. A hive chooses a place where all its drones
        can read them.
        """
        jobdir = self.crawl.jobdir
        if self.crawl.drones:
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
        """Return the result of `call`, which runs in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)


def _ignore_error(task: asyncio.Task[Any]) -> None:
    """Mark the error of a task as seen, so that asyncio logs none if no page waits for it."""
    if not task.cancelled():
        task.exception()
