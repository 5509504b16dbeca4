"""Builds segments: reads what crawls left, keeps the index, and writes the next segment.

All that it knows is one state folder, with one checkpoint: what was read, what is known, what
waits, and how many segments there are. A segment has its name before the checkpoint that counts it;
one that no checkpoint counts is made anew under the same name. So whatever kills it, no URL is
lost, and none is in two segments.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from threading import Event
from typing import Any, Self

import msgpack

from webcrawl.base.model import Packed, is_link
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.base.url_text import host_of
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.ground import Surroundings
from webcrawl.crawl.rules import UNLIMITED, needs_all_seeds
from webcrawl.crawl.segments import FOUND, NAME, SPIDER
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.meta_row import FILTERS as FILTER_STATES
from webcrawl.store.jobdir.meta_row import TERMS, read_terms
from webcrawl.tools.segments.earlier_crawl import EarlierCrawl, requested_urls
from webcrawl.tools.segments.link_tables import TableReader
from webcrawl.tools.segments.segment import LinkPool, NewSegment, write_segment
from webcrawl.tools.segments.segment_crawl import SegmentCrawl
from webcrawl.urls.host_names import RegisteredDomains

logger = logging.getLogger(__name__)

HOW_TO_KEEP_LINKS = "crawl with -a follow=0, or with OUTPUTS=tables"
EXACT_SEEN_STORE = "webcrawl.frontier.seen.disk.DiskSeen"
# Rows of the state. A file's path follows READ_UP_TO, and a folder's IDENTITY, whose value is a
# digest of the key of the crawl that was read there.
MADE = "segments.made"
LOST = "segments.lost"
READ_UP_TO = "segments.place."
IDENTITY = "segments.crawl."
CHECKPOINT_LINKS = 1 << 20  # links read between two checkpoints
POOL_BYTES = 64 << 20  # of memory for links that wait to be sorted
DECISION_SECONDS = 0.01  # between two looks at the seen store, which decides in a thread
BUILDER_SETTINGS: Mapping[str, Any] = {  # in place of the crawl's
    # which page links to which, which these would remember, is the crawl's business
    "DOMAIN_BUDGET": UNLIMITED,
    "REVISIT_POLICY": "none",
    "URL_FOLLOW": True,
    "URL_TRACE": False,
    "LINK_LOG": False,
    "SITEMAPS": False,
    "HIVE_DRONES": 0,
}


class SegmentBuilder:
    """Builds segments in its folder, in one process at a time.

    `number` is that of the last segment. `lost` counts the crawls and tables whose links could not
    be read, over all builds.
    """

    def __init__(
        self,
        folder: Path,
        values: CheckedSettings,
        first: EarlierCrawl | None = None,
        disk: Disk | None = None,
        store: str = "",
    ) -> None:
        """Open the index, or make it. Raise StateLocked if another process has it.

        `first`: the crawl whose seeds' domains a new index knows. `store`: the seen store that is
        the index; by default an index stays what it is, and a new one is exact.
        """
        self.folder = folder
        domains = RegisteredDomains()
        values = with_values(values, {**BUILDER_SETTINGS, "JOBDIR": str(folder)})
        with ExitStack() as opened:
            db = CrawlDB(folder / "state", disk)
            opened.callback(db.close)
            is_new = db.get("key") is None
            # The scope's state is hashes by the crawl's key, so that both come along.
            if first is not None and first.key and is_new:
                db.set("key", first.key)
                scope = {
                    name: state for name, state in first.filter_states.items() if name == "scope"
                }
                db.set(FILTER_STATES, msgpack.packb(scope))
            terms = read_terms(db.get(TERMS) or b"{}")
            values["SEEN_STORE"] = store or terms.get("SEEN_STORE", EXACT_SEEN_STORE)
            self._ready = Event()
            around = Surroundings(on_ready=self._ready.set)
            crawl, _ = assemble(values, around, spider=SPIDER, kind=SegmentCrawl, db=db)
            assert isinstance(crawl, SegmentCrawl)  # noqa: S101 - as asked for
            self._crawl = crawl
            opened.callback(crawl.close)
            self._db = db
            self.pool = LinkPool(db, folder, lambda url: domains(host_of(url)), POOL_BYTES)
            made = json.loads(db.get(MADE) or b'{"number": 0, "given": 0}')
            self.number = made["number"]
            self._delivered = made["given"]  # number of the last segment that was delivered
            # a URL was requested since the last segment
            self._has_requests = made.get("touched", False)
            self.lost = int(db.get(LOST) or b"0")
            self._tables = TableReader(crawl, db, self._report_loss)
            self._remove_uncounted()
            self._closing = opened.pop_all()
        self._links_since_checkpoint = 0
        self._needs_seeds = needs_all_seeds(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _remove_uncounted(self) -> None:
        """Remove segments that no checkpoint counts."""
        for path in self.folder.iterdir():
            match = NAME.fullmatch(path.name)
            if match and (match[2] or int(match[1]) > self.number):
                self._db.disk.unlink(path)

    # -- reading

    def _report_loss(self, number: int, why: str) -> None:
        """Count crawls or tables whose links are missing, and warn why."""
        logger.warning("%s", why)
        self.lost += number
        self._db.set(LOST, b"%d" % self.lost)

    def read(self, crawls: Sequence[EarlierCrawl]) -> None:
        """Read what these crawls have left since they were last read.

        Raise StoreError if a log or table is damaged, or shorter than it was.
        """
        # The requests of all crawls come first: what another one has fetched is not new.
        for earlier in crawls:
            self._note_identity(earlier)
            self._read_log(earlier, LOG, self._take_requested)
        for earlier in crawls:
            if earlier.has_found_log:
                self._read_log(earlier, FOUND, self._take_found)
            elif earlier.has_tables:
                for number in self._tables.read(earlier):
                    self._count(number)
            elif earlier.outputs.get(LOG):  # otherwise it has requested nothing yet
                self._report_loss(
                    1,
                    f"{earlier.jobdir}: has neither {FOUND} nor tables, so its links are missing: "
                    f"{HOW_TO_KEEP_LINKS}",
                )

    def _note_identity(self, earlier: EarlierCrawl) -> None:
        """Note which crawl this is. Have one that was begun anew in its folder read from the start."""
        if not earlier.key:  # it was opened, and has not begun
            return
        name = f"{IDENTITY}{earlier.jobdir.resolve()}"
        identity = blake2b(earlier.key, digest_size=8).digest()
        if self._db.get(name) not in (None, identity):
            logger.warning(
                "%s: now holds another crawl than before, so it is read from its beginning",
                earlier.jobdir,
            )
            for path in (LOG, FOUND):
                self._db.set(_progress_name(earlier, path), b"0")
            self._tables.forget(earlier)
        self._db.set(name, identity)

    def _take_found(self, records: Sequence[Packed]) -> None:
        if not all(map(is_link, records)):
            raise StoreError(f"{FOUND}: damaged: a line is not a link")
        self._crawl.submit(records)

    def _take_requested(self, lines: Sequence[bytes]) -> None:
        urls, seeds = requested_urls(lines)
        self._has_requests = self._has_requests or bool(urls)
        if self._needs_seeds:
            self._crawl.add_seeds(seeds)
        self._crawl.mark_as_seen(urls)

    def _read_log(
        self, earlier: EarlierCrawl, path: str, take: Callable[[Sequence[bytes]], None]
    ) -> None:
        """Have `take` get the lines of a log that were not read yet, and note how far it is read."""
        name = _progress_name(earlier, path)
        start = int(self._db.get(name) or b"0")
        if start > earlier.outputs.get(path, 0):
            raise StoreError(
                f"{earlier.jobdir / path}: {start} bytes were read earlier, but the file is now shorter"
            )
        for lines, end in earlier.read_lines(path, start):
            take(lines)
            # Before `_count`, which may take a checkpoint: that has the lines and their end.
            self._db.set(name, b"%d" % end)
            self._count(len(lines))

    def _count(self, links: int) -> None:
        """Count links that were read, and take a checkpoint now and then."""
        self._links_since_checkpoint += links
        if self._links_since_checkpoint >= CHECKPOINT_LINKS:
            self._move_new_to_pool()
            self.checkpoint()

    def _move_new_to_pool(self) -> None:
        """Move the links that are known to be new into the pool, so that they wait in one place."""
        self._crawl.submit_all_portions()
        for records in self._crawl.take_new(self._ready):
            self.pool.add(records)

    def checkpoint(self) -> None:
        self._links_since_checkpoint = 0
        made = {"number": self.number, "given": self._delivered, "touched": self._has_requests}
        self._db.set(MADE, json.dumps(made).encode())
        self._crawl.checkpoint(last=True)

    # -- segments

    def segment_path(self, number: int) -> Path:
        return self.folder / f"segment-{number:06d}.csv"

    @property
    def undelivered(self) -> int | None:
        """Return the number of a segment that is made and not delivered, or None."""
        return self.number if self._delivered < self.number else None

    @property
    def unrequested(self) -> Path | None:
        """Return the last segment if none of its URLs was requested since it was delivered."""
        was_delivered = self.number > 0 and self.undelivered is None
        if was_delivered and not self._has_requests:
            return self.segment_path(self.number)
        return None

    def note_delivery(self) -> None:
        """Note that the last segment is where the user wants it."""
        self._delivered = self.number
        self.checkpoint()

    def make(self, max_urls: int, busy_hosts: int) -> NewSegment:
        """Make the next segment, unless no link waits, and return its numbers.

        `busy_hosts`: how many hosts keep a crawl busy. Raise StoreError if it cannot be written.
        """
        self._move_new_to_pool()
        # The seen store decides in a thread.
        while self._crawl.decide_waiting():
            time.sleep(DECISION_SECONDS)
            self._move_new_to_pool()
        self._move_new_to_pool()
        self.checkpoint()
        target = self.segment_path(self.number + 1)
        try:
            segment = write_segment(self.pool, self._db.disk, target, max_urls, busy_hosts)
        except OSError as error:
            raise StoreError(f"{self.folder}: {error.strerror or error}") from error
        # A kill before this checkpoint leaves a file that none counts: the next start removes it.
        if segment.urls:
            self.number = self.number + 1
            self._has_requests = False
            self.checkpoint()
        return segment

    def figures(self) -> dict[str, int | float]:
        return self._crawl.stats()


def _progress_name(earlier: EarlierCrawl, path: str) -> str:
    """Return the row that says how far a file was read."""
    return f"{READ_UP_TO}{(earlier.jobdir / path).resolve()}"
