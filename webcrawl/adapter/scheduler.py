"""Scrapy's scheduler: the crawl's frontier behind three methods."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from webcrawl.adapter.answer_withholder import AnswerReader, AnswerWithholder
from webcrawl.adapter.commanded_crawl import heed
from webcrawl.adapter.crawl_end import (
    BROKEN,
    HURRIED,
    EndedBadly,
    RunEnd,
    close_spider,
    has_lost_a_feed,
    hush,
    is_news,
    tell,
)
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.driver_steps import FetchingSteps, why_engine
from webcrawl.adapter.engine_waker import EngineWaker
from webcrawl.adapter.fastpath import install
from webcrawl.adapter.held_values import HeldValues
from webcrawl.adapter.hive_side import HiveSide
from webcrawl.adapter.inline_downloads import OpenCrawl
from webcrawl.adapter.request_counts import RequestCounts, count_retry
from webcrawl.adapter.request_links import CallbackCheck, has_errback
from webcrawl.adapter.request_meta import UnheardMeta
from webcrawl.adapter.request_passage import RequestIntake, RequestSource
from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.user_settings import on_command_line, warnings
from webcrawl.adapter.values import drop_unasked_sitemaps, values_of
from webcrawl.base.errors import CannotStart, lack
from webcrawl.base.model import Link
from webcrawl.base.readable import count, readable
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl import barrier
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.checkpointing import by_turns
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.driver import Driver, Steps
from webcrawl.crawl.fetching import connect, reading_ahead
from webcrawl.crawl.ground import Surroundings
from webcrawl.crawl.inline_turns import Turns
from webcrawl.crawl.last_pages import LastPages, Way, closed, of, waiting_pages
from webcrawl.crawl.page_end import PageEnd
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.periodic import from_thread
from webcrawl.crawl.reading_ahead import Ahead
from webcrawl.crawl.run import Run
from webcrawl.crawl.running_downloads import STOP_GRACE
from webcrawl.crawl.seed_fates import SeedFates
from webcrawl.crawl.slot_sweep import Sweep
from webcrawl.crawl.standstill import Standstill
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.net.thread_start import start_threads
from webcrawl.store.errors import StateLocked, StoreError
from webcrawl.store.jobdir.stats_file import FINISHED
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import is_url, list_paths

logger = logging.getLogger(__name__)

RUNNING: set[Path] = set()  # the JOBDIRs of the crawls of this program


def runs_here(folder: Path) -> bool:
    """Return whether a crawl of this program has this JOBDIR."""
    return folder.absolute() in RUNNING


def in_use_here(folder: object) -> CannotStart:
    """Return the error of a second crawl on a JOBDIR in one program."""
    why = "another crawl in this program is using it; give each crawl a JOBDIR of its own"
    return CannotStart(f"JOBDIR = {folder}: {why}")


class FrontierScheduler:
    """Takes requests in as links and hands them out when their hosts may be asked.

    No method blocks.
    """

    # pages that do not come back
    AFTER_KILL, AT_END = (
        "if the crawl is killed, they are fetched again",
        "the next run fetches them again",
    )
    _intake: RequestIntake
    _giving: RequestSource

    def __init__(self, crawler: Crawler, dupefilter: BaseDupeFilter) -> None:
        self.crawler = crawler
        self.dupefilter = dupefilter
        self.run = Run(partial(close_spider, crawler), crawler.settings.copy_to_dict())
        self.keeping = self.run.keeping
        self.waking = EngineWaker()
        self.hive = HiveSide()
        self.counts = RequestCounts()
        self.still: Standstill | None = None  # once the crawl is open
        self.begun = time.monotonic()
        self.end = RunEnd()
        self.held: HeldValues | None = None  # of a crawl that fetches
        self.was_complete = False  # a former run had left nothing to do
        self.driver: Driver | None = None  # the crawl's own loop, if it can fetch the pages
        # asked once, when everything is open
        self._may_drive: Callable[[], Driver | None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(
            crawler, build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        )

    @property
    def crawl(self) -> Crawl:
        return self.run.crawl

    @property
    def visitor(self) -> Visitor:
        return self.run.visitor

    # -- Scrapy's side

    def open(self, spider: Spider) -> Deferred[None]:
        # Scrapy waits for a Deferred here, and not for a coroutine
        return deferred_from_coro(self._open(spider))

    async def _open(self, spider: Spider) -> None:
        values = values_of(self.crawler)
        try:
            # First: the hive's key and map belong to the state that the crawl is opened with
            await self.hive.enter(self.crawler, values, spider.name)
            ahead = self._begin(spider)
            # A feed of a crawl that was complete is left as it is
            has_answers = self.crawl.parts.counters["answers"] > 0
            self.was_complete = has_answers and not self.has_pending_requests()
            await self._begin_since(getattr(spider, "earlier_crawls", ""))
            if ahead is not None:
                await ahead.begin()
            self.hive.begin(self)
        except StateLocked as error:
            hush(self.crawler)
            if not runs_here(self._folder):
                tell(error)
                raise
            refusal = in_use_here(values["JOBDIR"])
            tell(refusal)
            raise refusal from error
        except BaseException as error:
            hush(self.crawler)
            if isinstance(error, StoreError):
                tell(error)
            raise
        RUNNING.add(self._folder)

    @property
    def _folder(self) -> Path:
        return Path(values_of(self.crawler)["JOBDIR"]).absolute()

    def _begin(self, spider: Spider) -> Ahead | None:
        """Open the crawl and connect it with Scrapy; return what answers have to pass."""
        # A thread that dies at birth, for want of memory, would hang the event loop later
        start_threads()
        self._watch()
        values = values_of(self.crawler)
        downloader = downloader_of(self.crawler)
        for line in warnings(self.crawler.settings, spider):
            logger.warning("%s", line)
        makes_pages = getattr(spider, "makes_pages", False)
        self.run.open(
            *self._assembled(spider, values, downloader.total_concurrency, makes_pages=makes_pages)
        )
        self._connect_network(downloader)
        self.keeping.open(self.crawl, downloader.barrier, self._may_be_stuck)
        self.run.stops.callback(self.waking.timer.stop)
        network = downloader.network
        running = downloader.running
        self.run.stops.callback(
            Sweep(self.crawl, network, running, lambda: downloader.full, self.fail).stop
        )
        robots = RobotsRequests(self.visitor, self.fail, pages=makes_pages)
        end = self._connect_requests(spider, downloader, robots)
        if makes_pages:
            self._may_drive = partial(self._own_loop, downloader, robots, end)
        ahead = self._connect_answers(spider, values, downloader, end, makes_pages=makes_pages)
        self.keeping.watch()
        return ahead

    def _watch(self) -> None:
        """Watch for code that does not return: it is named, and does not hold up the end."""
        self.still = Standstill(asyncio.get_running_loop(), lambda: self.keeping.saved)
        self.crawler.signals.connect(self.still.close, signals.engine_stopped)
        downloader_of(self.crawler).barrier.on_overdue = self._overdue

    def _assembled(
        self, spider: Spider, values: CheckedSettings, slots: int, *, makes_pages: bool
    ) -> tuple[Crawl, Visitor]:
        lists = getattr(spider, "seed_lists", None)
        limit = getattr(spider, "seed_limit", None)
        earlier = getattr(spider, "earlier_crawls", None)
        frontier = getattr(spider, "own_frontier", None)
        # A spider that makes its own requests asks for its own sitemaps
        if not makes_pages or frontier is not None:
            drop_unasked_sitemaps(values)
        return assemble(
            values,
            Surroundings(
                seeds=Seeds(lists, limit, values["URL_MAX_LENGTH"]) if lists else None,
                on_ready=partial(from_thread, asyncio.get_running_loop(), self.wake),
                awaits_ends=not makes_pages,
                wants_refusal=has_errback,
                takes=CallbackCheck(spider).takes,
                fixed=on_command_line(self.crawler.settings),
                member=self.hive.member,
                frontier=frontier,
            ),
            spider=spider.name,
            arguments={"seeds": lists, "limit": limit, "since": earlier},
            slots=slots,
            db=self.hive.db,
        )

    def _connect_network(self, downloader: FrontierDownloader) -> None:
        parts = self.crawl.parts
        connect(downloader.network, parts, self.wake)
        heed(self.crawl, downloader, self.crawler.settings, self.wake)
        downloader.on_lack = self.fail
        downloader.outcomes.uplink = parts.uplink
        downloader.count = parts.counters.update
        downloader.wake = self.wake

    def _connect_requests(
        self, spider: Spider, downloader: FrontierDownloader, robots: RobotsRequests
    ) -> PageEnd:
        """Connect the ways of requests: into the crawl, out of it, through Scrapy, to their end."""
        crawl = self.crawl
        bandwidth = downloader.network.bandwidth
        classes = not self.hive.is_drone
        archiving = self.run.archiving
        unheard = UnheardMeta(self.crawler.settings)
        self.counts.begin(crawl)
        self._intake = RequestIntake(
            crawl.parts,
            spider,
            self.dupefilter,
            unheard,
            self.fail,
            classes=classes,
            counts=self.counts,
        )
        held = self._intake.held
        self.held = held
        self._giving = RequestSource(
            crawl,
            spider,
            robots,
            self.waking,
            bandwidth,
            classes=classes,
            held=held,
            counts=self.counts,
        )
        barrier = downloader.barrier
        inline = downloader.inline
        retried = partial(count_retry, self.crawler.stats)
        end = PageEnd(
            crawl,
            self.visitor,
            robots,
            archiving,
            barrier,
            lambda: inline.cut_short,
            bandwidth,
            self.fail,
            retried,
        )
        self._install(end.finished)
        books = crawl.parts.inline
        per_address = crawl.parts.in_force.values["POLITENESS_PER_IP"]
        turns = Turns(
            books, downloader.in_flight, self.wake, self.fail, share_addresses=per_address
        )
        inline.crawl = OpenCrawl(books, turns, robots, archiving.inline, self.fail)
        self.run.stops.callback(inline.close)
        self.run.ends.callback(turns.close)
        return end

    def _own_loop(
        self, downloader: FrontierDownloader, robots: RobotsRequests, end: PageEnd
    ) -> Driver | None:
        """Return the loop that fetches the pages, or None if Scrapy's engine has to."""
        engine = self.waking.engine
        why = why_engine(self.crawler)
        if why:
            logger.debug("the crawl runs on Scrapy's engine, because %s", why)
        if engine is None or why:
            return None
        self._giving.driven = True
        return self._begin_loop(
            FetchingSteps(
                self.crawler, downloader, engine, self._giving, robots, end.finished, self.fail
            ),
            downloader,
        )

    def _begin_loop(self, steps: Steps, downloader: FrontierDownloader) -> Driver:
        room = self.crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE")
        driver = Driver(steps, downloader.barrier, room)
        self.waking.driver = driver
        return driver

    def _install(self, finished: Callable[[Any], None]) -> None:
        self.waking.engine = install(
            self.crawler.engine, finished=finished, closing=self._closing, failure=self._failure
        )
        self.waking.engine.close_pipelines_by(self._close_pipelines)

    async def _close_pipelines(self, close: Callable[[], Awaitable[None]]) -> None:
        self.end.unclosed = not await closed(close, lambda: self.hurries)

    def _overdue(self, pages: Iterable[Trip]) -> None:
        """Warn of pages that take too long: checkpoints leave them out."""
        fetched: dict[Trip, str] = {}
        refused: dict[Trip, str] = {}
        for page in pages:
            kept = fetched if page.refusal is None else refused
            kept[page] = page.url
        coroutines = waiting_pages(self._ways)
        line = (
            "checkpoints leave out %s that have been in the spider or the pipelines for %d s%s: "
            "%s (the first is %s)"
        )
        kinds = (
            (fetched, "page", self.AFTER_KILL),
            (refused, "errback", "if the crawl is killed, they are called again"),
        )
        for urls, kind, what in kinds:
            if not urls:
                continue
            places = of(coroutine for page, coroutine in coroutines.items() if page in urls)
            url = readable(next(iter(urls.values())))
            logger.warning(line, count(len(urls), kind), barrier.OVERDUE, places, what, url)

    def _connect_answers(
        self,
        spider: Spider,
        values: CheckedSettings,
        downloader: FrontierDownloader,
        end: PageEnd,
        *,
        makes_pages: bool,
    ) -> Ahead | None:
        """Join what hears of downloads. Most crawls need only a few of these."""
        moments = downloader.moments
        moments.requests = self.run.requests
        lists = str(getattr(spider, "seed_lists", None) or "")
        others = [host_of(url) for url in filter(is_url, list_paths(lists))]
        hops = values["REDIRECT_MAX_HOPS"] if values["URL_FOLLOW"] else 0
        self.run.fates = SeedFates(
            self.crawl, hops, others, alone=makes_pages and not values["HIVE_DRONES"]
        )
        moments.failed.append(self.run.fates.failed)
        ahead = None
        if makes_pages:
            ahead = reading_ahead(self.visitor, values)
            moments.ahead.append(ahead)
            self.run.ends.callback(ahead.close)
        moments.unfinished.append(end.hide)
        if not makes_pages or getattr(spider, "has_callbacks", False):
            moments.ended.append(end.hide)
        if values["PURPOSE"]:
            judge = AnswerWithholder(
                self.visitor, AnswerReader.BOTH if makes_pages else AnswerReader.CALLBACKS
            )
            moments.judge.append(judge.answer)
            moments.given.append(judge.given)
        return ahead

    async def _begin_since(self, argument: str) -> None:
        """Read what earlier crawls have, if the crawl is to begin from there."""
        if not argument:
            return
        from webcrawl.crawl.earlier_pages import since_of  # noqa: PLC0415 - few crawls have earlier ones

        downloader = downloader_of(self.crawler)
        # Nothing is fetched before their index is whole: 7 s per million captures
        since = await since_of(argument, values_of(self.crawler), self.crawl, self.fail)
        downloader.since = since
        self.run.ends.callback(since.close)
        self.run.ends.callback(setattr, downloader, "since", None)

    def close(self, reason: str) -> Deferred[None]:
        self.end.reason = reason
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        """Take the last checkpoint: no request is under way any more."""
        # It could not be opened
        if self.saves_no_more:
            return
        # Timers and loops stop first: nothing may change behind the last checkpoint
        self.run.stops.close()
        self._tell_held()
        try:
            # again: pipelines may have awaited something while they closed
            self.run.archiving.end()
            self.end.lost = self._report_lost()
            await self.checkpoint(last=True)
            await self.hive.stop()
            # The index adds the pages that this checkpoint has, and its files go to the store
            await by_turns(self.crawl.followers.rest())
        except BaseException as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
            self.fail(tamed(error))
        finally:
            RUNNING.discard(self._folder)
            self.keeping.saves_no_more = True
            self.run.ends.close()
            try:
                self.crawl.close()
            except Exception as error:  # noqa: BLE001 - what was committed stays; but something is wrong
                self.fail(error)
            self.keeping.unwatch()

    def _tell_held(self) -> None:
        if self.held and self.crawl.pending:
            line = "up to %s of the spider have values in memory only, so the next run will count them as lost"
            logger.warning(line, count(len(self.held), "request"))

    def _report_lost(self) -> int:
        """Report the spider's lost requests; a run that is told to stop leaves that to the next."""
        if self.end.reason in HURRIED:
            return 0
        return self.crawl.parts.unkept.report()

    def has_pending_requests(self) -> bool:
        # With False Scrapy ends the crawl
        if self.has_work() or not self.hive.others_done:
            return True
        return self.driver is not None and self.driver.busy

    def has_work(self) -> bool:
        """Return whether anything is left to do here."""
        return self.crawl.pending or self._awaits()

    @property
    def rests(self) -> bool:
        """Return whether nothing is left to do here but to try hosts that are set aside."""
        return self.crawl.rests and not self._awaits()

    @property
    def got(self) -> bool:
        """Return whether the crawl has got a page, in any of its runs."""
        return self.run.fates is None or self.run.fates.got

    @property
    def is_of_empty_hive(self) -> bool:
        """Return whether this is a drone of a hive that has ended, and no drone has got a page."""
        post = self.crawl.parts.drone_parts
        return post is not None and post.obeyed.gave_nothing

    def _awaits(self) -> bool:
        return self._may_be_stuck() or any(source() for source in self.run.sources)

    def _may_be_stuck(self) -> bool:
        return downloader_of(self.crawler).inline.waiting > 0

    def enqueue_request(self, request: Request) -> bool:
        """Accept any request of a spider or middleware.

        Nothing may raise here: Scrapy would hang.
        """
        trip = trip_of(request)
        # A retry comes back from the downloader as a request; the frontier has it, and knows when
        if trip is not None and trip.comes_again:
            return True
        taken = self._intake.take(request)
        if taken:
            self.wake()
        return taken

    def link_of(self, request: Request) -> Link:
        """Return the link that is kept for a request."""
        return self._intake.link_of(request)

    def next_request(self) -> Request | None:
        # Scrapy would only log an exception, and continue
        try:
            if self._may_drive is not None:
                self.driver = self._may_drive()
                self._may_drive = None
            if self.driver is not None:
                self.driver.look()
            return self._giving.next()
        except BaseException as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
            self.fail(tamed(error))
        return None

    def wake(self) -> None:
        """Make the engine ask at once: else it asks when a request ends, or after 5 s."""
        self.waking.now()

    # -- the crawl's side

    async def checkpoint(self, *, last: bool = False) -> None:
        """Write ahead in slices, then commit between two pages, in one turn of the event loop."""
        await self.keeping.checkpoint(last=last)

    def fail(self, error: Exception) -> None:
        """End the crawl: the state on disk stays that of the last checkpoint."""
        self.keeping.fail(error)

    @property
    def failed(self) -> StoreError | None:
        """Return why nothing more is kept, or None."""
        return self.keeping.failed

    @property
    def saves_no_more(self) -> bool:
        """Return whether the last checkpoint was taken: what is done now is lost."""
        return self.keeping.saves_no_more

    @property
    def hurries(self) -> bool:
        """Return whether the crawl was told to stop, by command or signal, even while it closes."""
        engine = self.waking.engine
        return self.end.reason in HURRIED or (engine is not None and engine.told_to_stop)

    def _failure(self) -> EndedBadly | None:
        has_failed = self._is_broken() or self._lacks_seeds() or self._has_left_work()
        if not has_failed:
            return None
        # why the crawl ended so is in its last lines
        logging.getLogger("asyncio").addFilter(is_news)
        return EndedBadly(self.end.reason)

    def _is_broken(self) -> bool:
        """Return whether something of what the crawl did is not kept."""
        if self.failed is not None or self.end.reason in BROKEN or self.end.unclosed:
            return True
        return has_lost_a_feed(self.crawler)

    def _lacks_seeds(self) -> bool:
        """Return whether the crawl has finished without seeds that it was given.

        No other end promises all of them.
        """
        if self.end.reason != FINISHED:
            return False
        fates = self.run.fates
        gave_nothing = self.is_of_empty_hive or (fates is not None and fates.hopeless)
        return self.crawl.parts.seeding.away > 0 or gave_nothing

    def _has_left_work(self) -> bool:
        """Return whether something was lost or is undone.

        After an order to stop, the next run sees to that.
        """
        if self.end.reason in HURRIED:
            return False
        return self.end.lost > 0 or any(is_behind() for is_behind in self.run.behind)

    @property
    def _ways(self) -> list[Way]:
        """Return the ways of pages through the spider and the pipelines."""
        ways: list[Way] = [self.driver] if self.driver is not None else []
        return [*ways, self.waking.engine.guests] if self.waking.engine is not None else ways

    def _closing(self) -> Awaitable[None] | None:
        self.end.begun = True
        # Scrapy would wait up to DOWNLOAD_TIMEOUT for what is under way
        grace = 0.0 if lack(self.failed) else STOP_GRACE
        call_later(grace, downloader_of(self.crawler).abandon)
        LastPages(self._ways, self.AT_END)
        return self.driver.close() if self.driver is not None else None


def scheduler_of(crawler: Crawler) -> FrontierScheduler:
    """Return the crawler's scheduler, which has to be this one."""
    scheduler = crawler.engine.scheduler if crawler.engine else None
    if not isinstance(scheduler, FrontierScheduler):
        raise NotConfigured(f"SCHEDULER: must be {FrontierScheduler.__name__}, not {scheduler}")
    return scheduler
