"""What is known of a URL's score: the page's own, and what links and its site say of one that waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from webcrawl.crawl.rules import prioritizer_of
from webcrawl.crawl.score_book import NOTE
from webcrawl.frontier.popularity import Popularity
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.frontier.state import LEARNT, POPULARITY
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.snapshot import Snapshot

MIB = 1 << 20


class Scores(NamedTuple):
    """`worth` decides when a URL that waits is chosen; the site's mean is of `site_pages` pages."""

    score: float | None
    worth: float | None = None
    site: float | None = None
    site_pages: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"score": self.score, "worth": self.worth, "site": self.site, "site_pages": self.site_pages}


def focus_of(values: Mapping[str, Any], site: Callable[[str], str], snapshot: Snapshot, key: bytes) -> ByFocus | None:
    """The prioritizer that the crawl asks, with what it had learnt by the last checkpoint; None if it is another."""
    prioritizer = prioritizer_of(values, site)
    if not isinstance(prioritizer, ByFocus):
        return None
    table = Popularity(key, values["FRONTIER_MEMORY"] * MIB // LEARNT)
    meta_row.value(snapshot, POPULARITY, table.restore, None)
    prioritizer.learn(table)
    return prioritizer


def scores_of(url: str, lines: Sequence[CrawlLine], focus: ByFocus | None, *, waits: bool) -> Scores | None:
    """`lines`: its ends in the crawl log, of which the last one says the score; `waits`: it is in a queue."""
    notes = lines[-1].annotations if lines else []
    score = next((float(one.removeprefix(NOTE)) for one in notes if one.startswith(NOTE)), None)
    if focus is None:
        return None if score is None else Scores(score)
    mean, pages = focus.history(url)
    return Scores(score, round(focus.worth(url), 4) if waits else None, round(mean, 4), pages)
