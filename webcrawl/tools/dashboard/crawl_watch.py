"""Looks at crawls while somebody watches: one loop for each crawl, however many pages show it; and at their past."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from webcrawl.store.disk import regular
from webcrawl.store.jobdir.history_line import PATH, Moment, Revisited, at_times, in_order, moment, moment_of, read
from webcrawl.store.jobdir.history_line import PLAIN as COUNTED
from webcrawl.tools.dashboard.crawl_states import Ask, Known, Sample, look, since_saved
from webcrawl.tools.dashboard.log_tails import SeedProgress

ROOM = 8000  # moments of the file; of more, every other one of the older half is left out
LIVE = 1800  # moments that were seen here: an hour, at one in two seconds
SLOTS = 300  # of a hive
SAME = 10.0  # seconds in which drones are looked at
AT_ONCE = 32 << 20  # bytes of a file that are read at most
AHEAD = 60.0  # seconds by which a moment may be later than now: the crawl's machine may have another clock


PLAIN = ("at", *COUNTED)


def live(figures: Mapping[str, Any], at: float) -> Moment | None:
    """The moment that a crawl has just told, if it tells enough."""
    try:
        return moment_of(moment(figures, at))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


class Past:
    """Of one crawl. `read` may run in a thread, one at a time."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / PATH
        self._place = 0
        self._file: list[Moment] = []
        self._live: deque[Moment] = deque(maxlen=LIVE)

    def read(self) -> None:
        """Reads what was appended since the last time; all again if the file was cut back."""
        try:
            with regular(self._path) as file:
                size = file.seek(0, 2)
                if size < self._place:
                    self._place, self._file = 0, []
                self._place = max(self._place, size - AT_ONCE)
                file.seek(self._place)
                data = file.read(AT_ONCE)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._place += len(whole)
        found = [*self._file, *filter(None, map(read, whole.splitlines()))]
        while len(found) > ROOM:
            found[: ROOM // 2] = found[: ROOM // 2 : 2]
        self._file = found

    def add(self, figures: Mapping[str, Any], at: float) -> None:
        """Adds what the crawl has just said."""
        seen = live(figures, at)
        if seen is not None:
            self._live.append(seen)

    def moments(self) -> list[Moment]:
        """By time: those of the file, and between and after them those seen here; without those of a wrong clock."""
        latest = time.time() + AHEAD
        each = ([one for one in some if one.at <= latest] for some in (self._file, self._live))
        return sorted(chain.from_iterable(map(in_order, each)), key=lambda one: one.at)


def of_hive(pasts: Sequence[Past], slots: int = SLOTS) -> list[Moment]:
    """The sums of several, at times of equal distance: each drone writes at times of its own."""
    each = [moments for past in pasts if (moments := past.moments())]
    if not each:
        return []
    first, last = min(one[0].at for one in each), max(one[-1].at for one in each)
    last = min(one[-1].at for one in each if one[-1].at > last - SAME)  # up to where all that run are known
    step = max((last - first) / slots, 1.0)
    times = [first + slot * step for slot in range(int((last - first) / step) + 1)]
    drones = (at_times(moments, times, _between, _broken) for moments in each)
    return [_sum(at, [one for one in now if one is not None]) for at, *now in zip(times, *drones, strict=True)]


def _between(before: Moment, after: Moment, share: float) -> Moment:
    def mixed(one: float, other: float) -> float:
        return one + (other - one) * share

    plain = {name: mixed(getattr(before, name), getattr(after, name)) for name in PLAIN}
    bins = zip_longest(before.milliseconds, after.milliseconds, fillvalue=0.0)
    revisits = before.revisits
    if revisits is not None and after.revisits is not None:
        revisits = Revisited(*map(mixed, revisits, after.revisits))
    return Moment(
        **plain,
        mix=tuple(map(mixed, before.mix, after.mix)),
        milliseconds=tuple(mixed(*one) for one in bins),
        revisits=revisits,
    )


def _broken(before: Moment, after: Moment) -> bool:
    """By a kill."""
    return after.pages < before.pages


def _sum(at: float, moments: Sequence[Moment]) -> Moment:
    plain = {name: sum(getattr(one, name) for one in moments) for name in PLAIN} | {"at": at}
    bins = tuple(map(sum, zip_longest(*(one.milliseconds for one in moments), fillvalue=0.0)))
    mix = tuple(map(sum, zip(*(one.mix for one in moments), strict=True)))
    each = [one.revisits for one in moments if one.revisits is not None]
    return Moment(**plain, mix=mix, milliseconds=bins, revisits=Revisited.together(each) if each else None)


INTERVAL = 2.0  # seconds between two looks
FRESH = 1.0  # a look that is younger is good enough for another page
LASTS = 5.0  # seconds for which an answer to a command that only asks is shown again
MOST_ANSWERS = 50


class Watch:
    """Of one crawl or hive."""

    def __init__(self, known: Known, ask: Ask, executor: Executor) -> None:
        self.known = known
        self._ask, self._executor = ask, executor
        self._pasts = {one.id: Past(one.jobdir) for one in known.crawls}
        self._seeds = SeedProgress([one.jobdir for one in known.crawls])
        self._looking = asyncio.Lock()
        self._seen = asyncio.Condition()
        self._watchers = 0
        self._loop: asyncio.Task[None] | None = None
        self._answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        self._sample: Sample | None = None
        self._moments: list[Moment] = []
        self._looked = 0.0  # when, by time.monotonic
        self._number = 0  # of the look
        self._orders = 0

    async def sample(self) -> Sample:
        """Its state now, or a moment ago."""
        async with self._looking:
            while self._sample is None or time.monotonic() - self._looked > FRESH:
                orders = self._orders
                self._sample, self._moments = await self.run(self._look)
                self._number += 1
                if orders == self._orders:  # else it may be how it was before the last one
                    self._looked = time.monotonic()
                    break
            return self._sample

    def _look(self) -> tuple[Sample, list[Moment]]:
        """In a thread."""
        sample = look(self.known, self._ask)
        for name, past in self._pasts.items():
            past.read()
            one = sample.drones.get(name, sample)
            if one.answers:
                past.add(one.figures, one.at)
        pasts = [*self._pasts.values()]
        moments = pasts[0].moments() if len(pasts) == 1 else of_hive(pasts)
        return since_saved(sample, moments[-1]) if moments and not sample.answers else sample, moments

    def moments(self) -> list[Moment]:
        """Its past, as far as the last look knows it."""
        return self._moments

    async def answer(self, what: Hashable, call: Callable[[], Any]) -> Any:
        """The result of `call` in a thread, for all pages that want the same within some seconds; errors too."""
        kept = self._answers.get(what)
        if kept is None or (kept[1].done() and time.monotonic() - kept[0] > LASTS):
            task = asyncio.get_running_loop().create_task(self.run(call))
            task.add_done_callback(_heard)
            done = [name for name, (_, one) in self._answers.items() if one.done()]
            for name in done[: max(len(self._answers) - MOST_ANSWERS, 0)]:
                del self._answers[name]
            kept = self._answers[what] = time.monotonic(), task
        return await asyncio.shield(kept[1])

    async def seeds(self) -> SeedProgress:
        """What became of the seeds, by the logs as they are now, or were some seconds ago."""
        await self.answer("seeds", self._seeds.read)
        return self._seeds

    def forget(self) -> None:
        """After a command nothing is as it was."""
        self._answers = {name: kept for name, kept in self._answers.items() if not kept[1].done()}
        self._looked = 0.0
        self._orders += 1

    async def order(self, name: str, *words: str, **more: bytes) -> Any:
        """Gives a command."""
        try:
            return await self.run(lambda: self._ask(self.known.jobdir, name, *words, **more))
        finally:
            self.forget()

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of `call`, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    # -- for pages that stay open

    async def next(self, number: int) -> tuple[int, Sample]:
        """Waits for the first look after the one of this number; what it raises is for all who wait."""
        self._watchers += 1
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._keep_looking())
        try:
            async with self._seen:
                await self._seen.wait_for(lambda: self._number > number or self._loop is None)
            if self._number <= number:  # looking has failed
                await self.sample()
            assert self._sample is not None  # noqa: S101 - a look has a number
            return self._number, self._sample
        finally:
            self._watchers -= 1

    async def _keep_looking(self) -> None:
        """Until nobody has waited for the last look: those who watch wait for each."""
        idle = 0
        try:
            while idle < 3:
                await self.sample()
                idle = 0 if self._watchers else idle + 1
                async with self._seen:
                    self._seen.notify_all()
                await asyncio.sleep(INTERVAL)
        finally:
            self._loop = None
            async with self._seen:
                self._seen.notify_all()

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop


def _heard(task: asyncio.Task[Any]) -> None:
    """An error is the business of whoever waits for the answer, even if nobody does any more."""
    if not task.cancelled():
        task.exception()
