"""Scrapy's scheduler, behind which lies the crawl's frontier."""

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
from webcrawl.adapter.commanded_crawl import apply_commands
from webcrawl.adapter.crawl_end import (
    EndedBadly,
    RunEnd,
    close_spider,
    has_lost_a_feed,
    is_unreported,
    log_once,
    silence_failed_opening,
)
from webcrawl.adapter.downloader import FrontierDownloader, downloader_of
from webcrawl.adapter.driver_steps import FetchingSteps, reason_for_engine
from webcrawl.adapter.fastpath import install
from webcrawl.adapter.frontier_waker import FrontierWaker
from webcrawl.adapter.held_requests import HeldRequests
from webcrawl.adapter.held_values import HeldValues
from webcrawl.adapter.hive_side import HiveSide
from webcrawl.adapter.inline_downloads import OpenCrawl
from webcrawl.adapter.request_counts import RequestCounts, count_retry
from webcrawl.adapter.request_links import CallbackCheck, has_errback
from webcrawl.adapter.request_meta import MetaWarnings
from webcrawl.adapter.request_passage import RequestIntake, RequestSource
from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.user_settings import on_command_line, setting_warnings
from webcrawl.adapter.values import drop_unrequested_sitemaps, values_of
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
from webcrawl.store.jobdir.stats_file import (
    BROKEN_REASONS,
    FINISHED,
    HURRIED_REASONS,
    STORE_FAILED,
)
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import is_url, list_paths

logger = logging.getLogger(__name__)

RUNNING: set[Path] = set()  # the JOBDIRs of the crawls that run in this program


def runs_here(folder: Path) -> bool:
    """Return whether a crawl that runs in this program has this JOBDIR."""
    return folder.absolute() in RUNNING


def in_use_here(folder: object) -> CannotStart:
    """Return the error for a second crawl on a JOBDIR in one program."""
    return CannotStart(
        f"JOBDIR = {folder}: another crawl in this program is using it; give each crawl a JOBDIR of "
        "its own"
    )


class FrontierScheduler:
    """Accepts requests as links, and hands out the request of each link when its host may be
    requested.

    It also opens the crawl, takes its checkpoints and closes it. No method blocks.
    """

    # What happens to pages that do not come back from the spider or the pipelines
    AFTER_KILL = "if the crawl is killed, they are fetched again"
    AT_END = "the next run fetches them again"
    _intake: RequestIntake
    _source: RequestSource

    def __init__(self, crawler: Crawler, dupefilter: BaseDupeFilter) -> None:
        self.crawler = crawler
        self.dupefilter = dupefilter
        self.run = Run(partial(close_spider, crawler), crawler.settings.copy_to_dict())
        self.keeping = self.run.keeping
        self.waker = FrontierWaker()
        self.hive = HiveSide()
        self.counts = RequestCounts()
        self.standstill: Standstill | None = None  # until the crawl is open
        self.begun = time.monotonic()
        self.end = RunEnd()
        self.held_values: HeldValues | None = None  # in a run over archives: always None
        self.was_complete = False  # a former run had left nothing to do
        self.driver: Driver | None = None  # the crawl's own loop, if it can fetch the pages
        # Called once, at the first request for a URL, when everything is open
        self._make_driver: Callable[[], Driver | None] | None = None

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
        """Open the crawl. An error of its state is logged in one line, and then raised."""
        # Scrapy waits for a Deferred here, and not for a coroutine
        return deferred_from_coro(self._open(spider))

    async def _open(self, spider: Spider) -> None:
        """Enter the hive if the crawl is a drone, open the crawl, and begin what runs beside it.

        Raise StateLocked, or CannotStart within one program, if another crawl has the JOBDIR.
        """
        values = values_of(self.crawler)
        try:
            # Before the crawl is opened, because its state takes the key and map of the hive
            await self.hive.enter(self.crawler, values, spider.name)
            ahead = self._begin(spider)
            # A feed of a complete crawl is not overwritten (adapter/feeds.py)
            has_answers = self.crawl.parts.counters["answers"] > 0
            self.was_complete = has_answers and not self.has_pending_requests()
            await self._begin_since(getattr(spider, "earlier_crawls", ""))
            if ahead is not None:
                await ahead.begin()
            self.hive.begin(self)
        except StateLocked as error:
            silence_failed_opening(self.crawler)
            if not runs_here(self._folder):
                log_once(error)
                raise
            refusal = in_use_here(values["JOBDIR"])
            log_once(refusal)
            raise refusal from error
        except BaseException as error:
            silence_failed_opening(self.crawler)
            if isinstance(error, StoreError):
                log_once(error)
                # Scrapy closes a spider that could not be opened: `_close` has no other reason to tell
                self.keeping.failed = error
            raise
        RUNNING.add(self._folder)

    @property
    def _folder(self) -> Path:
        return Path(values_of(self.crawler)["JOBDIR"]).absolute()

    def _begin(self, spider: Spider) -> Ahead | None:
        """Open the crawl and connect it with Scrapy.

        Return what reads answers ahead, such as PDFs, or None if nothing does.
        """
        # A thread that dies at birth, for want of memory, would hang the event loop later
        start_threads()
        self._watch_for_standstill()
        values = values_of(self.crawler)
        downloader = downloader_of(self.crawler)
        for line in setting_warnings(self.crawler.settings, spider):
            logger.warning("%s", line)
        makes_pages = getattr(spider, "makes_pages", False)
        self.run.open(
            *self._assemble(spider, values, downloader.total_concurrency, makes_pages=makes_pages)
        )
        self._connect_network(downloader)
        self.keeping.open(self.crawl, downloader.barrier, self._has_awaited_downloads)
        self.run.stops.callback(self.waker.timer.stop)
        network = downloader.network
        running = downloader.running
        self.run.stops.callback(
            Sweep(self.crawl, network, running, lambda: downloader.is_full, self.fail).stop
        )
        robots = RobotsRequests(self.visitor, self.fail, pages=makes_pages)
        end = self._connect_requests(spider, downloader, robots)
        if makes_pages:
            self._make_driver = partial(self._own_loop, downloader, robots, end)
        ahead = self._connect_answers(spider, values, downloader, end, makes_pages=makes_pages)
        self.keeping.watch()
        return ahead

    def _watch_for_standstill(self) -> None:
        """Watch for code that does not return, which is named in the log and cannot delay the end."""
        self.standstill = Standstill(asyncio.get_running_loop(), lambda: self.keeping.saved)
        self.crawler.signals.connect(self.standstill.close, signals.engine_stopped)
        downloader = downloader_of(self.crawler)
        downloader.barrier.on_overdue = self._warn_of_overdue_pages
        self.keeping.taken.append(HeldRequests(downloader.tasks).look)

    def _assemble(
        self, spider: Spider, values: CheckedSettings, slots: int, *, makes_pages: bool
    ) -> tuple[Crawl, Visitor]:
        """Return the crawl of this spider, opened on its state, and the visitor of its pages."""
        lists = getattr(spider, "seed_lists", None)
        limit = getattr(spider, "seed_limit", None)
        earlier = getattr(spider, "earlier_crawls", None)
        frontier = getattr(spider, "own_frontier", None)
        # A spider that makes its own requests asks for its own sitemaps
        if not makes_pages or frontier is not None:
            drop_unrequested_sitemaps(values)
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
        """Connect the network and the downloader with the crawl that uses them."""
        parts = self.crawl.parts
        connect(downloader.network, parts, self.wake)
        apply_commands(self.crawl, downloader, self.crawler.settings, self.wake)
        downloader.on_lack = self.fail
        downloader.outcomes.uplink = parts.uplink
        downloader.count = parts.counters.update
        downloader.wake = self.wake

    def _connect_requests(
        self, spider: Spider, downloader: FrontierDownloader, robots: RobotsRequests
    ) -> PageEnd:
        """Connect what accepts requests, hands them out, and books them at their end.

        Return what books a finished request.
        """
        crawl = self.crawl
        bandwidth = downloader.network.bandwidth
        # Links of a drone travel to other drones, and must not have them load classes
        allow_classes = not self.hive.is_drone
        archiving = self.run.archiving
        meta_warnings = MetaWarnings(self.crawler.settings)
        self.counts.begin(crawl)
        self._intake = RequestIntake(
            crawl.parts,
            spider,
            self.dupefilter,
            meta_warnings,
            self.fail,
            allow_classes=allow_classes,
            counts=self.counts,
        )
        self.held_values = self._intake.held_values
        self._source = RequestSource(
            crawl,
            spider,
            robots=robots,
            waker=self.waker,
            bandwidth=bandwidth,
            allow_classes=allow_classes,
            held_values=self._intake.held_values,
            counts=self.counts,
        )
        inline = downloader.inline
        end = PageEnd(
            crawl,
            self.visitor,
            robots=robots,
            archiving=archiving,
            barrier=downloader.barrier,
            bandwidth=bandwidth,
            has_cancelled_awaited=lambda: inline.has_cancelled_awaited,
            fail=self.fail,
            count_retry=partial(count_retry, self.crawler.stats),
        )
        self._install_in_engine(end.finished)
        books = crawl.parts.inline
        per_address = crawl.parts.in_force.values["POLITENESS_PER_IP"]
        turns = Turns(
            books, downloader.outcome_in_flight, self.wake, self.fail, share_addresses=per_address
        )
        inline.crawl = OpenCrawl(books, turns, robots, archiving.inline, self.fail)
        self.run.stops.callback(inline.close)
        self.run.ends.callback(turns.close)
        return end

    def _own_loop(
        self, downloader: FrontierDownloader, robots: RobotsRequests, end: PageEnd
    ) -> Driver | None:
        """Return the loop that fetches the pages, or None if Scrapy's engine has to fetch them."""
        engine = self.waker.engine
        reason = reason_for_engine(self.crawler)
        if reason:
            logger.debug("the crawl runs on Scrapy's engine, because %s", reason)
        if engine is None or reason:
            return None
        self._source.is_driven = True
        return self._begin_loop(
            FetchingSteps(
                self.crawler, downloader, engine, self._source, robots, end.finished, self.fail
            ),
            downloader,
        )

    def _begin_loop(self, steps: Steps, downloader: FrontierDownloader) -> Driver:
        max_bytes_waiting = self.crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE")
        driver = Driver(steps, downloader.barrier, max_bytes_waiting)
        self.waker.driver = driver
        return driver

    def _install_in_engine(self, finished: Callable[[Any], None]) -> None:
        """Take part in Scrapy's engine; `finished` is called at the end of each request."""
        self.waker.engine = install(
            self.crawler.engine,
            finished=finished,
            closing=self._begin_to_close,
            failure=self._exit_failure,
        )

    async def _close_code(self, close: Callable[[], Awaitable[object]], *what: str) -> None:
        is_closed = False
        try:
            is_closed = await closed(close, lambda: self.is_hurried, *what)
        finally:  # code that raises may not have stored all of its data either
            self.end.has_unclosed_code |= not is_closed

    def _warn_of_overdue_pages(self, pages: Iterable[Trip]) -> None:
        """Log which pages a checkpoint leaves out, because they take too long, and where they wait.

        The barrier calls this with pages that have not come back for OVERDUE seconds.
        """
        fetched: dict[Trip, str] = {}
        refused: dict[Trip, str] = {}
        for page in pages:
            urls = fetched if page.refusal is None else refused
            urls[page] = page.url
        coroutines = waiting_pages(self._page_ways)
        line = (
            "checkpoints leave out %s that have been in the spider, the pipelines or a middleware "
            "for %d s%s: %s (the first is %s)"
        )
        kinds = (
            (fetched, "page", self.AFTER_KILL),
            (refused, "errback", "if the crawl is killed, they are called again"),
        )
        for urls, kind, note in kinds:
            if not urls:
                continue
            places = of(coroutine for page, coroutine in coroutines.items() if page in urls)
            url = readable(next(iter(urls.values())))
            logger.warning(line, count(len(urls), kind), barrier.OVERDUE, places, note, url)

    def _connect_answers(
        self,
        spider: Spider,
        values: CheckedSettings,
        downloader: FrontierDownloader,
        end: PageEnd,
        *,
        makes_pages: bool,
    ) -> Ahead | None:
        """Fill the downloader's hooks with the parts of the crawl that use them.

        Return what reads answers ahead, or None if nothing does.
        """
        hooks = downloader.hooks
        hooks.requests = self.run.requests
        lists = str(getattr(spider, "seed_lists", None) or "")
        others = [host_of(url) for url in filter(is_url, list_paths(lists))]
        hops = values["REDIRECT_MAX_HOPS"] if values["URL_FOLLOW"] else 0
        self.run.fates = SeedFates(
            self.crawl, hops, others, alone=makes_pages and not values["HIVE_DRONES"]
        )
        hooks.on_failed.append(self.run.fates.failed)
        ahead = None
        if makes_pages:
            ahead = reading_ahead(self.visitor, values)
            hooks.readers_ahead.append(ahead)
            self.run.ends.callback(ahead.close)
        hooks.on_unfinished.append(end.hide)
        if not makes_pages or getattr(spider, "has_callbacks", False):
            hooks.on_ended.append(end.hide)
        if values["PURPOSE"]:
            withholder = AnswerWithholder(
                self.visitor, AnswerReader.BOTH if makes_pages else AnswerReader.CALLBACKS
            )
            hooks.answer_filters.append(withholder.filter_answer)
            hooks.substitute_filters.append(withholder.filter_substitute)
        return ahead

    async def _begin_since(self, argument: str) -> None:
        """Open the index of the earlier crawls that `-a since=` names, if it names any."""
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
        """Close the crawl. Scrapy calls this last, when the pipelines are closed."""
        self.end.reason = reason
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        """Take the last checkpoint and close the state. No request is under way any more.

        An error ends the crawl as failed, and is not raised.
        """
        # The crawl could not be opened
        if self.saves_no_more:
            return
        try:
            # Timers and loops stop first: nothing may change behind the last checkpoint
            self.run.stops.close()
            self._warn_of_held_values()
            # Once more, because pipelines may have awaited downloads while they closed
            self.run.archiving.end()
            self.end.lost_requests = self._report_lost_requests()
            await self.checkpoint(last=True)
            await self.hive.stop()
            # The index adds the pages of this checkpoint, and finished files go to OUTPUT_STORE
            await by_turns(self.crawl.followers.finish_work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
            self.fail(tamed(error))
        finally:
            RUNNING.discard(self._folder)
            self.keeping.saves_no_more = True
            self.run.ends.close()
            try:
                self.crawl.close()
            except Exception as error:  # noqa: BLE001 - what was committed is kept, but something is wrong
                self.fail(error)
            self.keeping.unwatch()

    def _warn_of_held_values(self) -> None:
        """Warn of requests that the next run cannot make, because their values are in memory only."""
        if self.held_values and self.crawl.pending:
            line = "up to %s of the spider have values in memory only, so the next run will count them as lost"
            logger.warning(line, count(len(self.held_values), "request"))

    def _report_lost_requests(self) -> int:
        """Log the spider's lost requests, and return their number.

        A run that was told to stop leaves that to the next one, and returns 0.
        """
        if self.end.reason in HURRIED_REASONS:
            return 0
        return self.crawl.parts.unkept.report()

    def has_pending_requests(self) -> bool:
        """Return whether the crawl goes on. Scrapy ends it once this is False."""
        if self.has_work() or not self.hive.others_done:
            return True
        return self.driver is not None and self.driver.busy

    def has_work(self) -> bool:
        """Return whether anything is left to do in this process."""
        return self.crawl.pending or self._expects_more()

    @property
    def rests(self) -> bool:
        """Return whether only URLs of deferred hosts are left to do in this process."""
        return self.crawl.rests and not self._expects_more()

    @property
    def got(self) -> bool:
        """Return whether the crawl has fetched a page, in any of its runs."""
        return self.run.fates is None or self.run.fates.got

    @property
    def is_of_empty_hive(self) -> bool:
        """Return whether this is a drone of a hive that has ended without fetching a page."""
        drone_parts = self.crawl.parts.drone_parts
        return drone_parts is not None and drone_parts.obeyed.gave_nothing

    def _expects_more(self) -> bool:
        """Return whether awaited downloads, or a server of seeds, may bring more URLs."""
        return self._has_awaited_downloads() or self.run.expects_more

    def _has_awaited_downloads(self) -> bool:
        return downloader_of(self.crawler).inline.waiting > 0

    def enqueue_request(self, request: Request) -> bool:
        """Accept a request of a spider or middleware. Return False if it is dropped.

        No error may leave this method, because Scrapy would hang.
        """
        trip = trip_of(request)
        # A retry: the frontier already has the link, and knows when it is due
        if trip is not None and trip.comes_again:
            return True
        is_accepted = self._intake.accept_request(request)
        if is_accepted:
            self.wake()
        return is_accepted

    def link_of(self, request: Request) -> Link:
        """Return the link that is kept for a request, as RequestIntake.link_of does."""
        return self._intake.link_of(request)

    def next_request(self) -> Request | None:
        """Return the next request for Scrapy's engine, or None if none is due.

        The first call starts the crawl's own loop, if it may fetch the pages.
        """
        # Scrapy would only log an exception, and continue
        try:
            if self._make_driver is not None:
                self.driver = self._make_driver()
                self._make_driver = None
            if self.driver is not None:
                self.driver.look()
            return self._source.next()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the step that it interrupts is half done
            self.fail(tamed(error))
        return None

    def wake(self) -> None:
        """Have the frontier asked at once.

        Scrapy's engine asks when a request ends, or after 5 s.
        """
        self.waker.wake()

    # -- the crawl's side

    async def checkpoint(self, *, last: bool = False) -> None:
        """Take a checkpoint: write ahead in slices, then commit within one turn of the event loop."""
        await self.keeping.checkpoint(last=last)

    def fail(self, error: Exception) -> None:
        """End the crawl: the state on disk stays that of the last checkpoint."""
        self.keeping.fail(error)

    @property
    def failed(self) -> StoreError | None:
        """Return the error after which nothing more is kept, or None."""
        return self.keeping.failed

    def end_reason(self, spiders: str) -> str:
        """Return why the run has ended; `spiders`: the reason for which the spider has.

        Perhaps only the last checkpoint has failed, after the spider has ended for another reason.
        """
        return STORE_FAILED if self.failed is not None else spiders

    @property
    def saves_no_more(self) -> bool:
        """Return whether the last checkpoint was taken, after which nothing is kept."""
        return self.keeping.saves_no_more

    @property
    def is_hurried(self) -> bool:
        """Return whether the crawl was told to stop, by command or signal, perhaps while it closes."""
        return self.waker.engine is not None and self.waker.engine.was_told_to_stop

    def _exit_failure(self) -> EndedBadly | None:
        """Return the error that gives the command exit status 1, or None if the crawl ended well."""
        has_failed = self._is_broken() or self._lacks_seeds() or self._has_left_work()
        if not has_failed:
            return None
        # The crawl's last lines say why it ended so
        logging.getLogger("asyncio").addFilter(is_unreported)
        return EndedBadly(self.end.reason)

    def _is_broken(self) -> bool:
        """Return whether some of the crawl's work is not kept."""
        if (
            self.failed is not None
            or self.end.reason in BROKEN_REASONS
            or self.end.has_unclosed_code
        ):
            return True
        return has_lost_a_feed(self.crawler)

    def _lacks_seeds(self) -> bool:
        """Return whether the crawl has finished although seeds of it could not be read or fetched.

        Only a crawl that ends as finished promises to have used all its seeds.
        """
        if self.end.reason != FINISHED:
            return False
        fates = self.run.fates
        gave_nothing = self.is_of_empty_hive or (fates is not None and fates.hopeless)
        return self.crawl.parts.seeding.away > 0 or gave_nothing

    def _has_left_work(self) -> bool:
        """Return whether requests were lost, or files are not stored yet.

        Not after an order to stop, because the next run does what is left.
        """
        if self.end.reason in HURRIED_REASONS:
            return False
        return self.end.lost_requests > 0 or any(is_behind() for is_behind in self.run.behind)

    @property
    def _page_ways(self) -> list[Way]:
        """Return the loops that take pages through the spider and the pipelines."""
        ways: list[Way] = [self.driver] if self.driver is not None else []
        return [*ways, self.waker.engine.guests] if self.waker.engine is not None else ways

    def _begin_to_close(self) -> Awaitable[None] | None:
        """Limit the time of downloads and pages under way when the spider begins to close.

        Return what Scrapy has to wait for besides its own requests, or None.
        """
        self.end.begun = True
        if self.waker.engine is not None:
            self.waker.engine.close_code_by(self._close_code)
        if self.standstill is not None and self.is_hurried:
            self.standstill.note_stop()  # also of a stop by command
        # Scrapy would wait up to DOWNLOAD_TIMEOUT for downloads under way
        grace = 0.0 if lack(self.failed) else STOP_GRACE
        call_later(grace, downloader_of(self.crawler).abandon)
        LastPages(self._page_ways, self.AT_END)
        return self.driver.close() if self.driver is not None else None


def scheduler_of(crawler: Crawler) -> FrontierScheduler:
    """Return the crawler's scheduler. Raise NotConfigured if it is not a FrontierScheduler."""
    scheduler = crawler.engine.scheduler
    if not isinstance(scheduler, FrontierScheduler):
        raise NotConfigured(f"SCHEDULER: must be {FrontierScheduler.__name__}, not {scheduler}")
    return scheduler
