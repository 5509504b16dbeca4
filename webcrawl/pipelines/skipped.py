"""logs/skipped.log: the URLs that were not crawled, and why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl.refusals import reason_of
from webcrawl.logs.skip_line import lines
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.pipelines.ends import on_end
from webcrawl.pipelines.output import PipelineOutput, is_plain, open_output
from webcrawl.urls.lately import Lately

REMEMBERED = 1 << 17  # URLs logged lately, 8 bytes each: most pages of a site link to the same ones
NO_URL = "scheme"  # why mailto:, javascript: and their like are no URLs for a crawler: too many to be worth a line


class SkippedPipeline:
    """No pipeline of pages: it hears of what the filters drop, and of URLs that end without an answer."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._lately = Lately(REMEMBERED)
        self._output: PipelineOutput | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if "skipped" not in values_of(crawler)["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler)

    def open_spider(self) -> None:
        self._output = open_output(self._crawler, "logs/skipped.log")
        on_end(self._crawler, self._ended)
        if not is_plain(self._crawler):
            scheduler_of(self._crawler).crawl.hear_dropped(self._dropped)

    def _dropped(self, reason: str, urls: Sequence[str], via: str) -> None:
        fresh = self._lately.unknown(urls) if reason != NO_URL else []
        if fresh and self._output is not None:
            self._output.write_now(lines(time.time(), reason, fresh, via))
            self._lately.add(fresh)

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        del exchange
        if outcome.status < 0 and not link.path.endswith("P") and self._output is not None:
            reason = reason_of(outcome.status).replace(" ", "_")
            self._output.write_now(lines(outcome.at or time.time(), reason, [link.url], link.via))
