"""Takes what was said of each page to the prioritizer, the counters and the crawl log."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from webcrawl.crawl.moments import Feature
from webcrawl.frontier.prioritizers import Focused, Prioritizer

if TYPE_CHECKING:
    from webcrawl.base.page_values import PageScores
    from webcrawl.content.page import Page

MILLI = 1000  # sums of scores are kept in whole thousandths, as counters are
NOTE = "score:"


class ScoreBook(Feature):
    """Counts `scores/pages`, their sum, and `scores/failed`."""

    def __init__(self, prioritizer: Prioritizer, counters: Counter[str]) -> None:
        self._counters = counters
        self._tell = prioritizer.scored if isinstance(prioritizer, Focused) else None

    def on_page(self, page: Page) -> None:
        """Count and note the score of a page, and pass it on unless the answer is no page."""
        exchange = page.exchange
        if exchange is None or exchange.state.scored is None:
            return
        scored = exchange.state.scored
        self._count(scored)
        if scored.score is not None:
            exchange.state.notes += (f"{NOTE}{scored.score:.3f}",)
        if self._tell is not None and page.link is not None and not page.is_none:
            self._tell(page.link.url, scored)

    def _count(self, scored: PageScores) -> None:
        counters = self._counters
        if scored.score is not None:
            counters["scores/pages"] += 1
            counters["scores/thousandths"] += round(MILLI * scored.score)
        elif scored.flaw:
            counters["scores/failed"] += 1
