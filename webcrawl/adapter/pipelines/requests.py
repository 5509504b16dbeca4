"""logs/requests.log: every request that was sent, also those that a kill -9 made the crawl repeat."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later

from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.pipelines.output import run_of
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.trip import trip_of
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import Untried
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import last_sent, request_line
from webcrawl.store.requests_log import SyncedLog, Windows
from webcrawl.urls.canonical import InvalidUrl, canonical

EACH = 1.0  # seconds of requests that a power cut may take from the log; kill -9 takes none
HOSTS = 1 << 16  # of which is remembered when they answered last


class RequestsPipeline:
    """No pipeline of pages: the downloader tells it of each request."""

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler, self._path = crawler, folder / "logs" / "requests.log"
        self._syncing: Future[None] | None = None
        self._timer: Any = None
        self._log: SyncedLog | None = None
        self._ending = False
        self._windows: Windows | None = None
        self._pause: Callable[[str], tuple[float, str]] = _unasked
        self._sent_out: dict[Request, str] = {}  # sent, and not answered, with their hosts
        self._answered: dict[str, float] = {}  # when each host has ended its last answer, the latest last

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if "requests" not in values["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler, Path(values["JOBDIR"]))

    def open_spider(self) -> None:
        run = run_of(self._crawler)
        if run.is_open:
            parts = run.crawl.parts
            self._pause = parts.about.pause
            self._open(parts.db)
            moments = downloader_of(self._crawler).moments
            moments.sent.append(self._sent)
            moments.left.append(self._left)
            self._crawler.signals.connect(self._close, signals.spider_closed)

    def _open(self, db: CrawlDB) -> None:
        asked = last_sent(self._path)  # before a torn line is ended
        self._worker, self._log = db.worker, SyncedLog(db.disk, self._path)
        self._windows = Windows(db, time.time, asked)

    def _sent(self, request: Request, trip: Trip | None) -> None:
        """Writes the line before the request goes out. Without a line it does not, and nobody is charged for that."""
        if self._log is None:
            return
        now, link = time.time(), trip.link if trip is not None else None
        url = _as_known(request.url, link)
        host = host_of(url)
        last = self._answered.get(host)
        waited = None if last is None else max(now - last, 0.0)
        try:
            self._log.write(request_line(now, request.method, url, link, waited, *self._pause(host)))
        except StoreError as error:
            scheduler_of(self._crawler).fail(error)
            raise Untried(str(error)) from error
        self._sent_out[request] = host
        if self._timer is None:
            self._timer = call_later(EACH, self._sync)

    def _left(self, request: Request) -> None:
        """The answer has ended, or failed: from now on its host is left alone."""
        host = self._sent_out.pop(request, None)
        if host is not None:
            self._answered.pop(host, None)
            trip = trip_of(request)
            outcome = trip.outcome if trip is not None else None
            # The time from which its wait counts: the core may have been taken away since.
            self._answered[host] = (outcome.at if outcome is not None else 0) or time.time()
            if len(self._answered) > HOSTS:
                del self._answered[next(iter(self._answered))]

    def _sync(self) -> None:
        """In a thread; a sync that has not ended after EACH seconds is waited for at the end only."""
        self._timer = None
        if self._log is None:
            return
        try:
            if not self._ending and self._syncing is not None and not self._worker.done(self._syncing):
                self._timer = call_later(EACH, self._sync)
                return
            if self._syncing is not None:
                self._worker.result(self._syncing)
            self._syncing = None if self._ending else self._worker.submit(self._log.sync)
            if self._ending:
                self._log.sync()
        except (StoreError, MemoryError) as error:
            scheduler_of(self._crawler).fail(error)

    def close_spider(self) -> None:
        """Other pipelines may still await downloads while they close: the thread will not be there for them."""
        self._ending = True
        if self._windows is not None:
            self._windows.end()  # the last checkpoint is next
        self._sync_now()

    def _sync_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._sync()

    def _close(self) -> None:
        """No request is sent any more."""
        self._sync_now()
        if self._log is not None:
            self._log.close()
            self._log = None


def _as_known(url: str, link: Link | None) -> str:
    """The URL as crawl.log has it: an awaited download may have written it in another way."""
    if link is not None and url == link.url:
        return url
    try:
        return canonical(url)
    except InvalidUrl:  # of a scheme that somebody else's handler knows
        return url


def _unasked(_: str) -> tuple[float, str]:
    """The pause before a request of which nobody knows a rule: no crawl is open."""
    return 0.0, ""
