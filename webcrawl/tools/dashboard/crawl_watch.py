"""Looks at crawls while somebody watches: one loop for each crawl, however many pages show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawl_past import Past, of_hive
from webcrawl.tools.dashboard.crawl_states import Ask, Known, Sample, look, since_saved

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
        """Waits for the first look after the one of this number."""
        self._watchers += 1
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._keep_looking())
        try:
            async with self._seen:
                await self._seen.wait_for(lambda: self._number > number)
            assert self._sample is not None  # noqa: S101 - a look has a number
            return self._number, self._sample
        finally:
            self._watchers -= 1

    async def _keep_looking(self) -> None:
        """Until nobody has waited for the last look: those who watch wait for each."""
        idle = 0
        while idle < 3:
            await self.sample()
            idle = 0 if self._watchers else idle + 1
            async with self._seen:
                self._seen.notify_all()
            await asyncio.sleep(INTERVAL)
        self._loop = None

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop


def _heard(task: asyncio.Task[Any]) -> None:
    """An error is the business of whoever waits for the answer, even if nobody does any more."""
    if not task.cancelled():
        task.exception()
