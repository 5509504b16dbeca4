"""robots.txt as a Scrapy request of the scheduler's own, whatever the spider is."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from webcrawl.crawl.visitor import Visitor
from webcrawl.items import Page
from webcrawl.model import Link

ALONE = {"dont_redirect": True, "dont_retry": True, "dont_cache": True, "handle_httpstatus_all": True}


class RobotsRequests:
    """Its answers are booked here; a page of it goes to the pipelines where the spider makes pages too."""

    def __init__(self, visitor: Visitor, *, pages: bool) -> None:
        self._visitor, self._pages = visitor, pages

    def request(self, link: Link) -> Request:
        meta = {**ALONE, "link": link, "verbatim_url": True}
        return Request(link.url, callback=self.answered, errback=self.failed, dont_filter=True, meta=meta)

    def answered(self, response: Response) -> Iterator[Page]:
        meta = response.meta
        page = self._visitor.visit(meta["link"], meta["exchange"])
        if self._pages:
            yield page

    def failed(self, failure: Failure) -> None:
        meta = failure.request.meta  # type: ignore[attr-defined]
        self._visitor.robots_failed(meta["link"], meta["outcome"])
