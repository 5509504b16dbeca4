"""Traces of links, from whatever has them: one look-up per link, in the order in which the links
were found.

A trace is what `URL_TRACE` writes, an edge list (page, link), a crawl.log, a links.log, a table
`links`, or a text of one URL or number per line; `.gz` and `.zst` are unpacked. A JOBDIR stands for
what the crawl has of these.
"""

from __future__ import annotations

import gzip
import io
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from webcrawl.base.loading import missing
from webcrawl.base.url_text import host_of
from webcrawl.base.zstd_frame import zstd
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import MAGIC, PAGE

MARKS = {"\t": "a tab", " ": "a blank", ",": "a comma"}  # between the ends of an edge
HEAD = 1 << 16  # bytes that are looked at to know what a file is
ROWS = 1 << 16  # of a table, at once
FIELDS, URL, HOPS, VIA = 12, 3, 4, 5  # of crawl.log
ENDS = ("from_url", "to_url")  # of a row of the table `links`
TEXTS = ("string", "large_string", "string_view")  # types of columns
TABLES = "links-*.parquet"
# what a JOBDIR may have, the best first
PLACES = ("logs/url.trace", "tables", "logs/links.log", "logs/crawl.log")
LINKS = ("tables", "logs/links.log")  # of these, what has all the links of each page
Numbers = npt.NDArray[np.int64]
# that reading what `opened` opens may raise
UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
Looked = tuple[str, str]  # a page, "" if it is not known, and what it links to


class NoTrace(StoreError):  # noqa: N818 - named for what it says
    """A file that is no trace, or cannot be read."""


@dataclass(frozen=True)
class Trace:
    """`lookups` are numbers below `urls`.

    `pages` are the places where the links of another page begin.

    `parts`: of each look-up, whose page it is on and whose URL it is, by numbers of drones; only if
    it was asked for.
    """

    lookups: Numbers
    urls: int
    pages: Numbers
    parts: tuple[Numbers, Numbers] | None = None

    def crossing(self, drone: int) -> Trace:
        """Return the links that this drone would send to others.

        A cache before the splitter is asked for them.
        """
        if self.parts is None:
            raise NoTrace(
                "a trace without the URLs of pages and links cannot be divided among drones"
            )
        pages, links = self.parts
        mine = (pages == drone) & (links != drone)
        # Numbers without gaps: the simulation has an array with a place for each
        kept, numbers = np.unique(self.lookups[mine], return_inverse=True)
        if not len(kept):
            raise NoTrace("no link leads from a page of this drone to a host of another")
        before = np.concatenate(([0], np.cumsum(mine)))
        places = np.unique(before[self.pages])
        return Trace(numbers.astype(np.int64), len(kept), places[places < len(numbers)])


def read_trace(
    paths: Iterable[Path], owner: Callable[[str], int] | None = None, *, crawled: bool = False
) -> Trace:
    """Return one trace of all files, in this order. `owner`: which drone a host belongs to.

    `crawled`: the files are a graph, and the links come in the order in which a breadth-first crawl
    from the first page would find them.
    """
    found = _files(paths, PLACES)
    if len(found) == 1 and _is_ours(found[0]):
        if owner is not None:
            raise NoTrace(
                f"{found[0]}: has only fingerprints, so it cannot be divided among drones"
            )
        trace = _fingerprints(found[0])
        if not trace.urls:
            raise NoTrace(f"{found[0]}: contains no links")
        return trace
    if any(_is_ours(path) for path in found):
        raise NoTrace(
            "a trace written by URL_TRACE must be read alone: its fingerprints mean nothing in other traces"
        )
    links = chain.from_iterable(map(_links, found))
    trace = _numbered(_breadth_first(links) if crawled else links, owner)
    if not trace.urls:
        raise NoTrace(f"{' '.join(map(str, found))}: contain no links")
    return trace


def links_of(paths: Iterable[Path]) -> Iterator[Looked]:
    """Return every link of these files with the page that it is on: of a crawl, from its tables or
    logs/links.log.
    """
    found = _files(paths, LINKS)
    for path in found:
        if _is_ours(path):
            raise NoTrace(
                f"{path}: has only fingerprints, and does not record on which page a link is"
            )
    return chain.from_iterable(map(_links, found))


def _files(paths: Iterable[Path], places: Sequence[str]) -> list[Path]:
    found = [file for path in paths for file in files_of(path, places)]
    for path in found:
        if path.exists() and not path.is_file():
            raise NoTrace(
                f"{path}: is not a regular file: save piped data to a file first, because it is read twice"
            )
    return found


def files_of(path: Path, places: Sequence[str] = PLACES) -> list[Path]:
    """Return the files to read of a crawl, or of a folder of tables; else the path itself."""
    if not path.is_dir():
        return [path]
    for place in (*places, "."):
        there = path / place
        if there.is_file():
            return [there]
        tables = sorted(there.glob(TABLES))
        if tables:
            return tables
    wanted = (place if "." in place else f"{place}/{TABLES}" for place in places)
    raise NoTrace(f"{path}: has none of {', '.join(wanted)}")


# -- what URL_TRACE writes


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise NoTrace(f"{path}: {error.strerror}") from error


def _fingerprints(path: Path) -> Trace:
    whole = (path.stat().st_size - len(MAGIC)) // 8  # of a crawl that runs, the last one may be cut
    words = np.fromfile(path, "<u8", whole, offset=len(MAGIC))
    starts = np.flatnonzero(words == PAGE)
    kept, numbers = np.unique(words[words != PAGE], return_inverse=True)
    return Trace(_by_first(numbers), len(kept), (starts - np.arange(len(starts))).astype(np.int64))


def _by_first(numbers: npt.NDArray[Any]) -> Numbers:
    """Number the look-ups anew in the order of first ones, so that what is near in the trace is
    near in memory.
    """
    _, firsts = np.unique(numbers, return_index=True)
    new = np.empty(len(firsts), np.int64)
    new[np.argsort(firsts)] = np.arange(len(firsts))
    found: Numbers = new[numbers]
    return found


# -- everything else


def _breadth_first(links: Iterable[Looked]) -> Iterator[Looked]:
    graph: dict[str, list[str]] = {}
    for page, link in links:
        graph.setdefault(page, []).append(link)
    # A list, and not a deque: it is read while it grows
    queue = [*graph][:1]
    met = set(queue)
    for page in queue:
        for link in graph.get(page, ()):
            yield page, link
            if link not in met:
                met.add(link)
                queue.append(link)


def _numbered(links: Iterable[Looked], owner: Callable[[str], int] | None) -> Trace:
    numbers: dict[str, int] = {}
    lookups = array("q")
    pages = array("q")  # places of look-ups at which those of another page begin
    page_parts = array("q")  # of each look-up, the drone of its page, and of its URL
    parts = array("q")
    last: str | None = None
    for page, link in links:
        if page != last or not page:
            last = page
            pages.append(len(lookups))
        if owner is not None:
            page_parts.append(_owned(owner, page))
            parts.append(_owned(owner, link))
        lookups.append(numbers.setdefault(link, len(numbers)))
    both = (_vector(page_parts), _vector(parts)) if owner is not None else None
    return Trace(_vector(lookups), len(numbers), _vector(pages), both)


def _owned(owner: Callable[[str], int], url: str) -> int:
    try:
        return owner(host_of(url))
    except (ValueError, IndexError):
        raise NoTrace(
            f"{url[:100]!r} is not a URL: this trace cannot be divided among drones"
        ) from None


def _vector(values: array[int]) -> Numbers:
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)


def _links(path: Path) -> Iterator[Looked]:
    try:
        if path.suffix == ".parquet":
            yield from _of_table(path)
        else:
            with opened(path) as file:
                yield from _of_text(path, file)
    except UNREADABLE as error:
        raise NoTrace(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except UnicodeDecodeError as error:
        raise NoTrace(f"{path}: is neither a trace nor a text") from error


def opened(path: Path) -> AbstractContextManager[IO[str]]:
    """Return a text, which may be packed."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    if path.suffix == ".zst":
        return io.TextIOWrapper(zstd.open(path, "rb"), encoding="utf-8", newline="\n")
    # Only LF ends a line: a URL of a log may contain what else Python takes for one
    return path.open(encoding="utf-8", newline="\n")


def _of_text(path: Path, file: IO[str]) -> Iterator[Looked]:
    lines = (line.rstrip("\r\n") for line in file)
    lines = (line for line in lines if line and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        return
    if "\0" in first or len(first) > HEAD:
        raise NoTrace(f"{path}: is neither a trace nor a text")
    yield from _form(path, first)(chain((first,), lines))


def _form(path: Path, first: str) -> Callable[[Iterable[str]], Iterator[Looked]]:
    """Return the reader for the lines of a file with this first one."""
    fields = first.split()
    # A status of crawl.log: Heritrix' codes of failures are negative
    if len(fields) == FIELDS and fields[1].lstrip("-").isdecimal():
        return _of_crawl_log
    if first.count("\t") == 4:
        return _of_link_log
    for mark in MARKS:
        ends = first.split(mark)
        # a comma may be part of a URL
        if len(ends) == 2 and ("://" in ends[0]) == ("://" in ends[1]):
            return lambda lines: _of_edges(path, lines, mark)
    if len(fields) > 1:
        raise NoTrace(
            f"{path}: its first line has {len(fields)} columns, but an edge needs two: a page and a link"
        )
    return lambda lines: (("", line) for line in lines)


def _of_crawl_log(lines: Iterable[str]) -> Iterator[Looked]:
    """Yield what was downloaded, each on the page that it was found on.

    What a host was asked before its pages is left out.
    """
    for line in lines:
        fields = line.split()
        if len(fields) == FIELDS and not fields[HOPS].endswith("P"):
            yield fields[VIA], fields[URL]


def _of_link_log(lines: Iterable[str]) -> Iterator[Looked]:
    for line in lines:
        fields = line.split("\t")
        if len(fields) == 5 and fields[2]:
            yield fields[0], fields[2]


def _of_edges(path: Path, lines: Iterable[str], mark: str) -> Iterator[Looked]:
    for line in lines:
        ends = line.split(mark)
        if len(ends) != 2:
            raise NoTrace(
                f"{path}: {line[:100]!r} is not an edge like those before: a page and a link, "
                f"separated by {MARKS[mark]}"
            )
        yield ends[0], ends[1]


def _of_table(path: Path) -> Iterator[Looked]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        raise NoTrace(f"{path}: {missing('pyarrow')}") from None
    try:
        with pq.ParquetFile(path) as file:
            if not {
                field.name for field in file.schema_arrow if str(field.type) in TEXTS
            }.issuperset(ENDS):
                raise NoTrace(
                    f"{path}: is not a table of links: it lacks the columns {' and '.join(ENDS)}"
                )
            for batch in file.iter_batches(batch_size=ROWS, columns=[*ENDS]):
                for page, link in zip(
                    *(batch.column(name).to_pylist() for name in ENDS), strict=True
                ):
                    if link is not None:
                        yield page or "", link
    except pa.ArrowException as error:
        raise NoTrace(f"{path}: {error}") from error
