"""Looks at crawls while somebody watches: one loop for each crawl, however many pages show it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from webcrawl.base.markup import Html
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawl_states import Ask, Known, Sample, look, recent, told
from webcrawl.tools.dashboard.live_report import LiveReport

INTERVAL = 2.0  # seconds between two looks
FRESH = 1.0  # a look that is younger is good enough for another page
LASTS = 5.0  # seconds for which an answer to a command that only asks is shown again
MOST_ANSWERS = 50
MOST_MOMENTS = 100  # some minutes, which is what rates are of
READS = 10.0  # seconds for which a report is shown at least
SHARE = 20  # it is read again when so many times as long as that takes has passed
PATIENCE = 2.0  # seconds for which a page waits for the report


class Watch:
    """Of one crawl or hive."""

    def __init__(self, known: Known, ask: Ask, executor: Executor, defaults: Mapping[str, str] | None = None) -> None:
        self.known = known
        self._ask, self._executor = ask, executor
        self._report = LiveReport(known.jobdir, [one.jobdir for one in known.crawls], defaults or {})
        self._reading: asyncio.Task[None] | None = None
        self._read_again = 0.0  # when, by time.monotonic
        self._looking = asyncio.Lock()
        self._seen = asyncio.Condition()
        self._watchers = 0
        self._loop: asyncio.Task[None] | None = None
        self._answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        self._sample: Sample | None = None
        self._moments = deque[Moment](maxlen=MOST_MOMENTS)
        self._drones = frozenset[str]()  # of a hive, that answered the last time
        self._looked = 0.0  # when, by time.monotonic
        self._number = 0  # of the look
        self._orders = 0

    async def sample(self) -> Sample:
        """Its state now, or a moment ago."""
        async with self._looking:
            while self._sample is None or time.monotonic() - self._looked > FRESH:
                orders = self._orders
                if self._sample is None and not self.known.drones:
                    self._moments = deque(await self.run(lambda: recent(self.known.jobdir)), MOST_MOMENTS)
                self._sample = await self.run(lambda: look(self.known, self._ask))
                self._number += 1
                self._keep(self._sample)
                if orders == self._orders:  # else it may be how it was before the last one
                    self._looked = time.monotonic()
                    break
            return self._sample

    def _keep(self, sample: Sample) -> None:
        """Among the moments, which are all of the same drones: others would seem to have fetched much at once."""
        drones = frozenset(name for name, drone in sample.drones.items() if drone.answers)
        if drones != self._drones:
            self._drones = drones
            self._moments.clear()
        if sample.answers and (seen := told(sample)) is not None:
            self._moments.append(seen)

    def moments(self) -> list[Moment]:
        """Its last minutes, as they were seen here, or as its history has them."""
        return [*self._moments]

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

    async def report(self) -> Mapping[str, Html]:
        """The report's sections as of the last checkpoint; they are read again while pages show them."""
        if self._reading is None or (self._reading.done() and time.monotonic() >= self._read_again):
            self._reading = asyncio.get_running_loop().create_task(self._read_report())
            self._reading.add_done_callback(_heard)
        with suppress(TimeoutError):  # a large crawl takes longer: the page has it in one of its next turns
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
