"""Looks once a second for downloads to cancel because others need their slots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from webcrawl.base.model import Link
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.running_downloads import Running
from webcrawl.crawl.trip import Trip
from webcrawl.net.network import Network
from webcrawl.net.shortage import BEAT_INTERVAL

PERIOD = BEAT_INTERVAL  # seconds between two looks


@dataclass(slots=True)
class HeldDownload:
    """A download under way, and for how long it has been seen."""

    trip: Trip
    link: Link
    seconds: float

    @property
    def received(self) -> int:
        return self.trip.source.received if self.trip.source is not None else 0


class Sweep:
    """Looks at all downloads once a second, and cancels those that hold a slot for too long.

    There is no timer for each: the time of a download is the sum of that between looks. The looks
    are the beats of the clock of downloads, which stands while this process does not run.
    """

    def __init__(
        self,
        crawl: Crawl,
        network: Network,
        running: Running,
        is_full: Callable[[], bool],
        fail: Callable[[Exception], None],
    ) -> None:
        """`is_full`: whether no slot is free."""
        self._crawl = crawl
        self._network = network
        self._running = running
        self._is_full = is_full
        self._fail = fail
        self._seconds: dict[Trip, float] = {}  # for how long each download has been seen
        self._clock = network.clock
        self._clock.beat()
        self._last_look_at = self._clock()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(PERIOD, self._sweep)

    def stop(self) -> None:
        """Cancel no more downloads."""
        self._timer.cancel()
        self._clock.stop()

    def _sweep(self) -> None:
        self._timer = self._loop.call_later(PERIOD, self._sweep)
        try:
            self._clock.beat()
            self._look(self._clock())
        except Exception as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
            self._fail(error)

    def _look(self, now: float) -> None:
        """Count the time of each download, and cancel those that hold their slot too long.

        Time in which this machine slowed or paused downloads is no download's.
        """
        is_slowed = self._network.bandwidth.held  # by BANDWIDTH_MAX
        self._count_time(0.0 if is_slowed else now - self._last_look_at)
        self._last_look_at = now
        if self._network.shortage.is_pausing or is_slowed:
            return
        # A download that was first seen in this look has 0 seconds.
        seen_before = [(trip, seconds) for trip, seconds in self._seconds.items() if seconds]
        held = [HeldDownload(trip, trip.link, time) for trip, time in seen_before if trip.link]
        for download in self._crawl.overstaying(held, full=self._is_full()):
            self._running.cancel(download.trip)

    def _count_time(self, passed: float) -> None:
        """Add the time since the last look to that of each download; a new one begins with 0."""
        before = self._seconds
        self._seconds = {
            trip: before[trip] + passed if trip in before else 0.0
            for trip in self._running.waiting()
        }
