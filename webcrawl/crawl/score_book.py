"""Takes what was said of each page to whoever wants it: the prioritizer, the counters, the crawl log."""

from __future__ import annotations

from collections import Counter

from webcrawl.base.model import Exchange
from webcrawl.base.scored import Scored
from webcrawl.frontier.prioritizers import Focused, Prioritizer

MILLI = 1000  # sums of scores are kept in whole thousandths, as counters are
NOTE = "score:"


class ScoreBook:
    """Counts `scores/pages`, their sum, and `scores/failed`."""

    def __init__(self, prioritizer: Prioritizer, counters: Counter[str]) -> None:
        self._counters = counters
        self._tell = prioritizer.scored if isinstance(prioritizer, Focused) else None

    def take(self, url: str, exchange: Exchange, scored: Scored, *, is_page: bool) -> None:
        """Books a page once it is there; the links of what is no page are not followed."""
        counters, score = self._counters, scored.score
        if score is not None:
            counters["scores/pages"] += 1
            counters["scores/thousandths"] += round(MILLI * score)
            exchange.notes += (f"{NOTE}{score:.3f}",)
        elif scored.flaw:
            counters["scores/failed"] += 1
        if is_page and self._tell is not None:
            self._tell(url, scored)
