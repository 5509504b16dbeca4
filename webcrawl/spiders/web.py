"""The spider `web`: a thin face on the crawl, which decides what to fetch and what a page means."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import cached_property
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.trip import KEY, Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.items import Page
from webcrawl.store.errors import StoreError


class WebSpider(Spider):
    """scrapy crawl web -a seeds=SRC [-a scope=any|seeds|domain|host] [-a limit=N]."""

    name = "web"
    makes_pages = True
    # No middleware: redirects, retries, robots.txt, depth and duplicates are the crawl's own, and a page passes twice
    # as fast (docs/performance.md).
    custom_settings = {  # noqa: RUF012 - as Scrapy has it
        "SPIDER_MIDDLEWARES_BASE": {},
        "DOWNLOADER_MIDDLEWARES_BASE": {},
        "WARN_ON_GENERATOR_RETURN_VALUE": False,  # Scrapy would read the source of `parse` for every page anew
    }

    def __init__(self, seeds: str = "", scope: str = "", limit: str = "", **kwargs: Any) -> None:  # noqa: ARG002 - scope is from_crawler's
        super().__init__(**kwargs)
        self.seed_lists = seeds
        self.seed_limit = int(limit) if limit else None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        if kwargs.get("scope"):
            crawler.settings.set("URL_SCOPE", kwargs["scope"], priority="spider")
        return super().from_crawler(crawler, *args, **kwargs)

    async def start(self) -> AsyncIterator[Request]:
        """The crawl reads the seeds itself, a few at a time."""
        return
        yield

    @cached_property
    def _scheduler(self) -> FrontierScheduler:
        return scheduler_of(self.crawler)

    def parse(self, response: Response) -> list[Page]:
        (output,) = self.parse_all([response])
        if isinstance(output, Exception):
            raise output
        return output

    def parse_all(self, responses: Sequence[Response]) -> list[list[Page] | Exception]:
        """All pages at hand: reads each, then submits the links of each."""
        visitor = self._scheduler.visitor
        trips: list[Trip] = [response.meta[KEY] for response in responses]
        pages = [_tried(_visit, visitor, trip) for trip in trips]
        return [self._output(page, _tried(visitor.follow, page) if isinstance(page, Page) else page) for page in pages]

    def _output(self, page: Any, wrong: Exception | None) -> list[Page] | Exception:
        if wrong is None:
            return [page]
        if isinstance(wrong, (StoreError, OSError, MemoryError)):  # a lack of ours: the page is not done
            self._scheduler.fail(wrong)
            return []
        return wrong

    def failed(self, failure: Failure) -> None:
        """A download that failed: the scheduler books it."""


def _visit(visitor: Visitor, trip: Trip) -> Page:
    return visitor.visit(*trip.answer())


def _tried(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - it ends this page; the others of its batch go on
        return error
