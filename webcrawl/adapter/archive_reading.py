"""Scrapy's scheduler, downloader and spider for `webcrawl process`: pages come from archives.

They are those of a crawl without the frontier and the clients, so a pipeline finds what it would
find in a crawl.
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

from webcrawl.adapter.downloader import DownloadHooks, FrontierDownloader, downloader_of
from webcrawl.adapter.driver_steps import ScraperSteps, reason_for_engine
from webcrawl.adapter.fastpath.engine import EngineHandle
from webcrawl.adapter.inline_downloads import AwaitedDownloads
from webcrawl.adapter.request_trip import attach_trip, trip_of
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import is_given, unknown_setting_warnings
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

# A priority of settings: Scrapy applies the command line once more after the spider
ABOVE_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"] + 1
LOST_STAT = "process/lost"  # in Scrapy's stats: records that could not be read, over all runs
MAX_PAGES_UNDER_WAY = 100  # as many as a crawl has by default
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

    Each checkpoint notes the place in the archives that reading has reached.
    """

    AFTER_KILL = "if the run is killed, they are processed again"
    AT_END = "the next run processes them"
    pages: ArchivedPages
    _has_begun = False

    def _begin(self, spider: Spider) -> Ahead | None:
        """Open the crawl without a network; return what reads PDFs ahead, or None if nothing does."""
        values = values_of(self.crawler)
        downloader = downloader_of(self.crawler)
        for line in unknown_setting_warnings(self.crawler.settings, spider):
            logger.warning("%s", line)
        check_outputs(values)
        start_threads()
        self._watch_for_standstill()
        self._barrier = downloader.barrier
        self.run.stops.callback(downloader.inline.close)
        # Nothing is fetched, so nothing is fetched again or rendered
        values = with_values(values, {"REVISIT_POLICY": NONE, "RENDER": "off"})
        if not is_given(self.crawler.settings, "DOWNLOAD_TRUNCATE"):
            # The crawl has truncated bodies already: what it has kept is read in full
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
            robots=robots,
            archiving=self.run.archiving,
            barrier=downloader.barrier,
            bandwidth=Bandwidth(),
            has_cancelled_awaited=lambda: downloader.inline.has_cancelled_awaited,
            fail=self.fail,
        )
        # No links are followed, so none are read of PDFs
        pdfs = pdf_process({**values, "LINK_SOURCES": ()})
        ahead = None
        if pdfs is not None:
            ahead = ReadingAhead(self.visitor, pdfs)
            downloader.hooks.readers_ahead.append(ahead)
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
        self.keeping.open(self.crawl, downloader.barrier, self._has_awaited_downloads)
        self._install_in_engine(self.ended)
        self._make_driver = partial(self._loop_over_archives, downloader)
        self.keeping.watch()
        return ahead

    def close(self, reason: str) -> Deferred[None]:
        return super().close(reason).addBoth(self._close_archives)

    def _close_archives(self, result: Any) -> Any:
        """Close the archives, and put the number of lost records into Scrapy's stats."""
        if self._has_begun:
            self.pages.close()
            self.crawler.stats.set_value(LOST_STAT, sum(lost_of(self.crawl.stats()).values()))
        return result

    def has_pending_requests(self) -> bool:
        return not self.pages.is_over

    def enqueue_request(self, request: Request) -> bool:
        """Return False: nothing is fetched. Scrapy then sends `request_dropped`."""
        del request
        return False

    def _loop_over_archives(self, downloader: FrontierDownloader) -> Driver | None:
        """Return the crawl's own loop, or None if Scrapy's engine has to take the pages."""
        engine = self.waker.engine
        if engine is None or not isinstance(downloader, RereadingDownloader):
            return None
        if reason_for_engine(self.crawler):
            return None
        return self._begin_loop(RereadingSteps(self.crawler, engine, self, downloader), downloader)

    def next_request(self) -> Request | None:
        """Return the request for the next answer, or None if there is none or the own loop runs."""
        if self._make_driver is not None:
            self.driver = self._make_driver()
            self._make_driver = None
        if self.driver is not None:
            self.driver.look()
            return None
        trip = self.next_trip()
        return request_of(trip, self.crawler.spider) if trip is not None else None

    def next_trip(self) -> Trip | None:
        """Return the next answer of the archives, or None.

        None means that all is read, that a checkpoint is being taken, or that the search for the
        next answer takes long and continues in the next turn of the event loop.
        """
        # Nothing beyond the place that the checkpoint notes may be handed out meanwhile
        if not self._barrier.is_open:
            return None
        try:
            trip = self.pages.next()
        except Exception as error:  # noqa: BLE001 - whatever it is, the step that it interrupts is half done
            self.fail(error)
            return None
        # Scrapy would ask again after 5 s
        if trip is None and not self.pages.is_over:
            call_later(0, self.wake)
        return trip

    @property
    def unfinished(self) -> int:
        """Return the number of pages that are left to the next run of the same command."""
        return len(self.pages.unfinished)

    def ended(self, trip: Trip) -> None:
        """Note that a page is finished, and book it."""
        self.pages.end(trip)
        self._booking.finished(trip)

    async def checkpoint(self, *, last: bool = False) -> None:
        """Take a checkpoint as in a crawl, then have the next answer asked for."""
        try:
            await super().checkpoint(last=last)
        finally:
            # `next_trip` has returned None meanwhile
            self.wake()


class RereadingDownloader(FrontierDownloader):
    """Returns the answers that the scheduler has read from archives, and refuses any other request."""

    def __init__(self, crawler: Crawler) -> None:  # not its base's, which opens the clients
        self.crawler = crawler
        self.active: set[Request | Trip] = set()
        self.tasks = {}
        self.total_concurrency = min(
            values_of(crawler)["CONCURRENT_REQUESTS"] or MAX_PAGES_UNDER_WAY, MAX_PAGES_UNDER_WAY
        )
        self.middleware = build_from_crawler(DownloaderMiddlewareManager, crawler)
        # A checkpoint notes a place in the archives beyond the ready pages, so it waits for them
        self.barrier = Barrier(holds_ready=False)
        self.hooks = DownloadHooks()
        self.inline = AwaitedDownloads(
            _refuse, self.middleware.download_async, self.barrier, self.active, 0
        )

    async def _fetch(self, request: Request) -> Response | Request:
        trip = trip_of(request)
        if trip is None:
            raise _refusal(request)
        PAGE.set(trip)
        return await self.download_with_middlewares(request)

    def needs_backout(self) -> bool:
        """Return whether too many pages are unfinished, or their bodies take too much memory.

        Checkpoints wait for these pages.
        """
        unfinished = self.barrier.inside
        if len(unfinished) >= self.total_concurrency:
            return True
        body_bytes = sum(
            len(trip.exchange.body) for trip in unfinished if trip.exchange is not None
        )
        return body_bytes >= BODY_ROOM

    def close(self) -> None:
        """Do nothing: no client is open."""

    def abandon(self) -> None:
        """Do nothing: no download is under way that could be cancelled."""

    async def download(self, request: Request) -> Response:
        """Return the archived answer. Raise IgnoreRequest for a request without one."""
        trip = trip_of(request)
        if trip is None or trip.exchange is None:
            raise _refusal(request)
        await self.read_ahead(trip)
        return Response(request.url, trip.exchange.status, body=trip.exchange.body, request=request)

    async def read_ahead(self, trip: Trip) -> None:
        """Read what a page needs before it is made, such as the text of a PDF.

        Raise OSError if our machine lacks what reading takes; the run ends then.
        """
        try:
            for reader in self.hooks.readers_ahead:
                reading = reader(trip)
                if reading is not None:
                    await reading
        except OSError as error:
            self.on_lack(error)
            raise


class RereadingSteps(ScraperSteps):
    """The steps of a run over archives: nothing is fetched."""

    def __init__(
        self,
        crawler: Crawler,
        engine: EngineHandle,
        scheduler: RereadingScheduler,
        downloader: RereadingDownloader,
    ) -> None:
        super().__init__(crawler, engine, scheduler.ended, scheduler.fail)
        self._downloader = downloader
        self.next_trip = scheduler.next_trip

    def may_fetch(self) -> bool:
        engine = self._engine
        return engine.running and not engine.paused and not self._downloader.needs_backout()

    async def fetch(self, trip: Trip) -> bool:
        await self._downloader.read_ahead(trip)
        return True

    def visit_own(self, trip: Trip) -> PageOrError:
        return self.visit([trip])[0]

    def request(self, link: Link, trip: Trip) -> Request:
        del link
        return request_of(trip, self._spider)


def request_of(trip: Trip, spider: Spider | None) -> Request:
    """Return a request for an archived answer, which signals and errors carry."""
    request = Request(
        trip.url, errback=getattr(spider, "failed", None), meta={"verbatim_url": True}
    )
    return attach_trip(request, trip)


class RereadingSpider(WebSpider):
    """Makes the pages, as `web` does, and follows no links.

    `files` are the archives in their order. No page is made of what is `forgotten`, nor of files of
    another shard than `shard`.
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
        settings.setdict(COMPONENTS, priority=ABOVE_COMMAND_LINE)
        settings.set(
            "EXTENSIONS", settings.getdict("EXTENSIONS") | EXTENSIONS, priority=ABOVE_COMMAND_LINE
        )
        settings.set("OUTPUTS", own_outputs(settings), priority=ABOVE_COMMAND_LINE)

    async def start(self) -> AsyncIterator[Request]:
        """Yield nothing: the scheduler reads the archives itself."""
        return
        yield


def own_outputs(settings: BaseSettings) -> list[str]:
    """Return the outputs of OUTPUTS that need no crawl.

    An impossible value stays, for the check.
    """
    try:
        names = words(settings.get("OUTPUTS") or "")
    except ValueError:
        return [str(settings["OUTPUTS"])]
    return [name for name in names if name.lower() not in ONLY_FETCHED]


def check_outputs(values: CheckedSettings) -> None:
    """Raise SettingError if ITEM_PIPELINES names a pipeline that only a crawl can feed."""
    unusable = ONLY_FETCHED & set(values["OUTPUTS"])
    if unusable:
        pipeline = PIPELINES[min(unusable)][0]
        raise SettingError(
            "ITEM_PIPELINES",
            pipeline,
            "pipelines that work without a crawl; this one writes only what is being fetched",
        )


def _refusal(request: Request) -> IgnoreRequest:
    return IgnoreRequest(f"{request.url}: nothing is fetched while archives are processed")


async def _refuse(request: Request, trip: Trip) -> Response:
    del trip
    raise _refusal(request)
