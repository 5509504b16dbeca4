"""Has pages scored before they are processed, for their links (docs/order-and-budgets.md#prefer-good-pages).

A page that waits for its score keeps its download slot, and a checkpoint does not wait for it.
Those that come while the scorer works are its next batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from webcrawl.base.model import Exchange
from webcrawl.base.page_values import UNSCORED, PageScores
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.html.trees import markup
from webcrawl.content.scoring import DIED, ScoredBody, ScoreProcess
from webcrawl.crawl.reading_ahead import Ahead
from webcrawl.crawl.trip import Trip
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

PAGES_PER_BATCH = 32  # pages of a batch
MAX_SCORED_BYTES = 1 << 18  # bytes of a page that the scorer is given
# pages that have no score after a batch without any, twice as many each time
FIRST_REST_PAGES, LONGEST_REST_PAGES = 32, 4096
FLAWS_LOGGED = 5  # flaws that the log has in full


class ScoringAhead:
    """One process, and one batch after the other. A page that cannot be scored goes on without."""

    def __init__(self, before: Ahead, process: ScoreProcess) -> None:
        """`before`: what else is done with an answer first."""
        self._before = before
        # A process, because the scorer is the user's code, and a thread that hangs cannot be ended.
        self._process = process
        self._worker = Worker()  # waits for the process
        self._waiting: list[tuple[Exchange, asyncio.Future[PageScores]]] = []
        self._task: asyncio.Task[None] | None = None
        self._rests = 0
        self._rest = 0
        self._told = 0

    async def begin(self) -> None:
        await self._before.begin()
        try:
            await asyncio.wrap_future(self._worker.submit(self._process.scored, ()))
        except OSError as error:
            raise StoreError(f"SCORER: {error}") from error

    def __call__(self, trip: Trip) -> Awaitable[None] | None:
        """Have an answer's body scored; return what its page must wait for, or None."""
        before, exchange = self._before(trip), trip.exchange
        if trip.link is None or trip.link.is_own:
            return before
        if exchange is None or not is_scored(exchange):
            return before
        if self._rests:
            self._rests -= 1
            exchange.state.scored = UNSCORED
            return before
        scored: asyncio.Future[PageScores] = asyncio.get_running_loop().create_future()
        self._waiting.append((exchange, scored))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return self._both(before, exchange, scored)

    async def _both(
        self, before: Awaitable[None] | None, exchange: Exchange, scored: asyncio.Future[PageScores]
    ) -> None:
        if before is not None:
            await before
        exchange.state.scored = await scored

    async def _work(self) -> None:
        """Score the bodies that wait, some at once, in another process, until none waits."""
        while self._waiting:
            # The crawl may have ended those that are done.
            batch = [one for one in self._waiting[:PAGES_PER_BATCH] if not one[1].done()]
            del self._waiting[:PAGES_PER_BATCH]
            bodies = [
                ScoredBody(one.url, one.content_type, one.body[:MAX_SCORED_BYTES])
                for one, _ in batch
            ]
            try:
                scores = await asyncio.wrap_future(
                    self._worker.submit(self._process.scored, bodies)
                )
            except (OSError, RuntimeError, MemoryError) as error:
                scores = [PageScores(None, flaw=str(error))] * len(batch)
            self._judge(batch, scores)
            for (_, waits), one in zip(batch, scores, strict=True):
                if not waits.done():  # the crawl may have ended
                    waits.set_result(one)
        self._task = None

    def _judge(
        self, batch: list[tuple[Exchange, asyncio.Future[PageScores]]], found: list[PageScores]
    ) -> None:
        """After a batch of failures the next pages are spared the wait for more of them."""
        for (exchange, _), one in zip(batch, found, strict=True):
            if one.flaw and self._told < FLAWS_LOGGED:
                self._told += 1
                last = "; further ones are only counted" if self._told == FLAWS_LOGGED else ""
                logger.warning("No score for %s: %s%s", exchange.url, one.flaw, last)
        have_all_died = bool(found) and all(one.flaw == DIED.flaw for one in found)
        self._rest = (
            min(max(2 * self._rest, FIRST_REST_PAGES), LONGEST_REST_PAGES) if have_all_died else 0
        )
        self._rests = self._rest

    def close(self) -> None:
        self._before.close()
        self._process.kill()
        self._worker.submit(self._process.close)
        self._worker.close()


def is_scored(exchange: Exchange) -> bool:
    """Return whether an answer is a page of text."""
    if not (200 <= exchange.status < 300 and exchange.body):
        return False
    if exchange.content_type.startswith("text/plain"):
        return True
    return bool(markup(exchange.content_type, exchange.body))


def scoring(values: CheckedSettings, before: Ahead) -> ScoringAhead:
    """Return the scoring of these settings; without a SCORER the language gives the scores."""
    return ScoringAhead(before, ScoreProcess(values["SCORER"] or "", values["FOCUS_LANGUAGES"]))
