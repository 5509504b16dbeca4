"""stream/NAME/*.jsonl: pages and ends of URLs on their way to a receiver (docs/stream.md).

A batch is a file of the checkpoint. It is sent once a checkpoint has it, and removed by the first
checkpoint after the receiver has taken it. A crash in between has it sent again, with the same id
and the same bytes: the receiver drops it by its id.
"""

from __future__ import annotations

import base64
import hmac
import json
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from webcrawl.base.dates import iso
from webcrawl.base.doubling import DoublingWait
from webcrawl.base.errors import words_of
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.checks.places import webhook_key
from webcrawl.crawl.outputs.output import on_end
from webcrawl.crawl.outputs.text import PageLines
from webcrawl.crawl.periodic import Loop
from webcrawl.crawl.run import Run
from webcrawl.record.fulltext.text_files import MakeLine
from webcrawl.store.output import Output as OutputFile
from webcrawl.store.outputs import STREAMS
from webcrawl.store.worker import SYSTEMS, Worker

logger = logging.getLogger(__name__)

BATCH = 512 << 10  # bytes after which one ends: nginx takes no bodies above 1 MiB by default
MIB = 1 << 20
LOOK_INTERVAL = 1.0  # seconds between two looks at what was taken
POLL_INTERVAL = 0.05  # the same at the end of the crawl
SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT = 1.0, 60.0  # seconds between two tries of a batch
TIMEOUT = 60.0  # seconds for the receiver's answer
PATIENCE = 10.0  # seconds for which the end of a crawl waits while nothing is taken


class Stream(PageLines):
    """Sends batches of JSON lines, in their order, each until the receiver has taken it.

    A class derived from this one has a name in `output`, and the method `send`.

    A batch goes through four states: the file that lines are appended to; ended, and counted in
    `_sizes`; being sent, in `_sending`, once a checkpoint has it; taken, in neither of the two, and
    its file is removed by the next checkpoint. Batches are numbered from 0.
    """

    def send(self, batch: str, lines: bytes) -> None:
        """Give a batch to the receiver and return once it is safe there. Runs in a thread.

        Raise any exception to have the same batch sent again later.
        """
        raise NotImplementedError

    def open(self, run: Run) -> None:
        """Begin to collect events in batches, and look regularly whether one can be sent."""
        super().open(run)
        if not run.is_open:
            return
        self._parts = run.crawl.parts
        self._id = uuid.uuid4().hex  # of the stream: another crawl has other batches
        self._next = 0  # number of the batch that lines are appended to
        self._first_kept = 0  # number of the first batch whose file is there
        self._next_page = 0  # number of the next line of a page
        self._file: OutputFile | None = None  # the next batch, once it has a line
        self._sizes: dict[int, int] = {}  # bytes of the ended batches that are not taken, by number
        # the deliveries of these, by number: True once the batch is taken
        self._sending: dict[int, Future[bool]] = {}
        self._worker = Worker(stack=SYSTEMS)  # one thread: batches are sent in their order
        self._stopped = Event()  # ends the thread's tries
        self._is_away = False  # whether the last try has failed, so that it is logged once
        self.lines = self  # where `PageLines` adds the lines of pages
        on_end(run, self._ended)
        self._parts.log.hearers.append(self.record_end)
        run.crawl.followers.add(self)
        run.behind.append(lambda: bool(self._sizes))
        looking = Loop(self._look)
        looking.start(LOOK_INTERVAL, now=False)
        run.stops.callback(looking.stop)

    # -- lines

    def add(self, make: MakeLine) -> None:
        """Add the line of a page, unless it is empty."""
        data = bytes(make(self._next_page))
        if data:
            self._next_page += 1
            # The line is a JSON object: the event goes behind its brace.
            self._append(b'{"event": "page", ' + data[1:])

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Append the event that a URL has ended."""
        if link.is_prerequisite:
            return
        event = {
            "event": "end",
            "url": link.url,
            "status": outcome.status,
            "at": iso(outcome.at or time.time()),
            "via": link.via,
            "type": exchange.content_type if exchange is not None else "",
            "size": exchange.size if exchange is not None else None,
        }
        self._append(json.dumps(event).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        """Append a line to the next batch, which ends once it is large enough."""
        if self._file is None:
            self._file = self._parts.outputs.open(self._name(self._next))
        self._file.write(line)
        if self._file.tell() >= BATCH:
            self._end_batch()

    def _end_batch(self) -> None:
        """Close the file of the next batch if it has lines; the next checkpoint has it."""
        if self._file is not None:
            self._sizes[self._next] = self._file.tell()
            self._file.close()
            self._file = None
            self._next += 1

    def _name(self, number: int) -> str:
        return f"{STREAMS}{self.output}/{number:09d}.jsonl"

    # -- the checkpoint

    def restore(self, position: Sequence[Any] | None) -> None:
        """Have the batches sent that the run before has left, with their ids."""
        if position is not None:
            self._id, self._first_kept, self._next, self._next_page = position
            for number in range(self._first_kept, self._next):
                path = self.folder / self._name(number)
                self._sizes[number] = path.stat().st_size
            self.committed()

    def checkpoint(self) -> tuple[str, int, int, int]:
        """End the batch, and remove the files of those that were taken. Return the position."""
        self._end_batch()
        self._look()
        taken = min(self._sizes, default=self._next)
        for number in range(self._first_kept, taken):
            self._parts.outputs.remove(self._name(number))
        self._first_kept = taken
        return self._id, self._first_kept, self._next, self._next_page

    def committed(self) -> None:
        """Have the batches sent that the checkpoint has."""
        for number in sorted(self._sizes.keys() - self._sending.keys()):
            if self._parts.outputs.holds(self._name(number)):
                self._sending[number] = self._worker.submit(self._deliver, number)

    def _look(self) -> None:
        """Note what was taken, and have the crawl fetch nothing while too much waits."""
        # In their order: a batch counts as taken only after those before it.
        for number in sorted(self._sending):
            delivery = self._sending[number]
            is_taken = self._worker.done(delivery) and delivery.result()
            if not is_taken:
                break
            del self._sending[number]
            del self._sizes[number]
        is_full = sum(self._sizes.values()) > self.values["STREAM_BACKLOG"] * MIB
        self._parts.set_pause_reason(f"{self.output} is behind" if is_full else "", self)

    # -- the thread

    def _deliver(self, number: int) -> bool:
        """Try until the batch is taken, and return True; return False if the crawl ends before."""
        lines = (self.folder / self._name(number)).read_bytes()
        wait = DoublingWait(SHORTEST_RETRY_WAIT, LONGEST_RETRY_WAIT)
        while not self._stopped.is_set():
            try:
                self.send(f"{self._id}-{number}", lines)
            except Exception as error:  # noqa: BLE001 - the receiver's, of any kind
                if not self._is_away:
                    why = text_without_credentials(words_of(error))
                    line = "%s: batch %d was not taken (%s); it is sent again at growing intervals"
                    logger.warning(line, self.output, number, why)
                self._is_away = True
                self._stopped.wait(wait.next())
            else:
                if self._is_away:
                    logger.info("%s takes batches again, from batch %d on", self.output, number)
                self._is_away = False
                return True
        return False

    # -- the end

    def finish_work(self) -> Iterator[float | None]:
        """Wait until all is taken, as long as that goes on, and note it in one more checkpoint.

        Yields the seconds until it is to be called again.
        """
        self.committed()
        left = len(self._sizes)
        until = time.monotonic() + PATIENCE
        while self._sizes and time.monotonic() < until:
            yield POLL_INTERVAL
            self._look()
            if len(self._sizes) < left:  # one more was taken: PATIENCE counts anew
                left = len(self._sizes)
                until = time.monotonic() + PATIENCE
        self._stopped.set()
        yield from self._parts.db.prepare()
        self._parts.db.checkpoint()

    def close(self) -> None:
        """Say what was not taken. The next run sends it."""
        self._stopped.set()
        if self._sizes:
            line = "%s: %d batch%s not taken yet; run the same command again to send the rest"
            left = len(self._sizes)
            logger.warning(line, self.output, left, "es" * (left != 1))


class NoRedirects(HTTPRedirectHandler):
    """An answer of 3xx is an error: followed, a POST would become a GET without its lines."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, which makes urllib raise the answer as an error."""


class WebHook(Stream):
    """Sends batches to WEBHOOK_URL, signed as Standard Webhooks are (standardwebhooks.com)."""

    output = "webhook"
    state_name = "webhook"  # the same for Scrapy's pipeline and the library's output

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._url = values["WEBHOOK_URL"] or ""
        self._key = webhook_key(values["WEBHOOK_SECRET_FILE"])
        self._opener = build_opener(NoRedirects)

    def send(self, batch: str, lines: bytes) -> None:
        """Post one batch, signed as Standard Webhooks say. Raise OSError unless it is taken."""
        timestamp = str(int(time.time()))
        signed = hmac.digest(
            self._key, b"%s.%s.%s" % (batch.encode(), timestamp.encode(), lines), "sha256"
        )
        headers = {
            "Content-Type": "application/jsonl",
            "User-Agent": "webcrawl",
            "Webhook-Id": batch,
            "Webhook-Timestamp": timestamp,
            "Webhook-Signature": f"v1,{base64.b64encode(signed).decode()}",
        }
        with self._opener.open(Request(self._url, lines, headers), timeout=TIMEOUT):  # noqa: S310 - the setting allows http and https
            pass
