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
MOST = 500  # links submitted at once
NEVER = float("inf")
PAUSE = 0.0005  # seconds of real time
BLINK = 0.001  # seconds until the next look if something is due at once
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
    """What a request gets, and how long it takes; `error` if it gets none."""

    status: int = 200
    seconds: float = 0.3
    wait: float = 0.0  # Retry-After
    body: bytes = b""
    location: str | None = None  # of a redirected robots.txt
    error: FetchError | None = None


@dataclass(slots=True)
class Asked:
    """A request that was answered: when it began and ended, and how."""

    link: Link
    begun: float
    ended: float
    answer: Answer


class Judge:
    """Counts what must never happen."""

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
    """A crawl of `web`, which says what a URL gets at a time; `feed` are URLs and when they are
    found, in order.
    """

    def __init__(
        self,
        folder: Path,
        web: Callable[[str, float], Answer],
        feed: list[tuple[float, list[str]]],
        settings: Mapping[str, Any] | None = None,
        *,
        interval: float = 600.0,
        on_asked: Callable[[Asked], None] | None = None,
    ) -> None:
        self._folder, self._web, self._feed, self._interval = folder, web, feed, interval
        self._settings = {**SETTINGS, **(settings or {}), "JOBDIR": str(folder)}
        self._on_asked = on_asked
        self.now = START
        self.judge = Judge()
        self.counters: Counter[str] = Counter()
        self._fed, self._saved = 0, (0, {})
        self._serial = 0
        # while nothing changes there is nothing to save
        self._checkpoint_at, self._changed = NEVER, False
        self._flying: list[tuple[float, int, Asked]] = []
        self.crawl = self._open()

    def __repr__(self) -> str:
        return f"<Simulation day={(self.now - START) / DAY:.2f} {self.crawl!r}>"

    # -- the crawl's runs

    def _open(self) -> Crawl:
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
        for _ in self.crawl.parts.db.prepare():
            time.sleep(PAUSE)  # while a thread of it syncs
        self.crawl.checkpoint()
        self._saved = (self._fed, dict(self.judge.not_before))
        self._checkpoint_at, self._changed = NEVER, False

    def kill(self, away: float = 0.0) -> None:
        """As kill -9: what came after the last checkpoint is forgotten.

        The next run begins `away` seconds later.
        """
        self.crawl.close()
        self._flying.clear()
        self.judge.busy.clear()
        self._fed, self.judge.not_before = self._saved[0], dict(self._saved[1])
        self.counters["kills"] += 1
        self.now += away
        self.crawl = self._open()

    def close(self) -> None:
        self.crawl.checkpoint(last=True)
        self.crawl.close()

    # -- time

    def run(self, until: float) -> None:
        """Crawls until then, or until nothing is left and nothing more will be found."""
        while self.now < until:
            ready = self._fill()
            if not self._flying and self._fed == len(self._feed) and not self.crawl.pending:
                return
            self._pass(ready, until)
            while self._flying and self._flying[0][0] <= self.now:
                self._end(heappop(self._flying)[2])
            if self.now >= self._checkpoint_at:
                self.checkpoint()

    def _fill(self) -> float | None:
        """Hands out what is due; returns when there may be more."""
        self._find()
        while len(self._flying) < self._slots:
            refusal = self.crawl.parts.refusals.take()
            if refusal is not None:
                self.crawl.parts.refusals.delivered(refusal)
                continue
            link = self.crawl.take(self.now)
            if link is None:
                return self.crawl.next_ready()
            self._begin(link)
        return None

    def _find(self) -> None:
        while self._fed < len(self._feed) and self._feed[self._fed][0] <= self.now:
            urls = self._feed[self._fed][1]
            for at in range(0, len(urls), MOST):
                self.crawl.parts.discovery.discover(HUB, urls[at : at + MOST], "L")
            self._fed += 1
            self._changes()

    def _pass(self, ready: float | None, until: float) -> None:
        """Time passes until something happens."""
        times = [until, self._checkpoint_at]
        if self._flying:
            times.append(self._flying[0][0])
        if self._fed < len(self._feed):
            times.append(self._feed[self._fed][0])
        if ready is not None:
            times.append(max(ready, self.now + BLINK))
        self.now = max(self.now, min(times))

    def _changes(self) -> None:
        """A checkpoint is due after the interval."""
        if not self._changed:
            self._checkpoint_at, self._changed = self.now + self._interval, True

    # -- requests

    def _begin(self, link: Link) -> None:
        self._changes()
        self.judge.begins(link, self.now)
        answer = self._web(link.url, self.now)
        self._serial += 1
        asked = Asked(link, self.now, self.now + answer.seconds, answer)
        heappush(self._flying, (asked.ended, self._serial, asked))

    def _end(self, asked: Asked) -> None:
        link, answer = asked.link, asked.answer
        self.judge.ends(link, answer, self.now)
        self.counters["requests"] += 1
        if self._on_asked is not None:
            self._on_asked(asked)
        outcome = self._outcome(asked)
        if link.path.endswith("P") and outcome.status not in NO_OUTCOMES:
            self.crawl.parts.robots_answers.answered(
                link, outcome.status, answer.body, answer.location, self.now
            )
        self.crawl.finish(link, outcome, None)

    def _outcome(self, asked: Asked) -> Outcome:
        """As the downloader makes it."""
        answer, error = asked.answer, asked.answer.error
        outcome = Outcome(answer.status, answer.seconds, answer.wait, at=self.now, ended=self.now)
        if error is None:
            self.crawl.parts.uplink.answered(asked.link.url, self.now)
            return outcome
        outcome.status, outcome.permanent, outcome.doubtful = (
            error.status,
            error.permanent,
            error.sign in DOUBTFUL,
        )
        wait = self.crawl.parts.uplink.failed(asked.link.url, error, asked.begun, self.now)
        if wait is not None:
            return Outcome(Status.UNTRIED, answer.seconds, wait, at=self.now, ended=self.now)
        return outcome

    # -- what became of the URLs

    def outcomes(self) -> Iterator[tuple[str, int, str]]:
        """URL, status and annotations of each line of the crawl log, robots.txt aside; for a closed
        crawl.
        """
        with (self._folder / "logs/crawl.log").open(encoding="ascii") as log:
            for line in log:
                _, status, _, url, path, *_, notes = line.split()
                if not path.endswith("P"):
                    yield url, int(status), notes
