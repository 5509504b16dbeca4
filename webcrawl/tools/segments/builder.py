"""Builds segments: reads what crawls left, keeps the index, and cuts the next segment.

All that it knows is one state folder, with one checkpoint: what was read, what is known, what
waits, and how many segments there are. A segment has its name before the checkpoint that counts it;
one that no checkpoint counts is made anew under the same name. So whatever kills it, no URL is
lost, and none is in two segments.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from webcrawl.store.jobdir.meta_row import FILTERS as LEARNED
from webcrawl.store.jobdir.meta_row import TERMS, read_terms
from webcrawl.tools.segments.left import EarlierCrawl, SegmentCrawl, TableReader, crawled
from webcrawl.tools.segments.segment import CutSegment, LinkPool, cut
from webcrawl.urls.host_names import RegisteredDomains

logger = logging.getLogger(__name__)

AGAIN = "crawl with -a follow=0, or with OUTPUTS=tables"
EXACT = "webcrawl.frontier.seen.disk.DiskSeen"
META = "segments.made"
LOST = "segments.lost"
PLACE = "segments.place."  # before a file's path: how far it was read
WHOSE = "segments.crawl."  # before a folder's path: which crawl that was, by a digest of its key
OFTEN = 1 << 20  # links between two checkpoints
PAUSE = 0.01  # seconds
OWN: Mapping[str, Any] = {  # of these settings a builder has its own values
    # who links to whom, which it would remember, is the crawl's business
    "DOMAIN_BUDGET": UNLIMITED,
    "REVISIT_POLICY": "none",
    "URL_FOLLOW": True,
    "URL_TRACE": False,
    "LINK_LOG": False,
    "SITEMAPS": False,
    "HIVE_DRONES": 0,
}


class SegmentBuilder:
    """Builds segments, in one process at a time; StateLocked for a second one."""

    def __init__(
        self,
        folder: Path,
        values: CheckedSettings,
        first: EarlierCrawl | None = None,
        disk: Disk | None = None,
        store: str = "",
    ) -> None:
        """`first`: whose seeds' domains are known, if the index is new.

        `store`: the seen store that is the index; by default an index stays what it is, and a new
        one is exact.
        """
        self.folder = folder
        domains = RegisteredDomains()
        values = with_values(values, {**OWN, "JOBDIR": str(folder)})
        with ExitStack() as opened:
            db = CrawlDB(folder / "state", disk)
            opened.callback(db.close)
            is_new = db.get("key") is None
            # The scope's state is hashes by the crawl's key, so that both come along.
            if first is not None and first.key and is_new:
                db.set("key", first.key)
                scope = {name: one for name, one in first.learned.items() if name == "scope"}
                db.set(LEARNED, msgpack.packb(scope))
            terms = read_terms(db.get(TERMS) or b"{}")
            values["SEEN_STORE"] = store or terms.get("SEEN_STORE", EXACT)
            self._ready = Event()
            around = Surroundings(on_ready=self._ready.set)
            crawl, _ = assemble(values, around, spider=SPIDER, kind=SegmentCrawl, db=db)
            assert isinstance(crawl, SegmentCrawl)  # noqa: S101 - as asked for
            self._crawl = crawl
            opened.callback(crawl.close)
            self._db = db
            self.pool = LinkPool(db, folder, lambda url: domains(host_of(url)))
            made = json.loads(db.get(META) or b'{"number": 0, "given": 0}')
            # of the last segment, and of the last given away
            self.number = made["number"]
            self._given = made["given"]
            # something was asked for since the last segment
            self._is_touched = made.get("touched", False)
            self.lost = int(db.get(LOST) or b"0")  # tables that could not be read, over all builds
            self._tables = TableReader(crawl, db, self._lose)
            self._sweep()
            self._closing = opened.pop_all()
        self._since = 0
        self._seeds_matter = needs_all_seeds(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _sweep(self) -> None:
        """Remove segments that no checkpoint counts."""
        for path in self.folder.iterdir():
            match = NAME.fullmatch(path.name)
            if match and (match[2] or int(match[1]) > self.number):
                self._db.disk.unlink(path)

    # -- reading

    def _lose(self, number: int, why: str) -> None:
        """Count tables whose links are missing, and say why."""
        logger.warning("%s", why)
        self.lost += number
        self._db.set(LOST, b"%d" % self.lost)

    def read(self, crawls: Sequence[EarlierCrawl]) -> None:
        """Read what these crawls have left since the last time: first requests, then finds."""
        # First what was asked for, of all crawls: what another one has fetched is no find.
        for left in crawls:
            self._meet(left)
            self._log(left, LOG, self._asked)
        for left in crawls:
            if left.has_found_log:
                self._log(left, FOUND, self._found)
            elif left.has_tables:
                for number in self._tables.read(left):
                    self._step(number)
            elif left.outputs.get(LOG):  # otherwise it has requested nothing yet
                self._lose(
                    1,
                    f"{left.jobdir}: has neither {FOUND} nor tables, so its links are missing: {AGAIN}",
                )

    def _meet(self, left: EarlierCrawl) -> None:
        """Note whose crawl this is: of one begun anew in the folder of another nothing was read."""
        if not left.key:  # it was opened, and has not begun
            return
        name, whose = f"{WHOSE}{left.jobdir.resolve()}", blake2b(left.key, digest_size=8).digest()
        if self._db.get(name) not in (None, whose):
            logger.warning(
                "%s: now holds another crawl than before, so it is read from its beginning",
                left.jobdir,
            )
            for path in (LOG, FOUND):
                self._db.set(_place(left, path), b"0")
            self._tables.forget(left)
        self._db.set(name, whose)

    def take(self, batches: Iterable[Sequence[Packed]]) -> None:
        """Take links that were found and have passed the filters."""
        for records in batches:
            self._crawl.found(records)
            self._step(len(records))

    def _found(self, records: Sequence[Packed]) -> None:
        if not all(map(is_link, records)):
            raise StoreError(f"{FOUND}: damaged: a line is not a link")
        self._crawl.found(records)

    def _asked(self, lines: Sequence[bytes]) -> None:
        urls, seeds = crawled(lines)
        self._is_touched = self._is_touched or bool(urls)
        if self._seeds_matter:
            self._crawl.start_from(seeds)
        self._crawl.know(urls)

    def _log(self, left: EarlierCrawl, path: str, take: Callable[[Sequence[bytes]], None]) -> None:
        name = _place(left, path)
        start = int(self._db.get(name) or b"0")
        if start > left.outputs.get(path, 0):
            raise StoreError(
                f"{left.jobdir / path}: {start} bytes were read earlier, but the file is now shorter"
            )
        for lines, end in left.lines(path, start):
            take(lines)
            # Before `_step`, which may take a checkpoint: that has the lines and their end.
            self._db.set(name, b"%d" % end)
            self._step(len(lines))

    def _step(self, links: int) -> None:
        """Take out what is new, so that it waits in one place; a checkpoint now and then."""
        self._since += links
        if self._since >= OFTEN:
            self._take()
            self.checkpoint()

    def _take(self) -> None:
        self._crawl.submit_all_portions()
        for records in self._crawl.take_new(self._ready):
            self.pool.add(records)

    def checkpoint(self) -> None:
        self._since = 0
        made = {"number": self.number, "given": self._given, "touched": self._is_touched}
        self._db.set(META, json.dumps(made).encode())
        self._crawl.checkpoint(last=True)

    # -- segments

    def path(self, number: int) -> Path:
        return self.folder / f"segment-{number:06d}.csv"

    @property
    def waiting(self) -> int | None:
        """Return the number of a segment that is made and not given away, if there is one."""
        return self.number if self._given < self.number else None

    @property
    def untouched(self) -> Path | None:
        """Return the last segment, if nothing in it was asked for since it was given away."""
        was_given = self.number > 0 and self.waiting is None
        if was_given and not self._is_touched:
            return self.path(self.number)
        return None

    def given(self) -> None:
        """Note that the last segment was taken, or was crawled."""
        self._given = self.number
        self.checkpoint()

    def make(self, most: int, needed: int) -> CutSegment:
        """Make the next segment, unless nothing waits. `needed`: hosts that keep a crawl busy."""
        self._take()
        # The seen store decides in a thread.
        while self._crawl.decide():
            time.sleep(PAUSE)
            self._take()
        self._take()
        self.checkpoint()
        try:
            found = cut(self.pool, self._db.disk, self.path(self.number + 1), most, needed)
        except OSError as error:
            raise StoreError(f"{self.folder}: {error.strerror or error}") from error
        # A kill before this checkpoint leaves a file that none counts: the next start removes it.
        if found.urls:
            self.number = self.number + 1
            self._is_touched = False
            self.checkpoint()
        return found

    def sizes(self) -> dict[str, int | float]:
        return self._crawl.stats()


def _place(left: EarlierCrawl, path: str) -> str:
    return f"{PLACE}{(left.jobdir / path).resolve()}"
