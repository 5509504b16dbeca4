"""JOBDIR/index/: the full-text index, by tantivy.

It holds the lines 0 to n - 1 of the text files, each once, but those in whose place a later one has
come: of a page that was fetched again only the last. That one is there even if it is blank, so the
last of all lines is always there.

Only pages that a checkpoint has get into the index, so whatever happens it has no page that the
crawl takes back. What it lacks after a crash is read from the text files again.
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
from webcrawl.record.fulltext.index_fields import ORDINAL, fields, register, schema, unfindable
from webcrawl.record.fulltext.text_files import TextFiles, TextPlace, lines
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import for_reading
from webcrawl.store.worker import SYSTEMS, Worker

FOLDER = "index"
LOCK = ".lock"  # the end of tantivy's locks' names
ANEW = "to have the next start rebuild it from text/, run rm -r"
HEAP = 64_000_000  # bytes that tantivy's one indexing thread may fill before it writes a segment


class BrokenIndex(StoreError):  # noqa: N818 - reads as what it is
    """The index cannot be read or written."""


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Name the folder in whatever tantivy raises, a panic of Rust's included."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:
        # PyO3's PanicException is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        raise BrokenIndex(f"{folder}: {' '.join(str(error).split())}") from error


def _refuse_pipes(folder: Path) -> None:
    """Raise BrokenIndex if a file is a pipe: tantivy would wait for its other end."""
    for path in folder.iterdir():
        if path.is_fifo():
            raise BrokenIndex(f"{path}: is not a regular file")


def how_made(folder: Path) -> str:
    """Return the command that makes an index from any archive."""
    jobdir, place = (shlex.quote(str(path)) for path in (folder.parent, for_reading(folder.parent)))
    return (
        f"`{program()} process {jobdir} -s OUTPUTS=index -s JOBDIR={place}` builds one in {place}"
    )


def opened(folder: Path) -> tantivy.Index:
    """Open an existing index, as of its last commit."""
    with told(folder):
        if not (folder / "meta.json").exists():
            jobdir = folder.parent
            raise BrokenIndex(
                f"{folder}: no index: {how_made(folder)}"
                if jobdir.is_dir()
                else f"{jobdir}: no such folder"
            )
        _refuse_pipes(folder)
        with _lockable(folder) as place:
            index = tantivy.Index.open(str(place))
        register(index)
        return index


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Yield a folder where tantivy can lock the index against a writer who removes files.

    An operator who may not write there, as on a read-only file system, gets links to the files. An
    open index needs no names any more.
    """
    if os.access(folder, os.W_OK):
        yield folder
        return
    place = Path(mkdtemp(prefix="webcrawl-index-"))
    try:
        for path in folder.iterdir():
            if path.suffix != LOCK:
                (place / path.name).symlink_to(path.absolute())
        yield place
    finally:
        # tantivy's thread may see that a name is gone, and lock the rest once more
        for _ in range(2):
            rmtree(place, ignore_errors=True)


def pages(searcher: tantivy.Searcher) -> tuple[int, int]:
    """Return the count of lines in the index, and the number after the last.

    They differ only if pages were fetched again.
    """
    last = searcher.search(tantivy.Query.all_query(), 1, count=False, order_by_field=ORDINAL).hits
    return searcher.num_docs, last[0][0] + 1 if last else 0


class TextIndexWriter:
    """The one writer. `until` pages are committed."""

    def __init__(self, folder: Path, *, end: int) -> None:
        """Drop what belongs to pages from `end` on, which the crawl does not know.

        If one of these may have come in the place of another, that is lost: then all are dropped,
        to be added anew.
        """
        self._folder = folder
        with told(folder):
            folder.mkdir(exist_ok=True)
            _refuse_pipes(folder)
            self._schema = schema()
            try:
                self._index = tantivy.Index(self._schema, str(folder))
            except ValueError as error:
                # Its schema is that of another version, or the index is damaged
                raise BrokenIndex(
                    f"{folder}: {' '.join(str(error).split())}; {ANEW} {folder}"
                ) from error
            register(self._index)
            self._writer: Any = self._index.writer(HEAP, 1)
            count, self.until = self._pages()
            # This happens only after the crawl's state was restored from a backup
            if self.until > end:
                beyond = tantivy.Query.range_query(
                    self._schema, ORDINAL, tantivy.FieldType.Unsigned, lower_bound=end
                )
                whole = count == self.until
                self._writer.delete_documents_by_query(
                    beyond if whole else tantivy.Query.all_query()
                )
                self._writer.commit()
                _, self.until = self._pages()

    def _pages(self) -> tuple[int, int]:
        self._index.reload()
        count, until = pages(self._index.searcher())
        if count > until:
            raise BrokenIndex(
                f"{self._folder}: is damaged: it has {count} pages, but the last number is "
                f"{until - 1}; {ANEW} {self._folder}"
            )
        return count, until

    def drop(self, url: str) -> None:
        """Remove a page from the index, because a newer line for it follows."""
        with told(self._folder):
            self._writer.delete_documents_by_query(
                tantivy.Query.term_query(self._schema, "url", url)
            )

    def add(self, document: dict[str, Any]) -> None:
        with told(self._folder):
            self._writer.add_document(tantivy.Document.from_dict(document, self._schema))

    def commit(self, until: int) -> None:
        """Make what was added durable; other threads go on meanwhile."""
        with told(self._folder):
            self._writer.commit()
        self.until = until

    def close(self) -> None:
        """Forget what is not committed, and the lock with it. A second call does nothing."""
        self._writer = None

    def finish(self) -> None:
        """Close after the running merges, which make the index smaller, and faster to search."""
        with told(self._folder):
            self._writer.wait_merging_threads()
        self._writer = None


MOST = 1000  # lines of one URL that are looked at


class IndexContents:
    """The index as of the last commit: `count` lines, the last of which has number `until` - 1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = opened(folder)
        with told(folder):
            self._searcher = self._index.searcher()
            self.count, self.until = pages(self._searcher)

    def urls(self, first: int, end: int) -> dict[int, list[str]]:
        """Return the URLs of the pages from `first` to `end` - 1, by number; one each is right."""
        found: dict[int, list[str]] = {}
        with told(self._folder):
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
                found.setdefault(stored[ORDINAL][0], []).append(stored["url"][0])
        return found

    def numbers(self, url: str) -> list[int]:
        """Return the numbers that a page has."""
        with told(self._folder):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            hits = self._searcher.search(named, MOST, count=False).hits
            return sorted(self._searcher.doc(address).to_dict()[ORDINAL][0] for _, address in hits)


logger = logging.getLogger(__name__)

# Key in the database: a number of pages that the index has, and the place of the next one's line
STATE = "index"
START = TextPlace(0, 0)
# Between two commits, at most: tantivy's queue takes 10,000 pages, of whatever size.
CHARACTERS, PAGES = 16 << 20, 4000


class Indexer(Part):
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
        self._db = db
        self._jobdir = jobdir
        self._text = text
        self._domain_of = domain_of
        self._saved = text.ordinal  # pages in the open checkpoint
        self._end = text.ordinal  # pages in the last checkpoint
        self._index = TextIndexWriter(jobdir / FOLDER, end=text.ordinal)
        self._place = self._known_place()
        self._done: Future[None] | None = None
        self._stopped = False
        self._failed: BaseException | None = None
        # A thread suffices: tantivy adds and commits without Python's lock. Another thread, which
        # slept for 1 ms at a time, was late by at most 12 ms.
        self._worker = Worker(stack=SYSTEMS)
        db.presence.add(jobdir / FOLDER)
        db.join(self)
        behind = text.ordinal - self._index.until
        if behind:
            logger.info("%s: %s to add", jobdir / FOLDER, count(behind, "page"))
        self.committed()

    def _known_place(self) -> TextPlace:
        """Return the place from which on pages may be missing in the index."""
        if self._index.until == self._end:
            return TextPlace(*self._text.place())
        noted, number, offset = json.loads(self._db.get(STATE) or b"[0, 0, 0]")
        # An index that was removed has fewer pages than were noted: it is made anew
        return TextPlace(number, offset) if noted <= self._index.until else START

    # -- in the thread

    def _follow(self, end: int) -> None:
        # Pages that were added without a commit would be added again
        if self._failed is not None:
            return
        try:
            self._add_until(end)
        except BaseException as error:
            self._failed = error
            raise

    def _add_until(self, end: int) -> None:
        begun = time.perf_counter()
        first = self._index.until
        while self._index.until < end and not self._stopped:
            self._portion(end)
        if self._index.until > first:
            seconds = time.perf_counter() - begun
            logger.info(
                "index: %s more in %.2f s", count(self._index.until - first, "page"), seconds
            )

    def _portion(self, end: int) -> None:
        """Add some pages, and commit them."""
        first = self._index.until
        size = 0
        place = self._place
        until = first
        for place, line in lines(self._jobdir, self._place, end):
            if line["ordinal"] < first:
                continue
            if line["ordinal"] != until:
                raise StoreError(
                    f"{self._jobdir}/text: page {until} is missing before page {line['ordinal']}"
                )
            if "change" in line:  # it was fetched before
                # In the same commit as the new document, so that no search finds both or none.
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

    def save(self) -> None:
        """Note how far the index is: the next start need not read what is before that."""
        self._saved = self._text.ordinal
        # Read first: the index has at least the pages before it
        place = self._place
        self._db.set(STATE, json.dumps([self._index.until, *place]).encode())

    def committed(self) -> None:
        """Allow the pages of a checkpoint that was taken to be added.

        Raise StoreError if those of an earlier one could not be added.
        """
        self._check()
        self._end = self._saved
        self._done = self._worker.submit(self._follow, self._end)

    def rest(self) -> Iterator[None]:
        """Wait, after the last checkpoint, until the index has all its pages."""
        # Another job may take its place meanwhile
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
        """Stop after the commit under way. A second call does nothing."""
        self._stopped = True
        self._worker.submit(self._index.close)
        self._worker.close()
