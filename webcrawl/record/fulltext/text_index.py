"""Writes the full-text index in JOBDIR/index/, which is made by tantivy, and opens it.

The index has the lines 0 to n - 1 of the text files, each once. A page that was fetched again has
only its last line, even if that is blank. So the last of all lines is always in the index.

A page gets into the index only after a checkpoint has it, so the index never has a page that the
crawl loses in a crash. Pages that the index lacks are read from the text files again.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import tantivy

from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.record.fulltext.index_fields import (
    ORDINAL,
    blank_document,
    document_of,
    register_analyzers,
    schema,
)
from webcrawl.record.fulltext.text_files import TextFiles, TextPlace, lines_from
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import for_reading
from webcrawl.store.worker import SYSTEMS, Worker

FOLDER = "index"
LOCK_ENDING = ".lock"  # of the names of tantivy's locks
REBUILD_ADVICE = "to have the next start rebuild it from text/, run rm -r"
HEAP_BYTES = 64_000_000  # that tantivy's one indexing thread may fill before it writes a segment


class BrokenIndex(StoreError):  # noqa: N818 - reads as what it is
    """The index cannot be read or written."""


@contextmanager
def tantivy_errors(folder: Path) -> Iterator[None]:
    """Raise BrokenIndex, with the name of the folder, in place of whatever tantivy raises."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:
        # A panic in Rust raises PyO3's PanicException, which is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        raise BrokenIndex(f"{folder}: {' '.join(str(error).split())}") from error


def _refuse_pipes(folder: Path) -> None:
    """Raise BrokenIndex if a file is a pipe: tantivy would wait for a process at its other end."""
    for path in folder.iterdir():
        if path.is_fifo():
            raise BrokenIndex(f"{path}: is not a regular file")


def how_to_build(folder: Path) -> str:
    """Return the advice how to build an index from the crawl's archive, if it has one."""
    warc = folder.parent / "warc"
    # `glob` finds nothing in a folder that may not be read, and `iterdir` raises
    has_warc = warc.is_dir() and any(".warc" in path.name for path in warc.iterdir())
    if not has_warc and not any(folder.parent.glob("*.wacz")):
        return "there is no archive to build one from: crawl again with index in OUTPUTS"
    jobdir, place = (shlex.quote(str(path)) for path in (folder.parent, for_reading(folder.parent)))
    return (
        f"`{program()} process {jobdir} -s OUTPUTS=index -s JOBDIR={place}` builds one in {place}"
    )


def open_index(folder: Path) -> tantivy.Index:
    """Open an existing index for reading, as of its last commit. Raise BrokenIndex."""
    with tantivy_errors(folder):
        if not (folder / "meta.json").exists():
            jobdir = folder.parent
            raise BrokenIndex(
                f"{folder}: no index: {how_to_build(folder)}"
                if jobdir.is_dir()
                else f"{jobdir}: no such folder"
            )
        _refuse_pipes(folder)
        with _lockable(folder) as place:
            index = tantivy.Index.open(str(place))
        register_analyzers(index)
        return index


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Yield a folder in which tantivy can lock the index, so that no writer removes files.

    That is the index's own folder. If it is not writable, as on a read-only file system, it is a
    temporary folder with links to the files: once the index is open, it needs no names any more.
    """
    if os.access(folder, os.W_OK):
        yield folder
        return
    place = Path(mkdtemp(prefix="webcrawl-index-"))
    try:
        for path in folder.iterdir():
            if path.suffix != LOCK_ENDING:
                (place / path.name).symlink_to(path.absolute())
        yield place
    finally:
        # tantivy's thread may notice a removed file, and then create another lock
        for _ in range(2):
            rmtree(place, ignore_errors=True)


def count_and_end(searcher: tantivy.Searcher) -> tuple[int, int]:
    """Return the count of lines in the index, and the number after that of the last line.

    They are the same unless pages were fetched again.
    """
    last = searcher.search(tantivy.Query.all_query(), 1, count=False, order_by_field=ORDINAL).hits
    return searcher.num_docs, last[0][0] + 1 if last else 0


class TextIndexWriter:
    """The only writer of an index. `until` is the number after that of the last committed page."""

    def __init__(self, folder: Path, *, end: int) -> None:
        """Open or create the index, and drop all pages from number `end` on: the crawl has none.

        If pages were fetched again, a dropped page may have replaced an earlier one. Then all pages
        are dropped, and will be added anew. Raise BrokenIndex.
        """
        self._folder = folder
        with tantivy_errors(folder):
            folder.mkdir(exist_ok=True)
            _refuse_pipes(folder)
            self._schema = schema()
            try:
                self._index = tantivy.Index(self._schema, str(folder))
            except ValueError as error:
                # The index has the schema of another version, or is damaged
                raise BrokenIndex(
                    f"{folder}: {' '.join(str(error).split())}; {REBUILD_ADVICE} {folder}"
                ) from error
            register_analyzers(self._index)
            self._writer: Any = self._index.writer(HEAP_BYTES, 1)
            count, self.until = self._count_and_end()
            # The index is ahead only after the crawl's state was restored from a backup
            if self.until > end:
                beyond = tantivy.Query.range_query(
                    self._schema, ORDINAL, tantivy.FieldType.Unsigned, lower_bound=end
                )
                has_all_lines = count == self.until
                self._writer.delete_documents_by_query(
                    beyond if has_all_lines else tantivy.Query.all_query()
                )
                self._writer.commit()
                _, self.until = self._count_and_end()

    def _count_and_end(self) -> tuple[int, int]:
        """Return `count_and_end` of the last commit. Raise BrokenIndex if there are too many."""
        self._index.reload()
        count, until = count_and_end(self._index.searcher())
        if count > until:
            raise BrokenIndex(
                f"{self._folder}: is damaged: it has {count} pages, but the last number is "
                f"{until - 1}; {REBUILD_ADVICE} {self._folder}"
            )
        return count, until

    def drop(self, url: str) -> None:
        """Remove a page from the index. The caller then adds a newer line of the same page."""
        with tantivy_errors(self._folder):
            self._writer.delete_documents_by_query(
                tantivy.Query.term_query(self._schema, "url", url)
            )

    def add(self, document: dict[str, Any]) -> None:
        with tantivy_errors(self._folder):
            self._writer.add_document(tantivy.Document.from_dict(document, self._schema))

    def commit(self, until: int) -> None:
        """Commit what was added; `until` is the number after that of the last page.

        Python's lock is free meanwhile.
        """
        with tantivy_errors(self._folder):
            self._writer.commit()
        self.until = until

    def close(self) -> None:
        """Close without a commit, and release the lock. A second call does nothing."""
        self._writer = None

    def finish(self) -> None:
        """Wait for the running merges, which make the index smaller and faster, and close."""
        with tantivy_errors(self._folder):
            self._writer.wait_merging_threads()
        self._writer = None


MAX_LINES_OF_URL = 1000  # that are searched for


class IndexContents:
    """The index as of the last commit: `count` lines, the last of which has number `until` - 1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = open_index(folder)
        with tantivy_errors(folder):
            self._searcher = self._index.searcher()
            self.count, self.until = count_and_end(self._searcher)

    def urls(self, first: int, end: int) -> dict[int, list[str]]:
        """Return the URLs of the pages from `first` to `end` - 1, by number.

        In a sound index each number has one URL.
        """
        urls: dict[int, list[str]] = {}
        with tantivy_errors(self._folder):
            between = tantivy.Query.range_query(
                self._index.schema,
                ORDINAL,
                tantivy.FieldType.Unsigned,
                first,
                end,
                include_upper=False,
            )
            hits = self._searcher.search(between, max(1, 2 * (end - first)), count=False).hits
            for _, address in hits:
                stored = self._searcher.doc(address).to_dict()
                urls.setdefault(stored[ORDINAL][0], []).append(stored["url"][0])
        return urls

    def numbers(self, url: str) -> list[int]:
        """Return the numbers of all lines of a URL, in ascending order."""
        with tantivy_errors(self._folder):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            hits = self._searcher.search(named, MAX_LINES_OF_URL, count=False).hits
            return sorted(self._searcher.doc(address).to_dict()[ORDINAL][0] for _, address in hits)


logger = logging.getLogger(__name__)

# Key in the database: how many pages the index has at least, and the member with the next page
STATE_KEY = "index"
FIRST_PLACE = TextPlace(0, 0)
# In one commit: tantivy's queue would take 10,000 pages of any size
MAX_COMMIT_CHARS = 16 << 20
MAX_COMMIT_PAGES = 4000


class Indexer(Part):
    """Adds the pages of each checkpoint to the index, in a thread, as a follower of checkpoints.

    The crawl's thread waits for it only at the end.
    """

    def __init__(
        self,
        db: CrawlDB,
        jobdir: Path,
        text: TextFiles,
        domain_of: Callable[[str], str],
        *,
        obeys_noindex: bool = False,
    ) -> None:
        """Open the index, and begin to add the pages that it lacks. Raise StoreError.

        `domain_of` returns the registered domain of a host. With `obeys_noindex`, no query finds
        pages whose owners forbid search.
        """
        self._obeys_noindex = obeys_noindex
        self._db = db
        self._jobdir = jobdir
        self._text = text
        self._domain_of = domain_of
        self._saved = text.ordinal  # number of pages in the open checkpoint
        self._end = text.ordinal  # number of pages in the last checkpoint
        self._index = TextIndexWriter(jobdir / FOLDER, end=text.ordinal)
        self._place = self._first_place()  # of the member with the next page
        self._done: Future[None] | None = None
        self._stopped = False
        self._failed: BaseException | None = None
        # A thread and no process, because tantivy adds and commits without Python's lock: another
        # thread, which slept for 1 ms at a time, was late by at most 12 ms
        self._worker = Worker(stack=SYSTEMS)
        db.presence.add(jobdir / FOLDER)
        db.join(self)
        behind = text.ordinal - self._index.until
        if behind:
            logger.info("%s: %s to add", jobdir / FOLDER, count(behind, "page"))
        self.committed()

    def _first_place(self) -> TextPlace:
        """Return the member from which on pages may be missing in the index."""
        if self._index.until == self._end:
            return TextPlace(*self._text.place())
        noted, number, offset = json.loads(self._db.get(STATE_KEY) or b"[0, 0, 0]")
        # If the index was removed, it has fewer pages than were noted: then it is built anew
        return TextPlace(number, offset) if noted <= self._index.until else FIRST_PLACE

    # -- in the thread

    def _add_pages(self, end: int) -> None:
        """Add the pages before number `end`. Note an error, after which nothing more is added."""
        # Pages that were added before the error, without a commit, would be added twice
        if self._failed is not None:
            return
        try:
            self._add_until(end)
        except BaseException as error:
            self._failed = error
            raise

    def _add_until(self, end: int) -> None:
        """Add the pages before number `end`, commit by commit, and log how long that took."""
        begun = time.perf_counter()
        first = self._index.until
        while self._index.until < end and not self._stopped:
            self._add_some(end)
        if self._index.until > first:
            seconds = time.perf_counter() - begun
            logger.info(
                "index: %s more in %.2f s", count(self._index.until - first, "page"), seconds
            )

    def _add_some(self, end: int) -> None:
        """Add pages up to the limits of a commit, and commit. Raise StoreError if one is missing."""
        first = self._index.until
        size = 0
        place = self._place
        until = first
        for place, line in lines_from(self._jobdir, self._place, end):
            if line["ordinal"] < first:
                continue
            if line["ordinal"] != until:
                raise StoreError(
                    f"{self._jobdir}/text: page {until} is missing before page {line['ordinal']}"
                )
            is_refetch = "change" in line
            if is_refetch:
                # In the same commit as the new document, so that no search finds both or none
                self._index.drop(line["url"])
            document = document_of(line, self._domain_of(host_of(line["url"])), *place)
            if self._obeys_noindex and "search" in line.get("forbidden", ()):
                document = blank_document(document)
            self._index.add(document)
            until += 1
            size += len(line["text"])
            if size >= MAX_COMMIT_CHARS or until - first >= MAX_COMMIT_PAGES:
                break
        if until == first:
            raise StoreError(f"{self._jobdir}/text: page {until} is missing")
        self._index.commit(until)
        self._place = place

    # -- in the crawl's thread

    def save(self) -> None:
        """Note how many pages the index has, so that the next start reads only the later ones."""
        self._saved = self._text.ordinal
        # Read before `until`, which the other thread may raise: so it has at least these pages
        place = self._place
        self._db.set(STATE_KEY, json.dumps([self._index.until, *place]).encode())

    def committed(self) -> None:
        """Have the pages of the checkpoint that was just taken added.

        Raise the error of an earlier call, if its pages could not be added.
        """
        self._check()
        self._end = self._saved
        self._done = self._worker.submit(self._add_pages, self._end)

    def finish_work(self) -> Iterator[None]:
        """Yield until the index has all pages of the last checkpoint, and close it."""
        # `committed` may replace the job meanwhile
        while self._done is not None and not self._worker.done(self._done):
            yield
        self._check()
        closing = self._worker.submit(self._index.finish)
        yield from self._worker.until_done(closing)
        self._worker.result(closing)

    def _check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def close(self) -> None:
        """Stop after the commit that is under way. A second call does nothing."""
        self._stopped = True
        self._worker.submit(self._index.close)
        self._worker.close()
