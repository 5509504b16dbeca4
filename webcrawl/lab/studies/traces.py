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

SEPARATORS = {"\t": "a tab", " ": "a blank", ",": "a comma"}  # between the ends of an edge
MAX_FIRST_LINE_CHARS = 1 << 16  # a longer one is not of a trace
BATCH_ROWS = 1 << 16  # of a table, read at once
LOG_FIELDS, URL, HOPS, VIA = 12, 3, 4, 5  # of crawl.log
LINK_LOG_FIELDS = 5
LINK_COLUMNS = ("from_url", "to_url")  # of a row of the table `links`
TEXT_TYPES = ("string", "large_string", "string_view")  # types of columns
TABLE_PATTERN = "links-*.parquet"
# what a JOBDIR may have, the best first
TRACE_PLACES = ("logs/url.trace", "tables", "logs/links.log", "logs/crawl.log")
GRAPH_PLACES = ("tables", "logs/links.log")  # of these, what has all the links of each page
Numbers = npt.NDArray[np.int64]
# what reading a file from `open_text` may raise
UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
PageLink = tuple[str, str]
"""A page, which is "" if it is not known, and what it links to."""


class NoTrace(StoreError):  # noqa: N818 - named for what it says
    """Raised if a file is not a trace or a graph, or cannot be read."""


@dataclass(frozen=True)
class Trace:
    """The look-ups of a crawl: one per link, in the order in which the links were found."""

    lookups: Numbers  # the URL of each, as a number below `urls`
    urls: int  # distinct ones
    pages: Numbers  # the positions in `lookups` at which the links of another page begin
    # of each look-up, the numbers of the drones that have its page and its URL; None if the trace
    # was read without an `owner`
    parts: tuple[Numbers, Numbers] | None = None

    def crossing(self, drone: int) -> Trace:
        """Return the trace of the links that this drone sends to others.

        These are the look-ups of a cache before the splitter of a hive. Raise NoTrace if there are
        none, or the drones are not known.
        """
        if self.parts is None:
            raise NoTrace(
                "a trace without the URLs of pages and links cannot be divided among drones"
            )
        pages, links = self.parts
        is_crossing = (pages == drone) & (links != drone)
        # Numbers without gaps: the simulation has an array with a place for each
        kept, numbers = np.unique(self.lookups[is_crossing], return_inverse=True)
        if not len(kept):
            raise NoTrace("no link leads from a page of this drone to a host of another")
        before = np.concatenate(([0], np.cumsum(is_crossing)))
        places = np.unique(before[self.pages])
        return Trace(numbers.astype(np.int64), len(kept), places[places < len(numbers)])


def read_trace(
    paths: Iterable[Path], owner: Callable[[str], int] | None = None, *, crawled: bool = False
) -> Trace:
    """Return one trace of all files, in this order.

    `owner` returns the number of the drone that a host belongs to. With `crawled` the files are a
    graph, and the links come in the order in which a breadth-first crawl from the first page finds
    them. Raise NoTrace if the files are not a trace.
    """
    files = _regular_files(paths, TRACE_PLACES)
    if len(files) == 1 and _is_url_trace(files[0]):
        if owner is not None:
            raise NoTrace(
                f"{files[0]}: has only fingerprints, so it cannot be divided among drones"
            )
        trace = _trace_of_fingerprints(files[0])
        if not trace.urls:
            raise NoTrace(f"{files[0]}: contains no links")
        return trace
    if any(_is_url_trace(path) for path in files):
        raise NoTrace(
            "a trace written by URL_TRACE must be read alone: its fingerprints mean nothing in other traces"
        )
    links = chain.from_iterable(map(_links_in, files))
    trace = _trace_of_links(_breadth_first(links) if crawled else links, owner)
    if not trace.urls:
        raise NoTrace(f"{' '.join(map(str, files))}: contain no links")
    return trace


def links_of(paths: Iterable[Path]) -> Iterator[PageLink]:
    """Return every link of these files with the page that it is on.

    Those of a JOBDIR come from its tables or its logs/links.log. Raise NoTrace if a file has no
    pages.
    """
    files = _regular_files(paths, GRAPH_PLACES)
    for path in files:
        if _is_url_trace(path):
            raise NoTrace(
                f"{path}: has only fingerprints, and does not record on which page a link is"
            )
    return chain.from_iterable(map(_links_in, files))


def _regular_files(paths: Iterable[Path], places: Sequence[str]) -> list[Path]:
    """Return the files to read of all paths. Raise NoTrace if one is a pipe or the like."""
    files = [file for path in paths for file in files_to_read(path, places)]
    for path in files:
        if path.exists() and not path.is_file():
            raise NoTrace(
                f"{path}: is not a regular file: save piped data to a file first, because it is read twice"
            )
    return files


def files_to_read(path: Path, places: Sequence[str] = TRACE_PLACES) -> list[Path]:
    """Return the files to read of a JOBDIR or of a folder of tables; of a file, the file itself.

    `places` are the paths in a JOBDIR that may have links, the best first. Raise NoTrace if it has
    none of them.
    """
    if not path.is_dir():
        return [path]
    for place in (*places, "."):
        there = path / place
        if there.is_file():
            return [there]
        tables = sorted(there.glob(TABLE_PATTERN))
        if tables:
            return tables
    wanted = (place if "." in place else f"{place}/{TABLE_PATTERN}" for place in places)
    raise NoTrace(f"{path}: has none of {', '.join(wanted)}")


# -- what URL_TRACE writes


def _is_url_trace(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise NoTrace(f"{path}: {error.strerror}") from error


def _trace_of_fingerprints(path: Path) -> Trace:
    """Return the trace in a file that URL_TRACE has written."""
    # The last fingerprint may be incomplete while the crawl runs
    count = (path.stat().st_size - len(MAGIC)) // 8
    words = np.fromfile(path, "<u8", count, offset=len(MAGIC))
    starts = np.flatnonzero(words == PAGE)
    kept, numbers = np.unique(words[words != PAGE], return_inverse=True)
    return Trace(
        _numbered_by_first(numbers), len(kept), (starts - np.arange(len(starts))).astype(np.int64)
    )


def _numbered_by_first(numbers: npt.NDArray[Any]) -> Numbers:
    """Return the look-ups with new numbers for their URLs, in the order of their first look-ups.

    So what is near in the trace is near in memory.
    """
    _, firsts = np.unique(numbers, return_index=True)
    new = np.empty(len(firsts), np.int64)
    new[np.argsort(firsts)] = np.arange(len(firsts))
    renumbered: Numbers = new[numbers]
    return renumbered


# -- everything else


def _breadth_first(links: Iterable[PageLink]) -> Iterator[PageLink]:
    """Yield the links of a graph as a breadth-first crawl from its first page finds them."""
    graph: dict[str, list[str]] = {}
    for page, link in links:
        graph.setdefault(page, []).append(link)
    # A list, and not a deque: it is read while it grows
    queue = [*graph][:1]
    found = set(queue)
    for page in queue:
        for link in graph.get(page, ()):
            yield page, link
            if link not in found:
                found.add(link)
                queue.append(link)


def _trace_of_links(links: Iterable[PageLink], owner: Callable[[str], int] | None) -> Trace:
    """Return the trace of these links, with the parts of drones if there is an `owner`."""
    numbers: dict[str, int] = {}
    lookups = array("q")
    pages = array("q")  # positions of look-ups at which those of another page begin
    page_parts = array("q")  # of each look-up, the drone of its page, and of its URL
    parts = array("q")
    last: str | None = None
    for page, link in links:
        if page != last or not page:
            last = page
            pages.append(len(lookups))
        if owner is not None:
            page_parts.append(_owner_of_url(owner, page))
            parts.append(_owner_of_url(owner, link))
        lookups.append(numbers.setdefault(link, len(numbers)))
    both = (_vector(page_parts), _vector(parts)) if owner is not None else None
    return Trace(_vector(lookups), len(numbers), _vector(pages), both)


def _owner_of_url(owner: Callable[[str], int], url: str) -> int:
    try:
        return owner(host_of(url))
    except (ValueError, IndexError):
        raise NoTrace(
            f"{url[:100]!r} is not a URL: this trace cannot be divided among drones"
        ) from None


def _vector(values: array[int]) -> Numbers:
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)


def _links_in(path: Path) -> Iterator[PageLink]:
    """Yield the links in a file of any form. Raise NoTrace if it cannot be read."""
    try:
        if path.suffix == ".parquet":
            yield from _links_of_table(path)
        else:
            with open_text(path) as file:
                yield from _links_of_text(path, file)
    except UNREADABLE as error:
        raise NoTrace(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except UnicodeDecodeError as error:
        raise NoTrace(f"{path}: is neither a trace nor a text") from error


def open_text(path: Path) -> AbstractContextManager[IO[str]]:
    """Return an open text file, which may be compressed as .gz or .zst."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    if path.suffix == ".zst":
        return io.TextIOWrapper(zstd.open(path, "rb"), encoding="utf-8", newline="\n")
    # Only LF ends a line: a URL of a log may contain what else Python takes for one
    return path.open(encoding="utf-8", newline="\n")


def _links_of_text(path: Path, file: IO[str]) -> Iterator[PageLink]:
    """Yield the links of a text; its first line decides which form all lines have."""
    lines = (line.rstrip("\r\n") for line in file)
    lines = (line for line in lines if line and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        return
    if "\0" in first or len(first) > MAX_FIRST_LINE_CHARS:
        raise NoTrace(f"{path}: is neither a trace nor a text")
    yield from _line_reader(path, first)(chain((first,), lines))


def _line_reader(path: Path, first: str) -> Callable[[Iterable[str]], Iterator[PageLink]]:
    """Return the reader for the lines of a file with this first one."""
    fields = first.split()
    # A status of crawl.log: Heritrix' codes of failures are negative
    if len(fields) == LOG_FIELDS and fields[1].lstrip("-").isdecimal():
        return _links_of_crawl_log
    if len(first.split("\t")) == LINK_LOG_FIELDS:
        return _links_of_link_log
    separator = _separator_of_edge(first)
    if separator:
        return lambda lines: _links_of_edges(path, lines, separator)
    if len(fields) > 1:
        raise NoTrace(
            f"{path}: its first line has {len(fields)} columns, but an edge needs two: a page and a link"
        )
    return lambda lines: (("", line) for line in lines)


def _separator_of_edge(line: str) -> str:
    """Return the character between the two ends of an edge, or "" if the line is not an edge."""
    for separator in SEPARATORS:
        ends = line.split(separator)
        # A comma may be part of a URL: then only one side has a scheme
        if len(ends) == 2 and ("://" in ends[0]) == ("://" in ends[1]):
            return separator
    return ""


def _links_of_crawl_log(lines: Iterable[str]) -> Iterator[PageLink]:
    """Yield the URLs of a crawl.log, each with the page on which it was found.

    Prerequisites such as robots.txt are left out.
    """
    for line in lines:
        fields = line.split()
        if len(fields) == LOG_FIELDS and not fields[HOPS].endswith("P"):
            yield fields[VIA], fields[URL]


def _links_of_link_log(lines: Iterable[str]) -> Iterator[PageLink]:
    for line in lines:
        fields = line.split("\t")
        if len(fields) == LINK_LOG_FIELDS and fields[2]:
            yield fields[0], fields[2]


def _links_of_edges(path: Path, lines: Iterable[str], separator: str) -> Iterator[PageLink]:
    for line in lines:
        ends = line.split(separator)
        if len(ends) != 2:
            raise NoTrace(
                f"{path}: {line[:100]!r} is not an edge like those before: a page and a link, "
                f"separated by {SEPARATORS[separator]}"
            )
        yield ends[0], ends[1]


def _links_of_table(path: Path) -> Iterator[PageLink]:
    """Yield the links of a table of links. Raise NoTrace if it is another table."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        raise NoTrace(f"{path}: {missing('pyarrow')}") from None
    try:
        with pq.ParquetFile(path) as file:
            text_columns = {
                field.name for field in file.schema_arrow if str(field.type) in TEXT_TYPES
            }
            if not text_columns.issuperset(LINK_COLUMNS):
                raise NoTrace(
                    f"{path}: is not a table of links: it lacks the columns {' and '.join(LINK_COLUMNS)}"
                )
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[*LINK_COLUMNS]):
                columns = [batch.column(name).to_pylist() for name in LINK_COLUMNS]
                for page, link in zip(*columns, strict=True):
                    if link is not None:
                        yield page or "", link
    except pa.ArrowException as error:
        raise NoTrace(f"{path}: {error}") from error
