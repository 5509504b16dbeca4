"""Examines the crawl once a second, and counts what bounds its speed (crawl/bound.py)."""

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

LOOK_INTERVAL = 1.0  # seconds between two looks
BEAT_INTERVAL = 0.1  # seconds between two calls whose lateness shows that the event loop is held up
# The pause after a look is at least this many times the look's CPU time, which is 3 ms with 30,000
# hosts
MIN_PAUSE_FACTOR = 500.0
# `status` names what bounded the crawl during the last one or two such periods
TALLY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Totals of the resources that a crawl uses, or the difference of two such totals."""

    seconds: float
    ran: float  # seconds of the event loop's thread on a core
    crowded: float  # seconds that it waited for a core
    stalled: float  # seconds that it waited for the disk
    late: float  # seconds by which the event loop's turns came too late
    pages: int
    received: int  # bytes

    def since(self, before: ResourceUse) -> ResourceUse:
        """Return the resources used since an earlier moment."""
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
    """Counts the seconds of the run by what bounded the crawl, for `status` and for the last lines."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._loop = Loop(self.look)
        self._run_tally = Tally()
        self._current_tally = Tally()
        self._previous_tally = Tally()
        self._uncounted_seconds = dict.fromkeys(Cause, 0.0)  # fractions by cause
        self._tally_begun = 0.0
        self._due_at = 0.0
        self._beats = Loop(self._beat)
        self._late_seconds = 0.0
        self._last_beat = 0.0
        self._has_no_way = False  # at the last look, no way led to any host that waits
        # A signal had stopped the process, and it continues: no cause is charged for that time
        self._was_stopped = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_opening(crawler, cls(crawler))

    def opened(self) -> None:
        """Begin to look at the crawl."""
        self._scheduler = scheduler_of(self._crawler)
        self._downloader = downloader_of(self._crawler)
        self._crawl = self._scheduler.crawl
        # Not earlier, because opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        self._crawl.outlook.bound = lambda: self._sentence(
            self._current_tally.plus(self._previous_tally)
        )
        self._last_used = self._resources_used()
        self._tally_begun = self._last_used.seconds
        self._last_beat = self._last_used.seconds
        self._loop.start(LOOK_INTERVAL, now=False)
        self._beats.start(BEAT_INTERVAL, now=False)
        if threading.current_thread() is threading.main_thread():
            # Not by the event loop, whose handlers are called after the beat that is late
            signal.signal(signal.SIGCONT, self._continued)

    def closed(self) -> None:
        self._loop.stop()
        self._beats.stop()
        last_sentence = self._sentence(self._run_tally)
        self._crawl.outlook.bound = lambda: last_sentence

    def _sentence(self, tally: Tally) -> str:
        return sentence(tally, stopped_by(self._crawl.outlook, no_way=self._has_no_way))

    def _beat(self) -> None:
        # A callback that blocks makes hosts look slow; only the lateness of this timer shows it
        now = time.monotonic()
        self._late_seconds += max(now - self._last_beat - BEAT_INTERVAL, 0.0)
        self._last_beat = now

    def _continued(self, *_: object) -> None:
        self._was_stopped = True

    def look(self) -> None:
        """Charge the time since the last look to one cause."""
        begun = time.monotonic()
        spent = time.thread_time()
        # The last checkpoint would not have what is counted after the end has begun
        ends = self._scheduler.end.begun or self._scheduler.saves_no_more
        if begun < self._due_at or ends:
            return
        observation = self._observation()
        cause = judge(observation)
        if begun - self._tally_begun >= TALLY_SECONDS:
            self._tally_begun = begun
            self._previous_tally = self._current_tally
            self._current_tally = Tally()
        for tally in (self._run_tally, self._current_tally):
            tally.add(observation, cause)
        # The crawl's counters are whole numbers, which survive a restart and add up over drones
        seconds, fraction = divmod(self._uncounted_seconds[cause] + observation.seconds, 1.0)
        self._uncounted_seconds[cause] = fraction
        self._crawl.parts.counters.update({f"{PREFIX}{cause}": int(seconds)})
        self._due_at = begun + MIN_PAUSE_FACTOR * (time.thread_time() - spent) - LOOK_INTERVAL / 2

    def _resources_used(self) -> ResourceUse:
        """Return the present totals. Only the difference of two of them means something."""
        parts = self._crawl.parts
        seconds = time.monotonic()
        ran, crowded = thread_seconds()
        return ResourceUse(
            seconds=seconds,
            ran=ran,
            crowded=crowded,
            stalled=parts.db.disk.waited,
            late=self._late_seconds,
            pages=parts.counters["pages"],
            received=parts.counters["bytes"],
        )

    def _observation(self) -> BoundLook:
        """Return the facts by which `judge` finds the cause of the time since the last look."""
        crawl = self._crawl
        downloader = self._downloader
        used_before = self._last_used
        self._last_used = self._resources_used()
        used = self._last_used.since(used_before)
        if self._was_stopped:
            self._was_stopped = False
            used = replace(used, seconds=max(used.seconds - used.late, 0.0), late=0.0)
        downloads_by_phase = phases(downloader)
        state = crawl.parts.frontier.look.figures()
        # Takes 3 ms with 30,000 hosts
        ready = crawl.outlook.ready_hosts()
        # Without inline downloads that still wait for their hosts, while pages wait for them
        active = sum(downloads_by_phase.values()) - downloads_by_phase["queued"]
        turns = HostTurns.of({**state, "ready": ready})
        rules = crawl.outlook.waits().rules if turns.waiting >= active else Counter[str]()
        self._has_no_way = rules[NO_WAY] == turns.waiting > 0
        revisiting = crawl.parts.revisiting
        return BoundLook(
            seconds=used.seconds,
            trouble=stopped_by(crawl.outlook, no_way=self._has_no_way),
            has_lost_server=crawl.outlook.has_lost_server,
            short=downloader.network.shortage.is_pausing,
            throttled=downloader.network.bandwidth.held,
            away=crawl.outlook.servers.names,
            slots=downloader.total_concurrency,
            wanted=downloader.capacity.wanted,
            active=active,
            naming=downloads_by_phase["dns"],
            securing=downloads_by_phase["tls"],
            receiving=downloads_by_phase["body"],
            rendering=downloads_by_phase["rendered"],
            reading=downloads_by_phase["reader"],
            processing=downloads_by_phase["pipelines"],
            hosts=turns.active,
            ready=turns.ready,
            waiting=turns.waiting,
            failing=rules[FAILURE] + rules[ROBOTS],
            told=rules[RETRY_AFTER],
            delayed=rules[CRAWL_DELAY],
            queued=int(state.get("queued", 0)),
            deferred=int(state.get("deferred", 0)),
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
    """Return why nothing is fetched, empty if something is.

    `no_way`: no way leads to a host that waits.
    """
    if outlook.stopped_by or not no_way:
        return outlook.stopped_by
    return outlook.trouble or NO_WAY_OUT
