"""A whole crawl in simulated time: everything that `assemble` connects, with a fake web instead of
a network.

What the downloader and the visitor do with an answer is done here in the same order. Every request
is judged: hosts that are asked twice at once, or before the time that their Retry-After has named.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import Any
from unittest import mock

from scrapy.settings import Settings

from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.crawl import assembly, ground
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl import NO_OUTCOMES, Crawl
from webcrawl.crawl.ground import Surroundings
from webcrawl.net.errors import DOUBTFUL, FetchError

START = 1_700_000_000.0
DAY = 86_400.0
HUB = Link("http://hub.test/", "", "", "http://hub.test/")  # all URLs are links of this page
LINKS_AT_ONCE = 500  # that are submitted
NEVER = float("inf")
PAUSE_SECONDS = 0.0005  # of real time
MIN_STEP_SECONDS = 0.001  # that the clock goes on if something is due at once
SETTINGS = {
    "SEEN_STORE": "benchmarks.support.memory_seen.MemorySeen",  # decides at once, without a thread
    "URL_FILTERS": {},
    "CONCURRENT_REQUESTS": 100,
    "OUTAGE_END_WAIT": 10**9,  # the simulation ends it
    "SOFT404_PROBE": 0,  # only what the feed names is requested
}
WAITS_IN_FULL = Surroundings(awaits_ends=True)


@dataclass(slots=True)
class Answer:
    """What a request gets, and how long it takes; `error` if it gets no answer."""

    status: int = 200
    seconds: float = 0.3
    wait: float = 0.0  # Retry-After
    body: bytes = b""
    location: str | None = None  # of a redirected robots.txt
    error: FetchError | None = None


@dataclass(slots=True)
class Requested:
    """A request that was answered: when it began and ended, and how."""

    link: Link
    begun: float
    ended: float
    answer: Answer


class Judge:
    """Notes requests that must never happen: two to a host at once, or before a Retry-After is
    over.
    """

    def __init__(self) -> None:
        self.busy: set[str] = set()
        self.not_before: dict[str, float] = {}
        self.early: list[str] = []
        self.overlaps: list[str] = []

    def begins(self, link: Link, now: float) -> None:
        host = host_of(link.url)
        if host in self.busy:
            self.overlaps.append(f"{link.url} at {now - START:.0f}")
        if now < self.not_before.get(host, 0.0):
            self.early.append(
                f"{link.url} at {now - START:.0f}, {self.not_before[host] - now:.0f} s too early"
            )
        self.busy.add(host)

    def ends(self, link: Link, answer: Answer, now: float) -> None:
        host = host_of(link.url)
        self.busy.discard(host)
        if answer.wait:
            self.not_before[host] = max(self.not_before.get(host, 0.0), now + min(answer.wait, DAY))


class Simulation:
    """A crawl in simulated time, with a fake web in place of a network."""

    def __init__(
        self,
        folder: Path,
        web: Callable[[str, float], Answer],
        feed: list[tuple[float, list[str]]],
        settings: Mapping[str, Any] | None = None,
        *,
        interval: float = 600.0,
        on_requested: Callable[[Requested], None] | None = None,
    ) -> None:
        """Assemble the crawl in a folder.

        `web` returns what a URL gets at a time. `feed` has URLs by the time at which they are
        found, in order. `interval` is the number of seconds between checkpoints. `on_asked` is
        called with each request that was answered.
        """
        self._folder = folder
        self._web = web
        self._feed = feed
        self._interval = interval
        self._settings = {**SETTINGS, **(settings or {}), "JOBDIR": str(folder)}
        self._on_requested = on_requested
        self.now = START
        self.judge = Judge()
        self.counters: Counter[str] = Counter()
        self._feed_position = 0
        self._saved: tuple[int, dict[str, float]] = (0, {})
        self._serial = 0
        # While nothing changes there is nothing to save
        self._checkpoint_at = NEVER
        self._changed = False
        self._in_flight: list[tuple[float, int, Requested]] = []
        self.crawl = self._open()

    def __repr__(self) -> str:
        return f"<Simulation day={(self.now - START) / DAY:.2f} {self.crawl!r}>"

    # -- the crawl's runs

    def _open(self) -> Crawl:
        """Assemble the crawl as of the last checkpoint, with the simulated clock."""
        settings = Settings()
        settings.setmodule("webcrawl.settings")
        for name, value in self._settings.items():
            settings.set(name, value)
        clock = partial(CrawlClock, wall=self._clock, steady=self._clock)
        with mock.patch.object(ground, "CrawlClock", clock):
            crawl, self.visitor = assembly.assemble(
                plain_values(settings, "web"), WAITS_IN_FULL, spider="web"
            )
        self._slots = int(settings["CONCURRENT_REQUESTS"])
        crawl.begin()
        return crawl

    def _clock(self) -> float:
        return self.now

    def checkpoint(self) -> None:
        """Take a checkpoint, as the crawl does."""
        for _ in self.crawl.parts.db.prepare():
            time.sleep(PAUSE_SECONDS)  # while a thread of it syncs
        self.crawl.checkpoint()
        self._saved = (self._feed_position, dict(self.judge.not_before))
        self._checkpoint_at, self._changed = NEVER, False

    def kill(self, away: float = 0.0) -> None:
        """Forget what came after the last checkpoint, as kill -9 does.

        The next run begins `away` seconds later.
        """
        self.crawl.close()
        self._in_flight.clear()
        self.judge.busy.clear()
        self._feed_position, self.judge.not_before = self._saved[0], dict(self._saved[1])
        self.counters["kills"] += 1
        self.now += away
        self.crawl = self._open()

    def close(self) -> None:
        self.crawl.checkpoint(last=True)
        self.crawl.close()

    # -- time

    def run(self, until: float) -> None:
        """Crawl until this time, or until nothing is left and nothing more will be found."""
        while self.now < until:
            ready = self._fill()
            if (
                not self._in_flight
                and self._feed_position == len(self._feed)
                and not self.crawl.pending
            ):
                return
            self._pass_time(ready, until)
            while self._in_flight and self._in_flight[0][0] <= self.now:
                self._end_request(heappop(self._in_flight)[2])
            if self.now >= self._checkpoint_at:
                self.checkpoint()

    def _fill(self) -> float | None:
        """Begin the requests that are due, and return when there may be more; None if all slots are
        full.
        """
        self._feed_found()
        while len(self._in_flight) < self._slots:
            refusal = self.crawl.parts.refusals.next_refusal()
            if refusal is not None:
                self.crawl.parts.refusals.delivered(refusal)
                continue
            link = self.crawl.next_link(self.now)
            if link is None:
                return self.crawl.next_ready()
            self._begin_request(link)
        return None

    def _feed_found(self) -> None:
        """Submit the URLs that have been found by now."""
        while (
            self._feed_position < len(self._feed) and self._feed[self._feed_position][0] <= self.now
        ):
            urls = self._feed[self._feed_position][1]
            for at in range(0, len(urls), LINKS_AT_ONCE):
                self.crawl.parts.discovery.discover(HUB, urls[at : at + LINKS_AT_ONCE], "L")
            self._feed_position += 1
            self._note_change()

    def _pass_time(self, ready: float | None, until: float) -> None:
        """Move the clock to the next moment at which something happens."""
        times = [until, self._checkpoint_at]
        if self._in_flight:
            times.append(self._in_flight[0][0])
        if self._feed_position < len(self._feed):
            times.append(self._feed[self._feed_position][0])
        if ready is not None:
            times.append(max(ready, self.now + MIN_STEP_SECONDS))
        self.now = max(self.now, min(times))

    def _note_change(self) -> None:
        """Note that there is something to save: a checkpoint is due after the interval."""
        if not self._changed:
            self._checkpoint_at, self._changed = self.now + self._interval, True

    # -- requests

    def _begin_request(self, link: Link) -> None:
        self._note_change()
        self.judge.begins(link, self.now)
        answer = self._web(link.url, self.now)
        self._serial += 1
        requested = Requested(link, self.now, self.now + answer.seconds, answer)
        heappush(self._in_flight, (requested.ended, self._serial, requested))

    def _end_request(self, requested: Requested) -> None:
        """Do with an answer what the crawl does with it, except for its body."""
        link, answer = requested.link, requested.answer
        self.judge.ends(link, answer, self.now)
        self.counters["requests"] += 1
        if self._on_requested is not None:
            self._on_requested(requested)
        outcome = self._outcome(requested)
        if link.path.endswith("P") and outcome.status not in NO_OUTCOMES:
            self.crawl.parts.robots_answers.record_answer(
                link, outcome.status, answer.body, answer.location, self.now
            )
        self.crawl.finish(link, outcome, None)

    def _outcome(self, requested: Requested) -> Outcome:
        """Return the outcome as the downloader makes it."""
        answer, error = requested.answer, requested.answer.error
        outcome = Outcome(answer.status, answer.seconds, answer.wait, at=self.now, ended=self.now)
        if error is None:
            self.crawl.parts.uplink.record_answer(requested.link.url, self.now)
            return outcome
        outcome.status = error.status
        outcome.permanent = error.permanent
        outcome.doubtful = error.sign in DOUBTFUL
        wait = self.crawl.parts.uplink.failed(requested.link.url, error, requested.begun, self.now)
        if wait is not None:
            return Outcome(Status.UNTRIED, answer.seconds, wait, at=self.now, ended=self.now)
        return outcome

    # -- what became of the URLs

    def outcomes(self) -> Iterator[tuple[str, int, str]]:
        """Yield URL, status and annotations of each line of crawl.log, except those of robots.txt.

        The crawl must be closed.
        """
        with (self._folder / "logs/crawl.log").open(encoding="ascii") as log:
            for line in log:
                _, status, _, url, path, *_, notes = line.split()
                if not path.endswith("P"):
                    yield url, int(status), notes
