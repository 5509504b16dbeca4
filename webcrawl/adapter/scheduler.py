"""Scrapy's scheduler: the crawl's frontier behind three methods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from webcrawl.adapter.barrier import CheckpointWaiters
from webcrawl.adapter.commanding import heed
from webcrawl.adapter.crawl_end import BROKEN, FINISHED, HURRIED, EndedBadly, as_failure, close_spider, hush
from webcrawl.adapter.downloader import GRACE, downloader_of
from webcrawl.adapter.exhaustion_watch import ExhaustionWatch
from webcrawl.adapter.fastpath import install
from webcrawl.adapter.fastpath.engine import Engine
from webcrawl.adapter.inline_downloads import OpenCrawl
from webcrawl.adapter.inline_turns import Turns
from webcrawl.adapter.reading_ahead import Ahead, ReadingAhead, pdf_process
from webcrawl.adapter.request_links import (
    Callbacks,
    CannotBeKept,
    CannotBeMade,
    has_errback,
    is_start,
    to_link,
    to_refused,
    to_request,
    variant,
)
from webcrawl.adapter.request_meta import UnheardMeta
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.seed_fates import SeedFates
from webcrawl.adapter.slot_sweep import Sweep
from webcrawl.adapter.thread_start import start_threads
from webcrawl.adapter.trip import Trip
from webcrawl.adapter.user_settings import on_command_line, warnings
from webcrawl.adapter.values import values_of
from webcrawl.adapter.withheld import Reader, is_looked_at
from webcrawl.base.hosts import host_of
from webcrawl.base.model import Exchange, Link, Outcome, Status, unpack
from webcrawl.base.resource_exhaustion import lack
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.lost_requests import Refusal
from webcrawl.crawl.parts import Surroundings
from webcrawl.crawl.visitor import Visitor
from webcrawl.frontier.outcomes import ACCEPTED
from webcrawl.net.bandwidth import Bandwidth
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import is_url, list_paths

if TYPE_CHECKING:
    from webcrawl.adapter.earlier_pages import Since
    from webcrawl.adapter.hive_membership import Entry
    from webcrawl.content.page import Page
    from webcrawl.crawl.hive.member import Membership
    from webcrawl.crawl.hive.running import Running

logger = logging.getLogger(__name__)

# A connection is kept open if its host's next turn is due within NEAR seconds. SLACK is added because turns come late
# when the processor is busy; servers keep idle connections for about five seconds (Apache's default).
NEAR, SLACK = 10.0, 5.0
# Of the work ahead of a checkpoint, in seconds: what is done in one turn of the event loop, the pause after it, and how
# long a slice takes at most that only looked whether a thread has ended.
TOGETHER, PAUSE, NOTHING = 0.004, 0.001, 0.000_05
MADE_IN_VAIN = 100  # requests that end in one turn of the event loop, because the spider lacks their methods: 2 ms
NO_OUTCOME = Outcome(Status.OUT_OF_SCOPE)  # a middleware stopped the request: no host was asked


class FrontierScheduler:
    """Takes requests in as links and hands them out when their hosts may be asked. No method blocks."""

    crawl: Crawl
    visitor: Visitor
    spider: Spider

    def __init__(self, crawler: Crawler, dupefilter: BaseDupeFilter) -> None:
        self.crawler, self.dupefilter = crawler, dupefilter
        self._engine: Engine | None = None
        self.fates: SeedFates | None = None  # of the seeds of a spider that makes pages
        self._unheard = UnheardMeta(crawler.settings)
        self._timer: Any = None
        self._timer_at = float("inf")
        self._saving = asyncio.Lock()
        self._closed = True  # until it is opened
        self.on_checkpoint: Callable[[], None] | None = None
        self.wants_checkpoint: Callable[[], None] | None = None  # has one taken as soon as possible
        self.archive: Callable[[Link, Exchange], None] | None = None  # of what the spider did not make a Page
        self.end_archive: Callable[[], None] = _nothing
        self._hive: Entry | None = None
        self._member: Membership | None = None
        self._others: Running | None = None
        self.others_done = True  # no drone has anything for us
        self.sources: list[Callable[[], bool]] = []  # whether URLs may come from elsewhere; asked when nothing is left
        self.behind: list[Callable[[], bool]] = []  # whether something is left undone; asked when the crawl has ended
        self.at_hand: list[Callable[[Page], object]] = []  # what outputs look up of all pages at hand
        self.kept = CheckpointWaiters()
        self.begun, self.stopping = time.monotonic(), False
        self.failed: StoreError | None = None
        self._saved = "of this run"
        self._bandwidth = Bandwidth()
        self._lacks: ExhaustionWatch | None = None
        self._reason = ""
        self._lost = 0  # requests of the spider, in this run and those that were killed before
        self._told: set[str] = set()
        self._ahead: Ahead | None = None
        self._since: Since | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler))

    # -- Scrapy's side

    def open(self, spider: Spider) -> Deferred[None]:
        return deferred_from_coro(self._open(spider))

    async def _open(self, spider: Spider) -> None:
        try:
            self._hive = await self._enter(spider)
            self._begin(spider)
            await self._begin_since(spider)
            if self._ahead is not None:
                await self._ahead.begin()
            if self._hive is not None:
                self.others_done = False
                self._others = self._hive.running(self)
                self.crawl.add_checkpoint_listener(self._others)
                self._others.start()
        except BaseException:
            hush()
            raise

    async def _enter(self, spider: Spider) -> Entry | None:
        """Enters the hive, if the crawl is a drone of one."""
        values = values_of(self.crawler)
        if not values["HIVE_DRONES"]:
            return None
        from webcrawl.adapter.hive_membership import Entry  # noqa: PLC0415 - 0.1 s that other crawls need not spend

        hive = Entry(self.crawler, values, spider.name)
        self._member = await hive.member()
        return hive

    def _begin(self, spider: Spider) -> None:
        loop = asyncio.get_running_loop()
        self.spider = spider
        start_threads()
        values, downloader = values_of(self.crawler), downloader_of(self.crawler)
        for line in warnings(self.crawler.settings, spider):
            logger.warning("%s", line)
        lists, limit = getattr(spider, "seed_lists", None), getattr(spider, "seed_limit", None)
        earlier, walk = getattr(spider, "earlier_crawls", None), getattr(spider, "walk_rules", None)
        makes_pages = getattr(spider, "makes_pages", False)
        if not makes_pages or walk is not None:
            values["SITEMAPS"] = values["SITEMAPS"] or False  # off, unless somebody has asked for them
        self.crawl, self.visitor = assemble(
            values,
            Surroundings(
                seeds=Seeds(lists, limit, values["URL_MAX_LENGTH"]) if lists else None,
                on_ready=partial(_from_thread, loop, self.wake),
                wants_refusal=has_errback,
                takes=Callbacks(spider).takes,
                fixed=on_command_line(self.crawler.settings),
                member=self._member,
                walk=walk,
            ),
            spider=spider.name,
            arguments={"seeds": lists, "limit": limit, "since": earlier},
            slots=downloader.total_concurrency,
            db=self._hive.db if self._hive is not None else None,
        )
        self._barrier, self._inline = downloader.barrier, downloader.inline
        downloader.network.shortage.on_end = downloader.network.bandwidth.on_end = self.wake
        self._bandwidth = downloader.network.bandwidth
        heed(self.crawl, downloader, self.crawler.settings, self.wake)
        downloader.on_lack = self.fail
        downloader.uplink = uplink = self.crawl.parts.uplink
        resolver = downloader.network.resolver
        resolver.silence.on_begin, resolver.silence.on_end = uplink.names_lost, uplink.names_found
        uplink.on_return = resolver.forget_failures
        resolver.remember(uplink.reached())
        downloader.network.http.http2.recorded = self.crawl.parts.frontier.http2
        self._closed = False
        self.crawl.begin()
        self._sweep = Sweep(downloader, self.crawl, self.fail)
        self._robots = RobotsRequests(self.visitor, self.fail, pages=makes_pages)
        self._engine = install(
            self.crawler.engine,
            finished=self._finished,
            closing=self._closing,
            failure=self._failure,
            robots=self._robots.answered,
        )
        downloader.turns = Turns(
            self.crawl.parts.inline,
            downloader.in_flight,
            self.wake,
            self.fail,
            share_addresses=values["POLITENESS_PER_IP"],
        )
        self._inline.crawl = OpenCrawl(
            self.crawl.parts.inline, downloader.turns, self._robots, self._archive_inline, self.fail
        )
        if makes_pages and not values["HIVE_DRONES"]:  # a drone may have no seed at all
            self.fates = SeedFates(self.crawl, [host_of(url) for url in filter(is_url, list_paths(str(lists or "")))])
            downloader.on_failure = self.fates.failed
        if makes_pages:
            downloader.read_ahead = self._ahead = ReadingAhead(self.visitor, pdf_process(values))
            if self.crawl.parts.scores is not None:
                from webcrawl.adapter.scoring_ahead import scoring  # noqa: PLC0415 - most crawls score nothing

                downloader.read_ahead = self._ahead = scoring(values, self._ahead)
        downloader.on_accepted = self._hide
        if not makes_pages or getattr(spider, "has_callbacks", False):
            downloader.on_outcome = self._hide
            downloader.reader = Reader.BOTH if makes_pages else Reader.CALLBACKS
        if values["PURPOSE"]:
            downloader.visitor = self.visitor
            if downloader.reader is Reader.PAGES and is_looked_at(self.crawler):
                downloader.reader = Reader.BOTH
        self._lacks = ExhaustionWatch(self.fail, loop)
        self._lacks.watch()

    async def _begin_since(self, spider: Spider) -> None:
        """Reads what earlier crawls have, if the crawl is to begin from there."""
        argument = getattr(spider, "earlier_crawls", "")
        if argument:
            from webcrawl.adapter.earlier_pages import since_of  # noqa: PLC0415 - few crawls have earlier ones

            self._since = await since_of(argument, values_of(self.crawler), self.crawl)
            downloader_of(self.crawler).since = self._since

    def _archive_inline(self, link: Link, exchange: Exchange) -> None:
        if self.archive is not None:
            self.archive(link, exchange)

    def close(self, reason: str) -> Deferred[None]:
        self._reason = reason
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        """Takes the last checkpoint: no request is under way any more."""
        if self._closed:  # it could not be opened
            return
        if self._timer is not None:
            self._timer.cancel()
        self._sweep.stop()
        self._inline.close()
        try:
            self.end_archive()  # again: pipelines may have awaited something while they closed
            self._lost = self._report_lost()
            await self.checkpoint(last=True)
            self._closed = True  # before anything else can begin a checkpoint
            if self._others is not None:
                await self._others.stop()
            await by_turns(self.crawl.after_last_checkpoint())
        except Exception as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
            self.fail(error)
        finally:
            self._closed = True
            if self._ahead is not None:
                self._ahead.close()
            if self._since is not None:
                downloader_of(self.crawler).since = None
                self._since.close()
            if self._inline.crawl is not None:
                self._inline.crawl.turns.close()
            try:
                self.crawl.close()
            except Exception as error:  # noqa: BLE001 - what was committed stays; but something is wrong
                self.fail(error)
            if self._lacks is not None:
                self._lacks.unwatch()

    def _report_lost(self) -> int:
        """The number of lost requests of the spider; a run that was told to stop leaves that to the next one."""
        return self.crawl.parts.unkept.report() if self._reason not in HURRIED else 0

    def has_pending_requests(self) -> bool:
        return self.has_work() or not self.others_done

    @property
    def reaches_hive(self) -> bool:
        """True if the server of the hive answers, if this is a drone of one."""
        return self._others is not None and self._others.reaches_server

    @property
    def over(self) -> bool:
        """True once the last checkpoint was taken: what is done now is lost."""
        return self._closed

    def has_work(self) -> bool:
        """Return whether anything is left to do here."""
        return self.crawl.pending or self._awaits()

    @property
    def rests(self) -> bool:
        """True if nothing is left to do here but to try hosts that are set aside."""
        return self.crawl.rests and not self._awaits()

    def _awaits(self) -> bool:
        return self._inline.waiting > 0 or any(source() for source in self.sources)

    def enqueue_request(self, request: Request) -> bool:
        """Accepts any request of a spider or middleware. Nothing may raise here: Scrapy would hang."""
        try:
            self._unheard.check(request)
            # Start requests pass the seen test although Scrapy marks them dont_filter: a crawl may be resumed.
            free = request.dont_filter and not is_start(request)
            if free or not self.dupefilter.request_seen(request):
                self.crawl.parts.discovery.insert(self.link_of(request), variant(request))
        except IgnoreRequest as error:
            self._tell_once(str(error), request, error)
            return False
        except InvalidUrl as error:  # Scrapy has handlers for some of these, data: and file:
            self._tell_once(error.reason, request, error)
            self.crawl.parts.pipeline.filtered[error.reason] += 1
            return False
        except (StoreError, OSError, MemoryError) as error:
            self.fail(error)
            return False
        except CannotBeKept as error:
            self.crawl.parts.unkept.add(error.kind, f"{request} cannot be kept on disk: {error}")
            return False
        except Exception as error:  # a filter's, or a dupefilter's of the user's own
            logger.exception("%s cannot be kept on disk", request)
            self.crawl.parts.unkept.add(type(error).__name__, f"{request} cannot be kept on disk")
            return False
        self.wake()
        return True

    def _tell_once(self, kind: str, request: Request, error: Exception) -> None:
        if kind not in self._told:
            self._told.add(kind)
            logger.warning("%s cannot be crawled: %s; others like it are only counted", request, error)

    def link_of(self, request: Request) -> Link:
        """The link that is kept for a request. In a hive without its class: letters may not name what is loaded."""
        return to_link(request, self.spider, classes=self._hive is None)

    def next_request(self) -> Request | None:
        try:
            for _ in range(MADE_IN_VAIN):
                try:
                    return self._next_request(self.crawl.parts.clock())
                except CannotBeMade as error:
                    self._tell_unmade(error, f"such requests end with status {Status.NO_METHOD:d}")
                    self.crawl.refuse(error.link, Status.NO_METHOD)
            self.wake()
        except Exception as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
            self.fail(error)
        return None

    def _tell_unmade(self, error: CannotBeMade, what: str) -> None:
        if error.kind not in self._told:
            self._told.add(error.kind)
            logger.error("%s (%s): %s", error, error.link.url, what)

    def _refused(self, refusal: Refusal) -> Request | None:
        """The request for an errback; None if the spider no longer has that one."""
        try:
            link = unpack(refusal.record)
            return to_refused(link, self.spider, Trip(refusal=refusal), classes=self._hive is None)
        except CannotBeMade as error:
            self._tell_unmade(error, "nobody hears that such requests failed; crawl.log says why they did")
            self.crawl.parts.refusals.delivered(refusal)
            return None

    def _next_request(self, now: float) -> Request | None:
        for refusal in islice(iter(self.crawl.parts.refusals.take, None), MADE_IN_VAIN):  # before more can be dropped
            if (request := self._refused(refusal)) is not None:
                return request
        link = self.crawl.take(now)
        if link is None:
            self._wake_at(self.crawl.next_ready(), now)
            return None
        if self._bandwidth.rate:
            self._bandwidth.take()
        turn = self.crawl.parts.frontier.next_turn(link)
        if turn is None:  # links of the page may be of its host
            trip = Trip(link, keep=SLACK, spare=True)
        else:
            trip = Trip(link, keep=turn + SLACK if turn < NEAR else 0.0)
        if link.is_own:
            return self._robots.request(link.url, trip)
        request = to_request(link, self.spider, trip, classes=self._hive is None)
        if link.history and self.crawl.parts.revisiting is not None:
            request.headers.update(self.crawl.parts.revisiting.headers(link))
        return request

    def wake(self) -> None:
        """Makes the engine ask again, at once: by itself it asks when a request ends, or every 5 seconds."""
        if self._engine is not None:
            self._engine.wake()

    # -- the crawl's side

    async def checkpoint(self, *, last: bool = False) -> None:
        """Writes ahead in slices, then commits between two pages, in one turn of the event loop."""
        barrier = self._barrier
        async with self._saving:
            if self._closed:  # the last checkpoint was taken while this one waited
                return
            if self.failed is not None:  # nothing more is kept
                raise self.failed
            await by_turns(self.crawl.parts.db.prepare(once=last))
            try:
                await barrier.shut(self._may_be_stuck)
                self.crawl.parts.halfway.leave_out(trip.link.url for trip in barrier.out if trip.link is not None)
                if self.failed is not None:  # part of a page is not on disk, so it must not be booked
                    raise self.failed
                self.crawl.checkpoint(last=last)
                self.kept.tell()
                self._saved = f"after the checkpoint of {time.strftime('%H:%M:%S')}"
                if self.on_checkpoint is not None:
                    self.on_checkpoint()
                await by_turns(self.crawl.parts.db.go_on())
            finally:
                barrier.open()

    @property
    def hurries(self) -> bool:
        """True if the crawl was told to stop, by a signal or by command; a signal may come while it closes."""
        return self._reason in HURRIED or (self._engine is not None and self._engine.told_to_stop)

    def fail(self, error: Exception) -> None:
        """Ends the crawl: the state on disk stays that of the last checkpoint.

        Any other exception is a bug that left a change half done, which must not be committed.
        """
        if self.failed is None:
            if self._lacks is not None and lack(error):
                self._lacks.give_way()  # now, for there may be no memory for the line
            taken = self.crawl.taken_away()
            if taken is not None:  # whatever failed, failed because of that
                error = StoreError(f"{taken}: nothing {self._saved} is kept")
            self.failed, told = as_failure(error, self._saved)
            self.kept.tell(self.failed)
            logger.critical("%s", self.failed, exc_info=None if told else error)
            close_spider(self.crawler, "store_failed")

    def _failure(self) -> EndedBadly | None:
        bad = self.failed is not None or self._reason in BROKEN
        if not bad and self._reason == FINISHED:  # any other end is no promise that all was done
            bad = self.crawl.parts.seeding.away > 0 or (self.fates is not None and self.fates.hopeless)
        if not bad and self._reason not in HURRIED:
            bad = self._lost > 0 or any(is_behind() for is_behind in self.behind)
        return EndedBadly(self._reason) if bad else None

    def _closing(self) -> None:
        self.stopping = True
        call_later(0.0 if lack(self.failed) else GRACE, downloader_of(self.crawler).abandon)

    def _hide(self, trip: Trip) -> None:
        """As with Scrapy's own retries, the spider gets only the last answer to a request; ours so, if it is a 202."""
        if trip.link is not None and trip.outcome is not None:
            if trip.exchange is not None and (trip.exchange.status >= 400 or trip.exchange.status == ACCEPTED):
                self.visitor.looks(trip.link, trip.exchange, trip.outcome)
            trip.comes_again = trip.abandoned or self.crawl.tries_again(trip.link, trip.outcome)

    def _may_be_stuck(self) -> bool:
        return self._inline.waiting > 0

    def _finished(self, trip: Trip) -> None:
        trip.booked = True
        if self._bandwidth.rate and trip.link is not None:
            self._bandwidth.finished(_size(trip))
        if not (trip.abandoned or self._inline.cut_short):
            try:
                self._book(trip)
            except Exception as error:  # noqa: BLE001 - as above
                self.fail(error)
        self._barrier.leave(trip)

    def _book(self, trip: Trip) -> None:
        link, outcome, exchange = trip.link, trip.outcome, trip.exchange
        if self.archive is not None and link is not None and outcome is not None and exchange is not None:
            is_plain = outcome.status == HTTPStatus.OK and not outcome.short
            exchange.again = not is_plain and self.crawl.tries_again(link, outcome)
        for write in trip.writes or ():
            write()
        if trip.link is not None:
            if not trip.visited:  # nobody has made its page
                if trip.is_prerequisite:
                    self._robots.end(trip)
                elif trip.exchange is not None:
                    self.visitor.withholds(trip.link, trip.exchange)
            if self.archive is not None and trip.exchange is not None and not trip.exchange.archived:
                self.archive(trip.link, trip.exchange)
            self.crawl.finish(trip.link, trip.outcome or NO_OUTCOME, trip.exchange, trip.withheld)
        elif trip.refusal is not None:
            self.crawl.parts.refusals.delivered(trip.refusal)

    def _wake_at(self, ready: float | None, now: float) -> None:
        """Sets one timer for the earliest due time: by itself the engine looks only every 5 seconds."""
        if ready is None or (self._timer is not None and now < self._timer_at <= ready):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = ready
        self._timer = call_later(max(ready - now, 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.wake()


def _nothing() -> None:
    """For a crawl without an archive."""


def _size(trip: Trip) -> int | None:
    """Bytes of an answer to go by for later ones: a robots.txt says nothing of pages, nor does a failure."""
    if trip.exchange is None or trip.link is None or trip.link.is_prerequisite:
        return None
    return trip.exchange.received


async def by_turns(slices: Iterator[float | None], clock: Callable[[], float] = time.perf_counter) -> None:
    """Runs work in slices, a few in one turn of the event loop: in a turn each, a second of work took half a minute.

    After one that did nothing there is a pause, because without any the loop would spin while it waits for the disk. A
    slice may say how long its pause is, in seconds.
    """
    begun = now = clock()
    for pause in slices:
        before, now = now, clock()
        if pause is None and now - before > NOTHING and now - begun < TOGETHER:
            continue
        await asyncio.sleep(PAUSE if pause is None else pause)
        begun = now = clock()


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """A merge may end after the loop was closed; then there is nothing to wake."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


def scheduler_of(crawler: Crawler) -> FrontierScheduler:
    """The crawler's scheduler, which has to be this one."""
    scheduler = crawler.engine.scheduler if crawler.engine else None
    if not isinstance(scheduler, FrontierScheduler):
        raise NotConfigured(f"SCHEDULER: {FrontierScheduler.__name__} is needed, not {scheduler}")
    return scheduler
