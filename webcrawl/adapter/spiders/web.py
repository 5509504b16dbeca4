"""The spider `web`: a thin face on the crawl, which decides what to fetch and what a page means."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import BaseSettings, default_settings
from twisted.python.failure import Failure

from webcrawl.adapter.page_without_crawl import page_and_requests
from webcrawl.adapter.plain_scrapy import PlainScrapy
from webcrawl.adapter.request_trip import KEY, trip_of
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.own_code import class_name, shown
from webcrawl.content.html.link_kinds import FoundLink, PageLink
from webcrawl.content.page import Page
from webcrawl.crawl.ground import OwnFrontier
from webcrawl.crawl.page_making import PageMaking

logger = logging.getLogger(__name__)

# No middleware: redirects, retries, robots.txt, depth and duplicates are the crawl's own, and a
# page passes twice as fast.
SETTINGS: dict[str, Any] = {
    "SPIDER_MIDDLEWARES_BASE": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    # Scrapy would read the source of `parse` for every page anew
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
}
LINKS = "PageLinks, such as those of page.links"
BY_LANGUAGE = "webcrawl.frontier.prioritizers.language.ByLanguage"
PAGES = "webcrawl.adapter.spiders.web.PagesMiddleware"
OF_CALLBACKS = {
    "SPIDER_MIDDLEWARES_BASE": {**default_settings.SPIDER_MIDDLEWARES_BASE, PAGES: 1000}
}


class WebSpider(Spider):
    """scrapy crawl web -a seeds=SRC [-a scope=any|seeds|domain|host] [-a limit=N] [-a
    since=JOBDIR_CDXJ_OR_SERVER] [-a follow=0] [-a languages=sl,hr].

    A subclass may override `links_to_follow`, and have a `parse` and other callbacks
    (docs/spiders.md).
    """

    name = "web"
    makes_pages = True
    # a subclass looks at responses itself: they are Scrapy's in full
    has_callbacks: ClassVar[bool] = False
    # a subclass looks at all responses at hand, which are bare
    has_parse_all: ClassVar[bool] = False
    # a subclass has a `links_to_follow`: the texts of links are read too
    chooses_links: ClassVar[bool] = False

    def __init__(  # scope, follow and languages are from_crawler's
        self,
        seeds: str = "",
        scope: str = "",  # noqa: ARG002
        limit: str = "",
        since: str = "",
        follow: str = "",  # noqa: ARG002
        languages: str = "",  # noqa: ARG002
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.seed_lists = seeds
        self.seed_limit = int(limit) if limit else None
        self.earlier_crawls = since  # their JOBDIRs, index files of archives, or CDX servers

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.has_callbacks = _has_callbacks(cls)
        cls.has_parse_all = cls.parse_all is not WebSpider.parse_all
        cls.chooses_links = cls.links_to_follow is not WebSpider.links_to_follow

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Set these here, for a subclass would replace `custom_settings` as a whole."""
        settings.setdict(
            SETTINGS | OF_CALLBACKS if cls.has_callbacks else SETTINGS, priority="spider"
        )
        super().update_settings(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        if kwargs.get("scope"):
            crawler.settings.set("URL_SCOPE", kwargs["scope"], priority="spider")
        if kwargs.get("follow"):
            crawler.settings.set("URL_FOLLOW", kwargs["follow"], priority="spider")
        if kwargs.get("languages"):
            crawler.settings.set("FOCUS_LANGUAGES", kwargs["languages"], priority="spider")
            crawler.settings.set("FRONTIER_PRIORITIZER", BY_LANGUAGE, priority="spider")
        return super().from_crawler(crawler, *args, **kwargs)

    @classmethod
    def known_arguments(cls) -> list[str]:
        """Return the names for `-a`: of constructors, and a subclass's plain attributes."""
        names: dict[str, None] = {}
        for kind in reversed(cls.__mro__):
            if kind not in Spider.__mro__:
                names |= dict.fromkeys(_parameters(vars(kind).get("__init__")))
            if kind not in WebSpider.__mro__:
                names |= dict.fromkeys(_plain_attributes(kind))
        return list(names)

    @classmethod
    def frontier_of(cls, arguments: Mapping[str, str]) -> OwnFrontier | None:
        """Return the frontier that the crawl has instead of FRONTIER, or None.

        Raise RulesError for a bad argument.
        """
        del arguments
        return None

    @classmethod
    def needs_seeds(cls) -> bool:
        """Return whether nothing but the argument `seeds` can say where the crawl begins."""
        # Code of a subclass may set `start_urls`, or yield requests
        has_own_constructor = cls.__init__ is not WebSpider.__init__
        has_own_start = cls.start is not WebSpider.start
        has_own_maker = cls.from_crawler.__func__ is not WebSpider.from_crawler.__func__  # type: ignore[attr-defined]
        if has_own_constructor or has_own_start or has_own_maker:
            return False
        return not getattr(cls, "start_urls", None)

    async def start(self) -> AsyncIterator[Request]:
        """Yield the `start_urls` of a subclass. The crawl reads the seeds itself."""
        # raises with another scheduler: nothing would be fetched, and no line would say so
        scheduler = scheduler_of(self.crawler)
        nothing = not (self.seed_lists or self.start_urls or scheduler.has_pending_requests())
        # a spider's own `start` may call this one, too
        if nothing and type(self).start is WebSpider.start:
            logger.critical(
                "%s: nothing to crawl: give it -a seeds=, start_urls, or a start() method",
                self.name,
            )
            raise CloseSpider("no_seeds")
        for url in self.start_urls:
            yield Request(url)

    def links_to_follow(self, page: Page) -> Iterable[PageLink]:
        """Return the links of a page to submit; called for each page with a status of 2xx.

        It may return others, too, as PageLink(kind, address). LINK_SOURCES, the filters and the
        seen store have their say afterwards.
        """
        return page.links

    @cached_property
    def _scheduler(self) -> FrontierScheduler:
        return scheduler_of(self.crawler)

    @cached_property
    def making(self) -> PageMaking:
        """Make pages of answers, and follow their links."""
        scheduler = self._scheduler
        follow = self._follow_chosen if self.chooses_links else scheduler.visitor.follow
        # A page whose `links_to_follow` raises CloseSpider is left to the next run: its links would
        # be lost
        return PageMaking(
            scheduler.visitor, follow, scheduler.run.at_hand, scheduler.fail, end_error=CloseSpider
        )

    def _follow_chosen(self, page: Page) -> None:
        if 200 <= page.status < 300 and not page.is_none:
            self._scheduler.visitor.follow(page, self._found(page))

    def _found(self, page: Page) -> list[FoundLink]:
        """Return what `links_to_follow` returns.

        Raise TypeError, with the value, if it gives anything but links.
        """
        name = f"{class_name(self)}.links_to_follow"
        chosen = self.links_to_follow(page)
        if not isinstance(chosen, Iterable) or isinstance(chosen, str | bytes):
            raise TypeError(f"{name} returned {shown(chosen)}: expected {LINKS}")
        found = []
        for link in chosen:
            if not isinstance(link, PageLink):
                raise TypeError(f"{name} returned {shown(link)} among its links: expected {LINKS}")
            found.append(link.found)
        return found

    def parse(self, response: Response) -> Iterable[Any]:
        """Return the page. A subclass may override this: its links are followed all the same."""
        if PlainScrapy in self.settings["ADDONS"]:
            return page_and_requests(
                response, values_of(self.crawler)["LINK_SOURCES"], self.links_to_follow
            )
        if self.has_parse_all:
            (output,) = self.parse_all([response])
            if isinstance(output, Exception):
                raise output
            return output
        return self.pages_of(response)

    def pages_of(self, response: Response) -> Iterable[Page]:
        """Return the page of an answer, on the first call, and follow its links."""
        trip = trip_of(response.request) if response.request is not None else None
        if trip is None or trip.link is None:
            return []
        # The middleware asks again after a callback that has called `super().parse`
        if trip.link.is_prerequisite or trip.visited:
            return []
        (output,) = self.making.pages([trip])
        if isinstance(output, Exception):
            raise output
        return output

    def parse_all(self, responses: Sequence[Response]) -> list[Iterable[Page] | Exception]:
        """Read all pages at hand, then submit the links of each."""
        return self.making.pages([response.meta[KEY] for response in responses])

    def failed(self, failure: Failure) -> None:
        """Ignore a download that failed: the scheduler books it."""


def _has_callbacks(spider: type[WebSpider]) -> bool:
    """Return whether a subclass has a `parse` or possible callbacks.

    With a `parse_all` it makes its own pages.
    """
    own = [vars(kind) for kind in spider.__mro__ if kind not in WebSpider.__mro__]
    for methods in own:
        # The nearest class decides
        if "parse" in methods or "parse_all" in methods:
            return "parse_all" not in methods
    known = set(dir(WebSpider))
    for methods in own:
        for name, value in methods.items():
            if callable(value) and name not in known:
                return True
    return False


def _parameters(constructor: Any) -> list[str]:
    """Return the names that a constructor's caller may give it."""
    if constructor is None:
        return []
    parameters = [*inspect.signature(constructor).parameters.values()][1:]
    return [
        one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]


def _plain_attributes(kind: type) -> list[str]:
    plain = (str, int, float, type(None))
    known = dir(WebSpider)
    names: list[str] = []
    for name, value in vars(kind).items():
        if name.startswith("_") or name in known:
            continue
        if isinstance(value, plain):
            names.append(name)
    return names


class PagesMiddleware:
    """A spider middleware: the page of an answer follows what a callback yields or raises.

    A callback that has called `super().parse(response)` has the page already, and may yield it,
    changed, or not.
    """

    def __init__(self, pages_of: Callable[[Response], Iterable[Page]]) -> None:
        self._pages_of = pages_of

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # A WebSpider has put this middleware in place
        spider: Any = crawler.spider
        return cls(spider.pages_of)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for one in result:
            yield one
        for page in self._pages_of(response):
            yield page

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Page]:
        """Let the exception take its way as before, once the page has left."""
        yield from self._pages_of(response)
        raise exception
