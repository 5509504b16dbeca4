"""Makes the index of the text files, in a thread beside the crawl (docs/decisions/record-tables.md).

Only pages that a checkpoint has get into the index, so whatever happens it has no page that the crawl takes back. What
it lacks after a crash is read from the text files again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

from webcrawl.base.hosts import host_of
from webcrawl.base.quantities import count
from webcrawl.record.fulltext.index_fields import fields, unfindable
from webcrawl.record.fulltext.text_files import Place, TextFiles, lines
from webcrawl.record.fulltext.text_index import FOLDER, Index
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import SYSTEMS, Worker

logger = logging.getLogger(__name__)

STATE = "index"  # in the database: a number of pages that the index has, and where the next one's line is looked for
START = Place(0, 0)
# Between two commits, at most: tantivy's queue takes 10,000 pages, of whatever size.
CHARACTERS, PAGES = 16 << 20, 4000


class Indexer:
    """A Part, and a follower of checkpoints; the crawl's thread never waits for it before the end."""

    def __init__(
        self,
        db: CrawlDB,
        jobdir: Path,
        text: TextFiles,
        domain_of: Callable[[str], str],
        *,
        obeys_noindex: bool = False,
    ) -> None:
        """`obeys_noindex`: no word leads to pages whose owners forbid search."""
        self._obeys = obeys_noindex
        self._db, self._jobdir, self._text, self._domain_of = db, jobdir, text, domain_of
        self._saved = self._end = text.ordinal  # pages in the open checkpoint, and in the last one
        self._index = Index(jobdir / FOLDER, end=text.ordinal)
        self._place = self._known_place()
        self._done: Future[None] | None = None
        self._stopped = False
        self._failed: BaseException | None = None
        self._worker = Worker(stack=SYSTEMS)
        db.presence.add(jobdir / FOLDER)
        db.join(self)
        behind = text.ordinal - self._index.until
        if behind:
            logger.info("%s: %s to add", jobdir / FOLDER, count(behind, "page"))
        self.committed()

    def _known_place(self) -> Place:
        """The place from which on pages may be missing in the index."""
        if self._index.until == self._end:
            return Place(*self._text.place())
        noted, number, offset = json.loads(self._db.get(STATE) or b"[0, 0, 0]")
        return Place(number, offset) if noted <= self._index.until else START

    # -- in the thread

    def _follow(self, end: int) -> None:
        if self._failed is not None:  # what was added without a commit would be added again
            return
        try:
            self._add_until(end)
        except BaseException as error:
            self._failed = error
            raise

    def _add_until(self, end: int) -> None:
        begun, first = time.perf_counter(), self._index.until
        while self._index.until < end and not self._stopped:
            self._portion(end)
        if self._index.until > first:
            seconds = time.perf_counter() - begun
            logger.info("index: %s more in %.2f s", count(self._index.until - first, "page"), seconds)

    def _portion(self, end: int) -> None:
        """Adds some pages, and commits them."""
        first, size, place = self._index.until, 0, self._place
        until = first
        for place, line in lines(self._jobdir, self._place, end):
            if line["ordinal"] < first:
                continue
            if line["ordinal"] != until:
                raise StoreError(f"{self._jobdir}/text: page {until} is missing before page {line['ordinal']}")
            if "change" in line:  # it was fetched before
                self._index.drop(line["url"])
            document = fields(line, self._domain_of(host_of(line["url"])), *place)
            if self._obeys and "search" in line.get("forbidden", ()):
                document = unfindable(document)
            self._index.add(document)
            until += 1
            size += len(line["text"])
            if size >= CHARACTERS or until - first >= PAGES:
                break
        if until == first:
            raise StoreError(f"{self._jobdir}/text: page {until} is missing")
        self._index.commit(until)
        self._place = place

    # -- in the crawl's

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        """Notes how far the index is: the next start need not read what is before that."""
        self._saved = self._text.ordinal
        place = self._place  # read first: the index has at least what is before it
        self._db.set(STATE, json.dumps([self._index.until, *place]).encode())

    def committed(self) -> None:
        """A checkpoint was taken: its pages may be added. StoreError if those of an earlier one could not be."""
        self._check()
        self._end = self._saved
        self._done = self._worker.submit(self._follow, self._end)

    def rest(self) -> Iterator[None]:
        """After the last checkpoint: goes on until the index has all its pages."""
        while self._done is not None and not self._worker.done(self._done):
            yield
        self._check()
        closing = self._worker.submit(self._index.finish)
        while not self._worker.done(closing):
            yield
        self._worker.result(closing)

    def _check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def close(self) -> None:
        """Stops after the commit under way. A second call does nothing."""
        self._stopped = True
        self._worker.submit(self._index.close)
        self._worker.close()
