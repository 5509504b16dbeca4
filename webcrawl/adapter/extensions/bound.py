"""Looks at the crawl once a second, and counts what bounds it (crawl/bound.py)."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from webcrawl.adapter.download_phases import phases
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.crawl.bound import (
    NO_WAY_OUT,
    PREFIX,
    BoundLook,
    Cause,
    Tally,
    judge,
    sentence,
    thread_seconds,
)
from webcrawl.crawl.outlook import Outlook
from webcrawl.crawl.periodic import Loop
from webcrawl.frontier.wait_words import CRAWL_DELAY, FAILURE, NO_WAY, RETRY_AFTER, ROBOTS
from webcrawl.store.jobdir.figures import HostTurns

INTERVAL = 1.0  # seconds between two looks
BEAT = 0.1  # seconds between two calls that show by their lateness what holds up the event loop
# the time until the next look is at least so many times this one's CPU time: 3 ms with 30,000 hosts
CHEAP = 500.0
HALF = 30.0  # seconds: `status` says what bounded the last one or two times as much


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """The resources that a crawl has used since it began to be watched."""

    seconds: float
    ran: float  # seconds of the event loop's thread on a core
    crowded: float  # seconds that it waited for a core
    stalled: float  # seconds that it waited for the disk
    late: float  # seconds by which the event loop's turns came too late
    pages: int
    received: int  # bytes

    def since(self, before: ResourceUse) -> ResourceUse:
        """Return what was used after an earlier moment."""
        return ResourceUse(
            seconds=self.seconds - before.seconds,
            ran=self.ran - before.ran,
            crowded=self.crowded - before.crowded,
            stalled=self.stalled - before.stalled,
            late=self.late - before.late,
            pages=self.pages - before.pages,
            received=self.received - before.received,
        )


class Bound:
    """Counts whole seconds by cause, and has the crawl say what bounds it, lately and in all."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._loop = Loop(self.look)
        self._run = Tally()
        self._now = Tally()
        self._before = Tally()
        self._rest = dict.fromkeys(Cause, 0.0)  # parts of seconds that are not counted yet
        self._turned = 0.0
        self._due = 0.0
        self._beats = Loop(self._beat)
        self._late = 0.0
        self._beaten = 0.0
        self._no_way = False  # at the last look: none of the hosts that wait has a way to it
        # the process was stopped by a signal, and goes on: no cause is charged for that time
        self._stood = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        self._scheduler = scheduler_of(self._crawler)
        self._downloader = downloader_of(self._crawler)
        self._crawl = self._scheduler.crawl
        # not before: opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        self._crawl.outlook.bound = lambda: self._said(self._now.plus(self._before))
        self._used = self._use()
        self._turned = self._used.seconds
        self._beaten = self._used.seconds
        self._loop.start(INTERVAL, now=False)
        self._beats.start(BEAT, now=False)
        if threading.current_thread() is threading.main_thread():
            # the loop's own handlers come after what is late
            signal.signal(signal.SIGCONT, self._continued)

    def closed(self) -> None:
        self._loop.stop()
        self._beats.stop()
        said = self._said(self._run)
        self._crawl.outlook.bound = lambda: said

    def _said(self, tally: Tally) -> str:
        return sentence(tally, stopped_by(self._crawl.outlook, no_way=self._no_way))

    def _beat(self) -> None:
        # A callback that blocks makes hosts look slow: only the lateness of this timer shows it
        now = time.monotonic()
        self._late += max(now - self._beaten - BEAT, 0.0)
        self._beaten = now

    def _continued(self, *_: object) -> None:
        self._stood = True

    def look(self) -> None:
        """Charge the time since the look before to one cause."""
        begun = time.monotonic()
        spent = time.thread_time()
        # Nothing is counted that the last checkpoint lacks
        ends = self._scheduler.end.begun or self._scheduler.saves_no_more
        if begun < self._due or ends:
            return
        look = self._look()
        cause = judge(look)
        if begun - self._turned >= HALF:
            self._turned = begun
            self._before = self._now
            self._now = Tally()
        for tally in (self._run, self._now):
            tally.add(look, cause)
        # The crawl's counters are whole numbers, which survive a restart and add up over drones
        whole, rest = divmod(self._rest[cause] + look.seconds, 1.0)
        self._rest[cause] = rest
        self._crawl.parts.counters.update({f"{PREFIX}{cause}": int(whole)})
        self._due = begun + CHEAP * (time.thread_time() - spent) - INTERVAL / 2

    def _use(self) -> ResourceUse:
        parts = self._crawl.parts
        seconds = time.monotonic()
        ran, crowded = thread_seconds()
        return ResourceUse(
            seconds=seconds,
            ran=ran,
            crowded=crowded,
            stalled=parts.db.disk.waited,
            late=self._late,
            pages=parts.counters["pages"],
            received=parts.counters["bytes"],
        )

    def _look(self) -> BoundLook:
        crawl = self._crawl
        downloader = self._downloader
        before = self._used
        self._used = self._use()
        used = self._used.since(before)
        if self._stood:
            self._stood = False
            used = replace(used, seconds=max(used.seconds - used.late, 0.0), late=0.0)
        doing = phases(downloader)
        state = crawl.parts.frontier.look.figures()
        # 3 ms with 30,000 hosts
        ready = crawl.outlook.ready_hosts()
        # these wait for their hosts, and pages for them
        asked = sum(doing.values()) - doing["queued"]
        turns = HostTurns.of({**state, "ready": ready})
        rules = crawl.outlook.waits().rules if turns.waiting >= asked else Counter[str]()
        self._no_way = rules[NO_WAY] == turns.waiting > 0
        revisiting = crawl.parts.revisiting
        return BoundLook(
            seconds=used.seconds,
            trouble=stopped_by(crawl.outlook, no_way=self._no_way),
            has_lost_server=crawl.outlook.has_lost_server,
            short=downloader.network.shortage.is_pausing,
            throttled=downloader.network.bandwidth.held,
            away=crawl.outlook.servers.names,
            slots=downloader.total_concurrency,
            wanted=downloader.capacity.wanted,
            asked=asked,
            naming=doing["dns"],
            securing=doing["tls"],
            receiving=doing["body"],
            rendering=doing["rendered"],
            reading=doing["reader"],
            processing=doing["pipelines"],
            hosts=turns.asked,
            ready=turns.ready,
            waiting=turns.waiting,
            failing=rules[FAILURE] + rules[ROBOTS],
            told=rules[RETRY_AFTER],
            delayed=rules[CRAWL_DELAY],
            queued=int(state.get("queued", 0)),
            aside=int(state.get("aside", 0)),
            over_budget=int(state.get("over_budget", 0)),
            revisited=revisiting.fetched_again if revisiting is not None else 0,
            ran=used.ran,
            crowded=used.crowded,
            stalled=used.stalled,
            late=used.late,
            pages=used.pages,
            bytes=used.received,
        )


def stopped_by(outlook: Outlook, *, no_way: bool) -> str:
    """Return why nothing is fetched, if nothing is; `no_way`: no way leads to the hosts that wait."""
    if outlook.stopped_by or not no_way:
        return outlook.stopped_by
    return outlook.trouble or NO_WAY_OUT
