"""Scrapy's scheduler, downloader and spider for `webcrawl process`: pages come from archives.

These are the same as in a crawl, minus the frontier and the clients. Pipelines find everything
there that they would find in a crawl.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.asyncio import call_later
from scrapy.utils.misc import build_from_crawler
from twisted.internet.defer import Deferred

from webcrawl.adapter.download_moments import DownloadMoments
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.driver_steps import PagesThroughScrapy, why_engine
from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.inline_downloads import AwaitedDownloads
from webcrawl.adapter.request_trip import attach_trip, trip_of
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import is_given, unknown
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Link
from webcrawl.base.outputs import ONLY_FETCHED, PIPELINES
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.base.settings.setting_kinds import words
from webcrawl.crawl.archived_pages import ArchivedPages, lost_of
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.checks import SettingError, whole_bodies
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.driver import Driver, PageOrError
from webcrawl.crawl.ground import ALONE, Surroundings
from webcrawl.crawl.last_run import share_of
from webcrawl.crawl.page_end import PageEnd
from webcrawl.crawl.reading_ahead import Ahead, ReadingAhead, pdf_process
from webcrawl.crawl.rereading import Rereading
from webcrawl.crawl.trip import PAGE, Trip
from webcrawl.net.reading_limits import BODY_ROOM, Bandwidth
from webcrawl.net.thread_start import start_threads
from webcrawl.record.shards import SHARD_KEY, Shard
from webcrawl.urls.exclusion_rules import Forgotten

logger = logging.getLogger(__name__)

# of a setting: Scrapy sets those of the command line once more
ABOVE = SETTINGS_PRIORITIES["cmdline"] + 1
STAT = "process/lost"  # in Scrapy's stats: how much could not be read, over all runs
AT_ONCE = 100  # pages under way: as many as a crawl has by default
COMPONENTS: dict[str, Any] = {
    "DOWNLOADER_MIDDLEWARES": {},  # they are for what is fetched
    "SCHEDULER": "webcrawl.adapter.archive_reading.RereadingScheduler",
    "DOWNLOADER": "webcrawl.adapter.archive_reading.RereadingDownloader",
}
EXTENSIONS = {
    "webcrawl.adapter.extensions.progress.Progress": None,
    "webcrawl.adapter.extensions.bound.Bound": None,
    "webcrawl.adapter.extensions.summary.Summary": None,
    "webcrawl.adapter.extensions.history.History": None,
    "webcrawl.adapter.extensions.summary.Identity": None,
    "webcrawl.adapter.extensions.redis_seeds.RedisSeeds": None,
    "webcrawl.adapter.extensions.control.Control": None,
    "webcrawl.adapter.extensions.process_progress.RereadingProgress": 400,
    "webcrawl.adapter.extensions.process_progress.RereadingSummary": 415,
}


class RereadingScheduler(FrontierScheduler):
    """Hands out the answers of the archives in their order.

    Every checkpoint has the place that it has come to.
    """

    AFTER_KILL = "if the run is killed, they are processed again"
    AT_END = "the next run processes them"
    pages: ArchivedPages
    _has_begun = False

    def _begin(self, spider: Spider) -> Ahead | None:
        values = values_of(self.crawler)
        downloader = downloader_of(self.crawler)
        for line in unknown(self.crawler.settings, spider):
            logger.warning("%s", line)
        check_outputs(values)
        start_threads()
        self._watch()
        self._barrier = downloader.barrier
        self.run.stops.callback(downloader.inline.close)
        # nothing is fetched, again or at all
        values = with_values(values, {"REVISIT_POLICY": NONE, "RENDER": "off"})
        if not is_given(self.crawler.settings, "DOWNLOAD_TRUNCATE"):
            # All that the crawl has kept is read
            values = with_values(values, whole_bodies(values))
        shard: Shard | None = getattr(spider, "shard", None)
        self.run.open(
            *assemble(
                values,
                Surroundings(key=SHARD_KEY) if shard is not None else ALONE,
                spider=spider.name,
                arguments=share_of(shard),
                kind=Rereading,
            )
        )
        robots = RobotsRequests(self.visitor, self.fail, pages=False)
        self._booking = PageEnd(
            self.crawl,
            self.visitor,
            robots,
            self.run.archiving,
            downloader.barrier,
            lambda: downloader.inline.cut_short,
            Bandwidth(),
            self.fail,
        )
        # No links are followed, so none are read of PDFs
        pdfs = pdf_process({**values, "LINK_SOURCES": ()})
        ahead = None
        if pdfs is not None:
            ahead = ReadingAhead(self.visitor, pdfs)
            downloader.moments.ahead.append(ahead)
            downloader.on_lack = self.fail
            self.run.ends.callback(ahead.close)
        files = getattr(spider, "archive_files", ())
        forgotten = getattr(spider, "forgotten", Forgotten())
        self.pages = ArchivedPages(
            self.crawl,
            files,
            forgotten,
            values["DOWNLOAD_TRUNCATE"],
            downloader.barrier,
            shard,
            self.visitor.visit,
        )
        self._has_begun = True
        self.run.behind.append(lambda: bool(self.pages.unfinished))
        self.keeping.open(self.crawl, downloader.barrier, self._may_be_stuck)
        self._install(self.ended)
        self._may_drive = partial(self._own_loop_over, downloader)
        self.keeping.watch()
        return ahead

    def close(self, reason: str) -> Deferred[None]:
        return super().close(reason).addBoth(self._last)

    def _last(self, result: Any) -> Any:
        if self._has_begun:
            self.pages.close()
            if self.crawler.stats is not None:
                self.crawler.stats.set_value(STAT, sum(lost_of(self.crawl.stats()).values()))
        return result

    def has_pending_requests(self) -> bool:
        return not self.pages.is_over

    def enqueue_request(self, request: Request) -> bool:
        """Drop a request, with Scrapy's signal for that: nothing is fetched."""
        del request
        return False

    def _own_loop_over(self, downloader: FrontierDownloader) -> Driver | None:
        engine = self.waking.engine
        if engine is None or not isinstance(downloader, RereadingDownloader):
            return None
        if why_engine(self.crawler):
            return None
        return self._begin_loop(RereadingSteps(self.crawler, engine, self, downloader), downloader)

    def next_request(self) -> Request | None:
        if self._may_drive is not None:
            self.driver = self._may_drive()
            self._may_drive = None
        if self.driver is not None:
            self.driver.look()
            return None
        trip = self.next_trip()
        return request_of(trip, self.crawler.spider) if trip is not None else None

    def next_trip(self) -> Trip | None:
        """Return the next answer of the archives; None if there is none, or during a checkpoint.

        None as well where reading on takes long; it is asked again in the next turn.
        """
        # The place that the checkpoint notes must not be passed meanwhile
        if not self._barrier.is_open:
            return None
        try:
            trip = self.pages.next()
        except Exception as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
            self.fail(error)
            return None
        # Scrapy would ask again after 5 s
        if trip is None and not self.pages.is_over:
            call_later(0, self.wake)
        return trip

    @property
    def unfinished(self) -> int:
        """Return the number of pages that another run of the same command processes."""
        return len(self.pages.unfinished)

    def ended(self, trip: Trip) -> None:
        """Note that a page is over."""
        self.pages.end(trip)
        self._booking.finished(trip)

    async def checkpoint(self, *, last: bool = False) -> None:
        try:
            await super().checkpoint(last=last)
        finally:
            # Nothing was handed out meanwhile
            self.wake()


class RereadingDownloader(FrontierDownloader):
    """Gives the answers that archives have; it has no client.

    What the archives gave is there already; any other request is refused.
    """

    def __init__(self, crawler: Crawler) -> None:  # not its base's, which makes the clients
        self.crawler = crawler
        self.active: set[Request | Trip] = set()
        self.total_concurrency = min(values_of(crawler)["CONCURRENT_REQUESTS"] or AT_ONCE, AT_ONCE)
        self.middleware = build_from_crawler(DownloaderMiddlewareManager, crawler)
        # The place in the archives is behind these pages
        self.barrier = Barrier(holds_ready=False)
        self.moments = DownloadMoments()
        self.inline = AwaitedDownloads(
            _refused, self.middleware.download_async, self.barrier, self.active, 0
        )

    async def _fetch(self, request: Request) -> Response | Request:
        trip = trip_of(request)
        if trip is None:
            raise _refusal(request)
        PAGE.set(trip)
        return await self.through(request)

    def needs_backout(self) -> bool:
        """Return whether too much is unfinished: a checkpoint waits for it, and memory holds it."""
        inside = self.barrier.inside
        if len(inside) >= self.total_concurrency:
            return True
        return (
            sum(len(trip.exchange.body) for trip in inside if trip.exchange is not None)
            >= BODY_ROOM
        )

    def close(self) -> None:
        """Do nothing: no client is open."""

    def abandon(self) -> None:
        """Do nothing: no download is under way that could be cut short."""

    async def download(self, request: Request) -> Response:
        trip = trip_of(request)
        if trip is None or trip.exchange is None:
            raise _refusal(request)
        await self.read_first(trip)
        return Response(request.url, trip.exchange.status, body=trip.exchange.body, request=request)

    async def read_first(self, trip: Trip) -> None:
        """Read what a page needs before it is made, such as the text of a PDF."""
        try:
            for ahead in self.moments.ahead:
                if (reading := ahead(trip)) is not None:
                    await reading
        except OSError as error:
            self.on_lack(error)
            raise


class RereadingSteps(PagesThroughScrapy):
    """The steps of a crawl over archives: nothing is fetched."""

    def __init__(
        self,
        crawler: Crawler,
        engine: EngineHandle,
        scheduler: RereadingScheduler,
        downloader: RereadingDownloader,
    ) -> None:
        super().__init__(crawler, engine, scheduler.ended, scheduler.fail)
        self._downloader = downloader
        self.take = scheduler.next_trip

    def may_fetch(self) -> bool:
        engine = self._engine
        return engine.running and not engine.paused and not self._downloader.needs_backout()

    async def fetch(self, trip: Trip) -> bool:
        await self._downloader.read_first(trip)
        return True

    def hear(self, trip: Trip) -> PageOrError:
        return self.visit([trip])[0]

    def request(self, link: Link, trip: Trip) -> Request:
        del link
        return request_of(trip, self._spider)


def request_of(trip: Trip, spider: Spider | None) -> Request:
    """Return a request for an answer in an archive: signals and errors carry one."""
    request = Request(
        trip.url, errback=getattr(spider, "failed", None), meta={"verbatim_url": True}
    )
    return attach_trip(request, trip)


class RereadingSpider(WebSpider):
    """Makes the pages, as `web` does, and follows nothing. `files`: the archives, in their order.

    Of what is `forgotten` no page is made, nor of files of other shards.
    """

    name = "process"

    def __init__(
        self,
        files: Sequence[Path] = (),
        forgotten: Forgotten | None = None,
        shard: Shard | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.archive_files = files
        self.shard = shard
        self.forgotten = forgotten or Forgotten()

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        settings.setdict(COMPONENTS, priority=ABOVE)
        settings.set("EXTENSIONS", settings.getdict("EXTENSIONS") | EXTENSIONS, priority=ABOVE)
        settings.set("OUTPUTS", own_outputs(settings), priority=ABOVE)

    async def start(self) -> AsyncIterator[Request]:
        """Yield nothing: the scheduler has all there is."""
        return
        yield


def own_outputs(settings: BaseSettings) -> list[str]:
    """Return the outputs that need no crawl. An impossible value stays: the check names it."""
    try:
        named = words(settings.get("OUTPUTS") or "")
    except ValueError:
        return [str(settings["OUTPUTS"])]
    return [name for name in named if name.lower() not in ONLY_FETCHED]


def check_outputs(values: CheckedSettings) -> None:
    """Raise SettingError if ITEM_PIPELINES names a pipeline that only a crawl can feed."""
    wrong = ONLY_FETCHED & set(values["OUTPUTS"])
    if wrong:
        pipeline = PIPELINES[min(wrong)][0]
        raise SettingError(
            "ITEM_PIPELINES",
            pipeline,
            "pipelines that work without a crawl; this one writes only what is being fetched",
        )


def _refusal(request: Request) -> IgnoreRequest:
    return IgnoreRequest(f"{request.url}: nothing is fetched while archives are processed")


async def _refused(request: Request, trip: Trip) -> Response:
    del trip
    raise _refusal(request)
