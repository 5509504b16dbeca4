"""A crawl by itself, in the caller's event loop: the one loop, and no framework."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from typing import Any

from webcrawl.base.errors import NothingFetched, lack
from webcrawl.base.loading import load
from webcrawl.base.model import Status
from webcrawl.base.outputs import own_outputs
from webcrawl.base.own_code import made
from webcrawl.base.readable import count
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.content.page import Page
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.checkpointing import RegularCheckpoints, by_turns
from webcrawl.crawl.control.in_force import OF_REQUESTS
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.disk_space import DiskSpace
from webcrawl.crawl.download_outcomes import Outcomes
from webcrawl.crawl.driver import Driver, PageOrError
from webcrawl.crawl.fetching import Fetching, connect, link_of, next_trip, reading_ahead
from webcrawl.crawl.ground import Surroundings
from webcrawl.crawl.job_folder import check_folder, make_folder
from webcrawl.crawl.last_pages import closed
from webcrawl.crawl.outputs.modules import processors
from webcrawl.crawl.outputs.output import Dropped, Output
from webcrawl.crawl.page_end import PageEnd
from webcrawl.crawl.page_making import PageMaking
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.periodic import DueTimer, Loop, from_thread
from webcrawl.crawl.robots_hearing import RobotsHearing
from webcrawl.crawl.rules import limits_of
from webcrawl.crawl.run import Run
from webcrawl.crawl.running_downloads import STOP_GRACE, Capacity, Running
from webcrawl.crawl.seed_fates import SeedFates
from webcrawl.crawl.slot_sweep import Sweep
from webcrawl.crawl.stats_writing import StatsWriting
from webcrawl.crawl.trip import Trip
from webcrawl.net.dns_answers import Lookup
from webcrawl.net.environment_proxies import environment_proxies
from webcrawl.net.network import Network
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import FINISHED, STORE_FAILED
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import AwayError, is_url, list_paths

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 1.0  # seconds between two looks whether anything is left
# Module and class by name, in the order in which pages go through them; those after `news` get only
# the pages that this lets pass.
OUTPUTS: dict[str, str] = {
    "warc": "warc.Warc",
    "links": "logs.LinkLog",
    "changes": "tables.Changes",
    "tables": "tables.Tables",
    "news": "news.News",
    "text": "text.Text",
    "images": "logs.Images",
    "tags": "tags.Tags",
    "pagefiles": "pagefiles.PageFiles",
    "neardup": "logs.NearDuplicates",
    "skipped": "logs.Skipped",
    "documents": "documents.Documents",
    "requests": "requests.RequestLog",
    "webhook": "stream.WebHook",
}
Deliver = Callable[[Page], Awaitable[None]]


class _Ended(Exception):  # noqa: N818 - reads as what it is
    """Raised for a page that is beyond the crawl's limit: the next run has it again."""


class RunLimits:
    """The settings CLOSESPIDER_TIMEOUT, _PAGECOUNT and _BYTES, of Scrapy's CloseSpider.

    Time and pages are those of this run; bytes are those of all runs.
    """

    def __init__(self, values: CheckedSettings, counters: Counter[str]) -> None:
        """Begin to count time and pages. `counters`: the crawl's, which go on counting."""
        self._values = values
        self._counters = counters
        self._begun = time.monotonic()
        self._answers_before = counters["answers"]

    def reached(self) -> Iterator[str]:
        """Yield the reason to close for each limit that is reached."""
        values, counters = self._values, self._counters
        if 0 < values["CLOSESPIDER_TIMEOUT"] <= time.monotonic() - self._begun:
            yield "closespider_timeout"
        if 0 < values["CLOSESPIDER_PAGECOUNT"] <= counters["answers"] - self._answers_before:
            yield "closespider_pagecount"
        if 0 < values["CLOSESPIDER_BYTES"] <= counters["bytes"]:
            yield "closespider_bytes"


class Standalone:
    """Opens a crawl, drives it until nothing is left or it is told to stop, and closes it.

    A *trip* is a URL's way through the crawl; `driver` calls the steps of the loop here for each:
    `next_trip`, `fetch`, `visit` or `visit_own`, `process`, `finish`. Every page that is news goes
    to `deliver`, and is finished when that returns.
    """

    # -- set by `open`, in this order

    slots: int  # downloads at once, as many as the limit of open files allows
    network: Network
    running: Running  # the downloads under way, to end them with the crawl
    barrier: Barrier  # between answers and checkpoints
    timer: DueTimer  # wakes the loop when a host is due
    fetching: Fetching  # the step `fetch`
    making: PageMaking  # the step `visit`
    finish: Callable[[Trip], None]  # the step that books a page
    visit_own: Callable[[Trip], list[Page]]  # the step for a robots.txt
    _stats: StatsWriting
    _limits: RunLimits

    def __init__(self, values: CheckedSettings, given: Mapping[str, Any], deliver: Deliver) -> None:
        """Open nothing yet: `open` does.

        `values`: the checked settings.
        `given`: the user's own settings, as they were written.
        `deliver`: gets every page that is news; the page is finished when that returns.
        """
        self._values = values
        self._deliver = deliver
        # the reason of the end, once the crawl is to stop
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.run = Run(self.stop, given)
        self._outputs: list[Output] = []
        # Steps of the outputs through which each page goes, in order.
        self._processors: list[Callable[[Any], Any]] = []
        self.driver: Driver | None = None  # once it is open
        self._network: Network | None = None  # to be closed, even if opening the crawl fails
        self._delivered = 0  # pages in this run
        self.errors = 0  # pages that ended with an error of the user's code or of an output

    # -- the beginning

    async def open(self, seeds: str, limit: int | None) -> None:
        """Open the crawl in JOBDIR, new or resumed, and begin it.

        Raise an error whose text is one line if something stands in its way.
        """
        values, run, folder = self._values, self.run, Path(self._values["JOBDIR"])
        make_folder(folder)
        check_folder(folder)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._of_loop)
        # As many connections as fit into the limit of open files: for fetches, and kept ones.
        capacity = Capacity()
        fits = capacity.fit(values)
        self.slots = fits.fetches
        lookup = partial(made, "DNS_LOOKUP", values["DNS_LOOKUP"], Lookup)
        network = self._network = Network(values, lookup=lookup, keep_at_most=fits.kept)
        run.open(*self._assembled(seeds, limit, loop))
        self.network = network
        self.running = Running()
        self.barrier = Barrier()
        self.timer = DueTimer(self.wake)
        await self._connect(values, seeds)
        self._open_outputs()
        self._begin(values)

    def _assembled(
        self, seeds: str, limit: int | None, loop: asyncio.AbstractEventLoop
    ) -> tuple[Crawl, Any]:
        """Return the crawl of these seeds, and its visitor; `limit`: of so many seeds."""
        values = self._values
        return assemble(
            values,
            Surroundings(
                seeds=Seeds(seeds, limit, values["URL_MAX_LENGTH"]) if seeds else None,
                on_ready=partial(from_thread, loop, self.wake),
            ),
            spider="web",
            arguments={"seeds": seeds, "limit": limit, "since": ""},
            slots=self.slots,
        )

    async def _connect(self, values: CheckedSettings, seeds: str) -> None:
        """Connect the network and the crawl: make the steps of the loop that use both.

        They are `fetching`, `making` (pages of answers), `finish` and `visit_own` (of robots.txt).
        """
        run, network = self.run, self.network
        parts, visitor = run.crawl.parts, run.visitor
        hops = values["REDIRECT_MAX_HOPS"] if values["URL_FOLLOW"] else 0
        # A host whose name does not exist may be a misspelt one of these.
        hosts_of_urls = [host_of(url) for url in filter(is_url, list_paths(seeds))]
        run.fates = fates = SeedFates(run.crawl, hops, hosts_of_urls)
        robots = RobotsHearing(visitor, run.fail, pages=True)
        end = PageEnd(
            run.crawl,
            visitor,
            robots=robots,
            archiving=run.archiving,
            barrier=self.barrier,
            bandwidth=network.bandwidth,
            has_cancelled_awaited=_never,
            fail=run.fail,
        )
        proxies = environment_proxies()
        outcomes = Outcomes(
            [fates.failed],
            [end.hide],
            network.clock,
            whole=values.get("DOWNLOAD_FAIL_ON_DATALOSS", True),
            ours=proxies.all if proxies is not None else (),
            retry_times=limits_of(values).attempts - 1,
        )
        outcomes.uplink = parts.uplink
        connect(network, parts, self.wake)
        ahead = reading_ahead(visitor, values)
        run.ends.callback(ahead.close)
        await ahead.begin()
        self.fetching = Fetching(
            {
                "http": network.http,
                "https": network.http,
                "ftp": network.ftp,
                "gopher": network.gopher,
            },
            outcomes,
            self.running,
            headers=parts.moments.next_headers,
            headers_of_robots=robots.conditions,
            readers_ahead=[ahead],
            hooks=run.requests,
            count=parts.counters.update,
            on_lack=run.fail,
            whole=values.get("DOWNLOAD_FAIL_ON_DATALOSS", False),
            proxies=proxies,
        )
        self.making = PageMaking(visitor, visitor.follow, run.at_hand, run.fail, end_error=_Ended)
        self.finish = end.finished
        self.visit_own = robots.pages_of

    def _open_outputs(self) -> None:
        """Open the outputs that OUTPUTS names, and `news`, in the order of OUTPUTS in this file.

        The user's own come last.
        """
        for name, path in OUTPUTS.items():
            if name in self._values["OUTPUTS"] or name == "news":
                file, _, kind = path.partition(".")
                output_class = getattr(import_module(f"webcrawl.crawl.outputs.{file}"), kind)
                self._add(output_class(self._values), name)
        for path in own_outputs(self._values["OUTPUTS"]):
            self._add(load(path)(self._values), path)

    def _add(self, output: Output, name: str) -> None:
        self._outputs.append(output)
        output.open(self.run)
        self._processors += processors(name, output)

    def _begin(self, values: CheckedSettings) -> None:
        """Open the checkpoints, make the loop, start what runs at intervals, and begin to fetch.

        In the end `run.stops` stops all that runs at intervals.
        """
        run, network, folder = self.run, self.network, Path(values["JOBDIR"])
        run.keeping.open(run.crawl, self.barrier, _never)
        in_force = run.crawl.parts.in_force
        in_force.listen(OF_REQUESTS, network.change)
        in_force.listen(
            ["BANDWIDTH_MAX"], lambda now: network.bandwidth.limit(now["BANDWIDTH_MAX"])
        )
        self.driver = Driver(self, self.barrier, values["SCRAPER_SLOT_MAX_ACTIVE_SIZE"])
        regular = RegularCheckpoints(run.keeping, values["CHECKPOINT_INTERVAL"])
        regular.begin(run.crawl, self._outputs)
        space = DiskSpace(folder, values["MIN_FREE_DISK"], self._pause_fetching)
        in_force.listen(["MIN_FREE_DISK"], space.change)
        space.start()
        self._stats = StatsWriting(run, folder, lambda: self.errors)
        self._stats.begin()
        self._limits = RunLimits(values, run.crawl.parts.counters)
        looking = Loop(self._look)
        looking.start(LOOK_INTERVAL, now=False)
        sweep = Sweep(run.crawl, network, self.running, lambda: self.is_full, run.fail)
        for stop in (regular.end, space.stop, looking.stop, sweep.stop, self.timer.stop):
            run.stops.callback(stop)
        self.wake()

    # -- the loop

    @property
    def is_full(self) -> bool:
        """Return whether no slot is free."""
        return 0 < self.slots <= len(self.driver.fetching if self.driver is not None else ())

    def wake(self) -> None:
        """Let the loop look for what is due."""
        if self.driver is not None:
            self.driver.wake()

    def may_fetch(self) -> bool:
        """Return whether another download may begin now.

        Not if no slot is free, if a command or a lack of disk holds the crawl, if the crawl has
        failed, or while the network lacks descriptors or has used up its bandwidth.
        """
        network, in_force = self.network, self.run.crawl.parts.in_force
        if self.is_full or in_force.held or self.run.failed:
            return False
        return not (network.shortage.is_pausing or network.bandwidth.held)

    def next_trip(self) -> Trip | None:
        """Return the next URL that is due, or None if none is."""
        while True:
            trip = next_trip(self.run.crawl, self.network.bandwidth, self.timer)
            if trip is None or trip.link is None or not trip.link.request:
                return trip
            # A request of a spider's own, of a run with Scrapy: only the spider can make it.
            self.run.crawl.refuse(trip.link, Status.NO_METHOD)

    async def fetch(self, trip: Trip) -> bool:
        return await self.fetching.fetch(trip, link_of(trip))

    def visit(self, trips: Sequence[Trip]) -> list[PageOrError]:
        return self.making.pages(trips)

    async def process(self, trip: Trip, page_or_error: PageOrError) -> None:
        """Take the pages of an answer through the processors to the caller.

        Raise nothing: a mistake in a processor is logged and counted, and a lack of the machine
        ends the crawl. An error in place of the pages is handled as if a processor had raised it.
        """
        if isinstance(page_or_error, Exception):
            page_or_error = _raising(page_or_error)
        try:
            for page in page_or_error:
                await self._processed(page)
        except Dropped:  # an output keeps the page from those after it
            return
        except _Ended:  # not booked: the next run has the page again
            trip.abandoned = True
        except Exception as error:
            self.errors += 1
            logger.exception("Error while handling %s", trip.url)
            if lack(error):
                self.run.fail(error)

    async def _processed(self, page: Page) -> None:
        """Take a page through the processors and deliver the item; stop at the item count.

        Raise _Ended for a page beyond that count, and whatever a processor raises.
        """
        item: Any = page
        for process in self._processors:
            item = process(item)
            if isawaitable(item):
                item = await item
        item_limit = self._values["CLOSESPIDER_ITEMCOUNT"]
        if 0 < item_limit <= self._delivered:
            raise _Ended
        self._delivered += 1
        await self._deliver(item)
        if self._delivered == item_limit:
            self.stop("closespider_itemcount")

    def fail(self, error: Exception) -> None:
        self.run.fail(error)

    def be_idle(self) -> None:
        """Stop the crawl if nothing is queued, and no source may bring more."""
        if not self.run.crawl.pending and not self.run.expects_more:
            self.stop(FINISHED)

    def give_up(self) -> None:
        """Do nothing: a page is closed whatever it waits for."""

    def _look(self) -> None:
        """Look, once in LOOK_INTERVAL, whether a limit is reached or nothing is left."""
        driver = self.driver
        if driver is not None:
            driver.look()
            for reason in self._limits.reached():
                self.stop(reason)
            if not driver.busy:
                self.be_idle()

    def _pause_fetching(self, why: str) -> str:
        """Fetch nothing for this reason, or go on if it is empty; return that in words."""
        self.run.crawl.parts.set_pause_reason(why, self)
        self.wake()
        return f"nothing is fetched ({why})" if why else "fetching resumes"

    def _of_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the crawl if it lacked memory or the like where no part has noticed it.

        Else the page that was under way would count as done.
        """
        error = context.get("exception")
        if isinstance(error, Exception) and lack(error) and not self.run.saves_no_more:
            self.run.fail(error)
        else:
            loop.default_exception_handler(context)

    # -- the end

    def stop(self, reason: str) -> None:
        """Let `until_over` return this reason, unless it has one already."""
        if not self._over.done():
            self._over.set_result(reason)

    async def until_over(self) -> str:
        """Wait until nothing is left, or the crawl has failed. Return the reason."""
        return await asyncio.shield(self._over)

    def stats(self) -> dict[str, Any]:
        """Return all counters by name; none before the crawl is open."""
        return self.run.kept(self.run.crawl.stats()) if self.run.is_open else {}

    async def close(self, reason: str) -> None:
        """Take the last checkpoint, and close everything; the next run does what is under way.

        Raise StoreError if the crawl could not keep what it did, or could not send it to the store;
        after the end of a crawl NothingFetched or AwayError, if its seeds gave nothing or were not
        all read.
        """
        run = self.run
        self.stop(reason)
        try:
            if self.driver is not None:
                await self._end(self.driver)
            if run.is_open:
                self._close_parts(self._over.result())
        finally:
            if self._network is not None:
                await self._network.close()
        if run.failed is not None:
            raise run.failed
        if any(is_behind() for is_behind in run.behind):
            raise StoreError(f"{self._values['JOBDIR']}: not all that the crawl has was sent")
        if self._over.result() == FINISHED and run.is_open:
            self._hold_to_seeds()

    def _hold_to_seeds(self) -> None:
        """Raise what an ended crawl must not hide: unanswered seeds, or lists that are away."""
        fates, seeding = self.run.fates, self.run.crawl.parts.seeding
        if fates is not None and not fates.got:
            bad = f"; lines that are not seeds: {seeding.bad}" if seeding.bad else ""
            raise NothingFetched("; ".join(fates.lines()) or f"no seed has given an answer{bad}")
        if seeding.away:
            raise AwayError(
                f"{count(seeding.away, 'list')} of seeds could not be read to the end: run the "
                "crawl again to retry"
            )

    async def _end(self, driver: Driver) -> None:
        """Let what is under way end, STOP_GRACE seconds at most.

        Then close the outputs, and take the last checkpoint.
        """
        run = self.run
        drained = driver.close()  # takes no more URLs; done when none is under way
        self.running.abandon()
        driver.cancel()
        try:
            await asyncio.wait_for(asyncio.shield(drained), STOP_GRACE)
        except TimeoutError:
            driver.forsake()  # pages that catch the cancellation, and go on
        run.stops.close()
        # Before the last checkpoint, which has what they still write.
        for output in reversed(self._outputs):
            await closed(partial(_close, output), lambda: True)
        try:
            run.archiving.end()
            run.crawl.parts.unkept.report()
            await run.checkpoint(last=True)
            await by_turns(run.crawl.followers.finish_work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
            run.fail(tamed(error))

    def _close_parts(self, reason: str) -> None:
        """Close what the crawl has open, and write stats.json with the reason of its end."""
        run = self.run
        run.keeping.saves_no_more = True
        run.ends.close()
        if self.driver is not None:
            self._stats.save(STORE_FAILED if run.failed is not None else reason)
        try:
            run.crawl.close()
        except Exception as error:  # noqa: BLE001 - what was committed stays; but something is wrong
            run.fail(error)


async def _close(output: Output) -> None:
    closing = output.close_spider()
    if isawaitable(closing):
        await closing


def _raising(error: Exception) -> Iterable[Page]:
    yield from ()
    raise error


def _never() -> bool:
    """Return False: without a spider no code awaits a download of its own."""
    return False
