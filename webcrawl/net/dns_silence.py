"""Notices that no name server answers: then names that cannot be resolved are nobody's fault."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from webcrawl.net.dns_answer import Answer, Failure

logger = logging.getLogger(__name__)

ENOUGH = 8  # unrelated names in a row that got no answer, before names are asked for that had one
GAP = 3.0  # seconds between two such questions while nobody answers
WAIT = 10.0  # seconds until a name is asked for again that was not resolved because of that
GOOD = 4  # names that are remembered because they had an answer
REMIND = 3600.0  # seconds between two lines about it
LATER = frozenset((Failure.TIMEOUT, Failure.SERVER_FAILED, Failure.REFUSED))
WORDS = frozenset((None, Failure.NO_NAME, Failure.NO_ADDRESS))  # of a name server that works


class Silence:
    """Hears every answer, and asks again for names that were resolved before it believes that the servers are away.

    So a crawl with nothing left but names whose own servers are dead still ends.
    """

    def __init__(self, ask: Callable[[str], Awaitable[Answer]], clock: Callable[[], float]) -> None:
        self._ask, self._clock = ask, clock
        self.on = False
        self.on_begin: Callable[[float], None] = _nothing  # called with the time of the last answer
        self.on_end: Callable[[], None] = _over
        self._word_at = 0.0
        self._failed: set[str] = set()  # the last two labels of each name, so that names of one domain are one
        self._good: deque[str] = deque(maxlen=GOOD)
        self._task: asyncio.Task[None] | None = None
        self._next = self._began = self._told = 0.0

    def heard(self, name: str, answer: Answer, begun: float) -> None:
        """The answer to a question that was asked at `begun`."""
        if answer.failure in WORDS:
            self._word_at = self._clock()
            self._failed.clear()
            if answer.failure is None and name not in self._good:
                self._good.append(name)
            if self.on:
                self._end()
        elif answer.failure in LATER and begun > self._word_at:
            self._failed.add(".".join(name.rsplit(".", 2)[-2:]))
            if len(self._failed) >= ENOUGH and self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._watch())

    def may_ask(self) -> bool:
        """True if a name may be asked for. While nobody answers, a known one is, or if there is none, one at a time."""
        if not self.on:
            return True
        if self._good or self._clock() < self._next:
            return False
        self._next = self._clock() + GAP
        return True

    async def close(self) -> None:
        """Asks no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        """Asks for known names until one has an answer."""
        try:
            while len(self._failed) >= ENOUGH:
                if self._good:
                    self._good.rotate()
                    begun = self._clock()
                    self.heard(self._good[0], await self._ask(self._good[0]), begun)
                if len(self._failed) >= ENOUGH:
                    self._begin()
                    await asyncio.sleep(GAP)
        finally:
            self._task = None

    def _begin(self) -> None:
        now = self._clock()
        if not self.on:
            self.on, self._began, self._told = True, now, now
            logger.warning(
                "no name server answers, for %d names in a row: only hosts with known addresses are fetched",
                len(self._failed),
            )
            self.on_begin(self._word_at)
        elif now - self._told >= REMIND:
            self._told = now
            logger.warning("still no answer of a name server after %.0f minutes", (now - self._began) / 60)

    def _end(self) -> None:
        self.on = False
        logger.info("name servers answer again after %.0f seconds", self._clock() - self._began)
        self.on_end()


def _nothing(_: float) -> None:
    pass


def _over() -> None:
    pass
