"""logs/requests.log: every request that was sent, also those that a kill -9 made the crawl repeat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future

from webcrawl.base.model import Link, Outcome
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.run import Run
from webcrawl.net.errors import Untried
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import last_sent, request_line
from webcrawl.store.requests_log import SyncedLog, Windows
from webcrawl.urls.canonical import InvalidUrl, canonical

# seconds between two syncs: so much of the log a power cut may take, and kill -9 nothing
SYNC_INTERVAL = 1.0
HOSTS = 1 << 16  # hosts of which is remembered when they answered last


class RequestLog(Output):
    """No output of pages: whatever sends requests tells it of each."""

    output = "requests"

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._syncing: Future[None] | None = None  # the last sync, under way or ended
        self._timer: asyncio.TimerHandle | None = None  # of the next sync, once there is a new line
        self._log: SyncedLog | None = None  # None: no crawl is open
        self._is_ending = False  # pages come no more, though requests may
        # the times before kills, for which the outcomes of requests are unknown
        self._windows: Windows | None = None
        # the seconds that a host is left alone for, and the source that says so
        self._pause: Callable[[str], tuple[float, str]] = _no_pause
        # hosts of the requests that are sent, and not answered
        self._sent_out: dict[object, str] = {}
        # when each host has ended its last answer, the latest last; by time.monotonic, as people set
        # the machine's clock
        self._answered: dict[str, float] = {}

    def open(self, run: Run) -> None:
        """Begin to hear of requests sent and answered, and open requests.log."""
        super().open(run)
        if run.is_open:
            self._pause = run.crawl.parts.about.pause
            self._open(run.crawl.parts.db)
            run.requests.sent.append(self.note_sent)
            run.requests.left.append(self.note_left)
            run.ends.callback(self.close)

    def _open(self, db: CrawlDB) -> None:
        path = self.folder / "logs" / "requests.log"
        last_sent_at = last_sent(path)  # before a torn line is ended
        self._worker = db.worker
        self._log = SyncedLog(db.disk, path)
        self._windows = Windows(db, time.time, last_sent_at)

    def note_sent(self, request: object, method: str, url: str, link: Link | None) -> None:
        """Write the line before the request goes out.

        Without a line the request is not sent, and no host is charged for that: raise Untried.

        `request` is any value by which `note_left` knows it. `link` is the scheduler's, if it has
        handed it out.
        """
        if self._log is None:
            return
        url = _as_known(url, link)
        host = host_of(url)
        last = self._answered.get(host)
        waited = None if last is None else max(time.monotonic() - last, 0.0)
        try:
            line = request_line(time.time(), method, url, link, waited, *self._pause(host))
            self._log.write(line)
        except StoreError as error:
            self.run.fail(error)
            raise Untried(str(error)) from error
        self._sent_out[request] = host
        if self._timer is None:
            self._timer = self._call_later()

    def note_left(self, request: object, outcome: Outcome | None) -> None:
        """Note that the answer has ended, or failed: from now on its host is left alone."""
        host = self._sent_out.pop(request, None)
        if host is not None:
            self._answered.pop(host, None)
            # The time from which its wait counts: the core may have been taken away since.
            ended = outcome.ended if outcome is not None else 0.0
            self._answered[host] = ended or time.monotonic()
            if len(self._answered) > HOSTS:
                del self._answered[next(iter(self._answered))]

    def _call_later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(SYNC_INTERVAL, self._sync)

    def _sync(self) -> None:
        """Begin to sync the lines, in a thread; at the end, sync them before it returns.

        A sync that has not ended after SYNC_INTERVAL seconds is waited for at the end only.
        """
        self._timer = None
        if self._log is None:
            return
        try:
            is_under_way = self._syncing is not None and not self._worker.done(self._syncing)
            if is_under_way and not self._is_ending:
                self._timer = self._call_later()
                return
            # Raise what the last sync has raised, and wait for it at the end.
            if self._syncing is not None:
                self._worker.result(self._syncing)
            self._syncing = None if self._is_ending else self._worker.submit(self._log.sync)
            if self._is_ending:
                self._log.sync()
        except (StoreError, MemoryError) as error:
            self.run.fail(error)

    def close_spider(self) -> None:
        """Sync the lines, and from now on without the thread.

        Other pipelines may await downloads while they close, when the thread is gone.
        """
        self._is_ending = True
        if self._windows is not None:
            self._windows.end()  # the last checkpoint is next
        self._sync_now()

    def _sync_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._sync()

    def close(self) -> None:
        """Sync and close the log: no request is sent any more."""
        self._sync_now()
        if self._log is not None:
            self._log.close()
            self._log = None


def _as_known(url: str, link: Link | None) -> str:
    """Return the URL as crawl.log has it: an awaited download may write it otherwise."""
    if link is not None and url == link.url:
        return url
    try:
        return canonical(url)
    except InvalidUrl:  # of a scheme that somebody else's handler knows
        return url


def _no_pause(_: str) -> tuple[float, str]:
    """Return no pause and no rule, as long as no crawl is open."""
    return 0.0, ""
