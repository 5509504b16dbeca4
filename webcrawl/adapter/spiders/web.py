"""The spider `web`. The crawl itself decides what to fetch, and makes the pages."""

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
from webcrawl.store.jobdir.stats_file import NO_SEEDS

logger = logging.getLogger(__name__)

# No middlewares, because the crawl itself handles redirects, retries, robots.txt, depth and
# duplicates. A page passes twice as fast without them.
SETTINGS: dict[str, Any] = {
    "SPIDER_MIDDLEWARES_BASE": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    # Otherwise Scrapy reads the source of `parse` for each page
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
}
EXPECTED_LINKS = "PageLinks, such as those of page.links"
LANGUAGE_PRIORITIZER = "webcrawl.frontier.prioritizers.language.ByLanguage"
PAGES_MIDDLEWARE = "webcrawl.adapter.spiders.web.PagesMiddleware"
CALLBACK_SETTINGS = {
    "SPIDER_MIDDLEWARES_BASE": {**default_settings.SPIDER_MIDDLEWARES_BASE, PAGES_MIDDLEWARE: 1000}
}


class WebSpider(Spider):
    """scrapy crawl web -a seeds=SRC [-a scope=any|seeds|domain|host] [-a limit=N] [-a
    since=JOBDIR_CDXJ_OR_SERVER] [-a follow=0] [-a languages=sl,hr].

    A subclass may override `links_to_follow`, and have a `parse` and other callbacks
    (docs/spiders.md).
    """

    name = "web"
    makes_pages = True
    # A subclass has callbacks, which get Scrapy's full responses
    has_callbacks: ClassVar[bool] = False
    # A subclass has its own `parse_all`, which gets bare responses
    has_parse_all: ClassVar[bool] = False
    # A subclass has its own `links_to_follow`, for which the texts of links are read too
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
        """Set the spider's settings here, because a subclass replaces `custom_settings` as a whole."""
        settings.setdict(
            SETTINGS | CALLBACK_SETTINGS if cls.has_callbacks else SETTINGS, priority="spider"
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
            crawler.settings.set("FRONTIER_PRIORITIZER", LANGUAGE_PRIORITIZER, priority="spider")
        return super().from_crawler(crawler, *args, **kwargs)

    @classmethod
    def known_arguments(cls) -> list[str]:
        """Return the allowed names of `-a`: parameters of constructors, and plain attributes of subclasses."""
        names: dict[str, None] = {}
        for kind in reversed(cls.__mro__):
            if kind not in Spider.__mro__:
                names |= dict.fromkeys(_parameter_names(vars(kind).get("__init__")))
            if kind not in WebSpider.__mro__:
                names |= dict.fromkeys(_plain_attribute_names(kind))
        return list(names)

    @classmethod
    def frontier_of(cls, arguments: Mapping[str, str]) -> OwnFrontier | None:
        """Return a frontier of the spider's own, or None for that of FRONTIER.

        `arguments` are those of `-a`. Raise RulesError if one is wrong.
        """
        del arguments
        return None

    @classmethod
    def needs_seeds(cls) -> bool:
        """Return whether the crawl can begin only from the argument `seeds`."""
        # A subclass's own code may set `start_urls`, or yield requests
        has_own_constructor = cls.__init__ is not WebSpider.__init__
        has_own_start = cls.start is not WebSpider.start
        has_own_maker = cls.from_crawler.__func__ is not WebSpider.from_crawler.__func__  # type: ignore[attr-defined]
        if has_own_constructor or has_own_start or has_own_maker:
            return False
        return not getattr(cls, "start_urls", None)

    async def start(self) -> AsyncIterator[Request]:
        """Yield the `start_urls` of a subclass. The crawl reads the seeds itself.

        Raise CloseSpider if there is nothing to crawl.
        """
        # Raises with another scheduler, which would fetch nothing without saying so
        scheduler = scheduler_of(self.crawler)
        has_work = self.seed_lists or self.start_urls or scheduler.has_pending_requests()
        # A subclass's own `start` may call this one, and yield requests itself
        if not has_work and type(self).start is WebSpider.start:
            logger.critical(
                "%s: nothing to crawl: give it -a seeds=, start_urls, or a start() method",
                self.name,
            )
            raise CloseSpider(NO_SEEDS)
        for url in self.start_urls:
            yield Request(url)

    def links_to_follow(self, page: Page) -> Iterable[PageLink]:
        """Return the links to submit of a page, by default all. Called for each page with status 2xx.

        A subclass may also return links of its own, as PageLink(kind, address). LINK_SOURCES, the
        filters and the seen store are applied to the result.
        """
        return page.links

    @cached_property
    def _scheduler(self) -> FrontierScheduler:
        return scheduler_of(self.crawler)

    @cached_property
    def page_maker(self) -> PageMaking:
        """Return what makes pages of answers, and submits their links."""
        scheduler = self._scheduler
        follow = self._follow_chosen if self.chooses_links else scheduler.visitor.follow
        # A page whose `links_to_follow` raises CloseSpider is left to the next run, because its
        # links would be lost
        return PageMaking(
            scheduler.visitor, follow, scheduler.run.at_hand, scheduler.fail, end_error=CloseSpider
        )

    def _follow_chosen(self, page: Page) -> None:
        if 200 <= page.status < 300 and not page.is_none:
            self._scheduler.visitor.follow(page, self._chosen_links(page))

    def _chosen_links(self, page: Page) -> list[FoundLink]:
        """Return the links that `links_to_follow` chooses.

        Raise TypeError if a result is no link.
        """
        name = f"{class_name(self)}.links_to_follow"
        chosen = self.links_to_follow(page)
        if not isinstance(chosen, Iterable) or isinstance(chosen, str | bytes):
            raise TypeError(f"{name} returned {shown(chosen)}: expected {EXPECTED_LINKS}")
        links = []
        for link in chosen:
            if not isinstance(link, PageLink):
                raise TypeError(
                    f"{name} returned {shown(link)} among its links: expected {EXPECTED_LINKS}"
                )
            links.append(link.found)
        return links

    def parse(self, response: Response) -> Iterable[Any]:
        """Return the page.

        If a subclass overrides this, the page is made and followed all the same.
        """
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
        """Return the page of an answer, and submit its links. Return no page at a second call."""
        trip = trip_of(response.request) if response.request is not None else None
        if trip is None or trip.link is None:
            return []
        # PagesMiddleware calls this again after a callback that has called `super().parse`
        if trip.link.is_prerequisite or trip.visited:
            return []
        (output,) = self.page_maker.pages([trip])
        if isinstance(output, Exception):
            raise output
        return output

    def parse_all(self, responses: Sequence[Response]) -> list[Iterable[Page] | Exception]:
        """Return the pages of all responses at hand.

        All are read before the links of any are submitted.
        """
        return self.page_maker.pages([response.meta[KEY] for response in responses])

    def failed(self, failure: Failure) -> None:
        """Ignore a failed download, which the scheduler books."""


def _has_callbacks(spider: type[WebSpider]) -> bool:
    """Return whether a subclass has a `parse`, or any method that may be a callback.

    A subclass with a `parse_all` makes its own pages, and its other methods do not count.
    """
    members_by_class = [vars(kind) for kind in spider.__mro__ if kind not in WebSpider.__mro__]
    # The nearest class with one of the two decides
    for members in members_by_class:
        if "parse_all" in members:
            return False
        if "parse" in members:
            return True
    inherited_names = set(dir(WebSpider))
    return any(_has_new_method(members, inherited_names) for members in members_by_class)


def _has_new_method(members: Mapping[str, Any], inherited_names: set[str]) -> bool:
    """Return whether one of the members of a class is callable and not inherited."""
    return any(callable(value) and name not in inherited_names for name, value in members.items())


def _parameter_names(constructor: Any) -> list[str]:
    """Return the names of a constructor's parameters that may be given by name."""
    if constructor is None:
        return []
    parameters = [*inspect.signature(constructor).parameters.values()][1:]
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]


def _plain_attribute_names(kind: type) -> list[str]:
    """Return the public class attributes of a subclass that are texts, numbers or None."""
    plain_types = (str, int, float, type(None))
    inherited_names = dir(WebSpider)
    names: list[str] = []
    for name, value in vars(kind).items():
        if name.startswith("_") or name in inherited_names:
            continue
        if isinstance(value, plain_types):
            names.append(name)
    return names


class PagesMiddleware:
    """A spider middleware that yields the page of an answer after the output of its callback.

    It yields no page if the callback has called `super().parse(response)`, and so has the page
    already: the callback may then yield it, changed or not, or leave it out.
    """

    def __init__(self, pages_of: Callable[[Response], Iterable[Page]]) -> None:
        self._pages_of = pages_of

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Only the settings of a WebSpider name this middleware
        spider: Any = crawler.spider
        return cls(spider.pages_of)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            yield output
        for page in self._pages_of(response):
            yield page

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Page]:
        """Yield the page of the answer, and then raise the callback's exception again."""
        yield from self._pages_of(response)
        raise exception
