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
# pages that are not scored after a batch in which the scorer has died, twice as many each time
FIRST_REST_PAGES, LONGEST_REST_PAGES = 32, 4096
FLAWS_LOGGED = 5  # flaws that the log has in full


class ScoringAhead:
    """Gives batches of pages to the scorer, which is a process, one batch after the other.

    A page that cannot be scored goes on without a score. After a batch for which the scorer has
    died at each page it *rests*: the next pages get none.
    """

    def __init__(self, before: Ahead, process: ScoreProcess) -> None:
        """`before`: what else is done with an answer first."""
        self._before = before
        # A process, because the scorer is the user's code, and a thread that hangs cannot be ended.
        self._process = process
        self._worker = Worker()  # waits for the process
        # answers for the next batch, and where each gets its score
        self._waiting: list[tuple[Exchange, asyncio.Future[PageScores]]] = []
        self._task: asyncio.Task[None] | None = None  # while there are batches
        self._unscored_left = 0  # pages that are still not scored in this rest
        self._rest_pages = 0  # pages of this or the last rest; 0: the last batch was scored
        self._flaws_logged = 0

    async def begin(self) -> None:
        """Start the scorer; raise StoreError if it cannot be started."""
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
        if self._unscored_left:
            self._unscored_left -= 1
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
            # A page that the crawl no longer waits for has its future cancelled.
            batch = [
                (exchange, scored)
                for exchange, scored in self._waiting[:PAGES_PER_BATCH]
                if not scored.done()
            ]
            del self._waiting[:PAGES_PER_BATCH]
            bodies = [
                ScoredBody(exchange.url, exchange.content_type, exchange.body[:MAX_SCORED_BYTES])
                for exchange, _ in batch
            ]
            try:
                scores = await asyncio.wrap_future(
                    self._worker.submit(self._process.scored, bodies)
                )
            except (OSError, RuntimeError, MemoryError) as error:
                scores = [PageScores(None, flaw=str(error))] * len(batch)
            self._note_failures(batch, scores)
            for (_, scored), page_scores in zip(batch, scores, strict=True):
                if not scored.done():  # the crawl may have ended while the batch was scored
                    scored.set_result(page_scores)
        self._task = None

    def _note_failures(
        self, batch: list[tuple[Exchange, asyncio.Future[PageScores]]], scores: list[PageScores]
    ) -> None:
        """Log the first failures; begin a rest if the scorer has died at every page of the batch.

        So the next pages are spared the wait for more of the same.
        """
        for (exchange, _), page_scores in zip(batch, scores, strict=True):
            if page_scores.flaw and self._flaws_logged < FLAWS_LOGGED:
                self._flaws_logged += 1
                is_last = self._flaws_logged == FLAWS_LOGGED
                last = "; further ones are only counted" if is_last else ""
                logger.warning("No score for %s: %s%s", exchange.url, page_scores.flaw, last)
        have_all_died = bool(scores) and all(one.flaw == DIED.flaw for one in scores)
        if have_all_died:
            twice = max(2 * self._rest_pages, FIRST_REST_PAGES)
            self._rest_pages = min(twice, LONGEST_REST_PAGES)
        else:
            self._rest_pages = 0
        self._unscored_left = self._rest_pages

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
