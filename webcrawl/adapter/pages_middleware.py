"""The pages of a WebSpider with callbacks of its own: each answer becomes one, whatever the callbacks do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.http import Response

from webcrawl.content.page import Page


class PagesMiddleware:
    """A spider middleware: what a callback yields, or raises, is followed by the page of the answer.

    A callback that has called `super().parse(response)` has the page already, and may yield it, changed, or not.
    """

    def __init__(self, pages_of: Callable[[Response], Iterable[Page]]) -> None:
        self._pages_of = pages_of

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider  # a WebSpider: it has put this middleware in place
        return cls(spider.pages_of)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for one in result:
            yield one
        for page in self._pages_of(response):
            yield page

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Page]:
        """The exception takes its way as before, once the page has left."""
        yield from self._pages_of(response)
        raise exception
