"""logs/skipped.log: the URLs that were not crawled, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence

from scrapy.crawler import Crawler

from webcrawl.adapter.pipelines.ends import on_end
from webcrawl.adapter.pipelines.output import LogPipeline, is_plain
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.lost_requests import reason_of
from webcrawl.store.jobdir.crawl_line import WITHHELD
from webcrawl.store.jobdir.log_lines import skipped_lines
from webcrawl.urls.url_fingerprint import RecentUrls

REMEMBERED = 1 << 17  # URLs logged lately, 8 bytes each: most pages of a site link to the same ones
NO_URL = "scheme"  # why mailto:, javascript: and their like are no URLs for a crawler: too many to be worth a line


class SkippedPipeline(LogPipeline):
    """No pipeline of pages: it hears of dropped links, of URLs without an answer, and of what is withheld."""

    output, path = "skipped", "logs/skipped.log"

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._lately = RecentUrls(REMEMBERED)

    def open_spider(self) -> None:
        super().open_spider()
        on_end(self._crawler, self._ended)
        if not is_plain(self._crawler):
            scheduler_of(self._crawler).crawl.parts.pipeline.on_dropped = self._dropped

    def _dropped(self, reason: str, urls: Sequence[str], via: str) -> None:
        fresh = self._lately.unknown(urls) if reason != NO_URL else []
        if fresh:
            self._log.write_now(skipped_lines(time.time(), reason, fresh, via))
            self._lately.add(fresh)

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        withheld = exchange is not None and exchange.withheld is not None
        if withheld or (outcome.status < 0 and not link.is_prerequisite):
            reason = WITHHELD if withheld else reason_of(outcome.status).replace(" ", "_")
            self._log.write_now(skipped_lines(outcome.at or time.time(), reason, [link.url], link.via))
