"""Finds links that the crawl noted and did not follow: in the outputs `links`, or left for later.

A link that is left for a segment (docs/reprocess-and-since.md) is in the crawl's log of such links,
in the pool of a builder of segments, or in a segment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from webcrawl.base.model import Packed, authority_of, depth_of
from webcrawl.base.readable import count
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.crawl.segments import FOLDER, FOUND, NAME, POOL
from webcrawl.record.tables.table_files import current_path
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import LINKS_CUT
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.crawls import is_crawl, number_of
from webcrawl.store.jobdir.log_lines import LINKS_LOG, read_link
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import BlockReader
from webcrawl.tools.why.file_search import last_lines
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.urls.filters.filter_protocol import Origin

FILE_BYTES = 64 << 20  # searched of links.log, of crawl.log, of found.log and of all segments
TABLE_ROWS = 2_000_000  # searched of the table `links`: half a second
POOL_LINES = 1 << 20  # searched of the pool
TABLE_PREFIX = "tables/links-"


class LinkingPage(NamedTuple):
    """A page that links to a URL."""

    page: str
    kind: str  # of the link
    path: str | None = None  # the page's own path from its seed, if crawl.log has it
    cut: int = 0  # links of the page that were not followed, because it has too many

    @property
    def origin(self) -> Origin | None:
        """Return the link's origin, as filters need it; None if the page's path is unknown."""
        if self.path is None:
            return None
        path = self.path + ("R" if self.kind == REDIRECT else "L")
        return Origin(self.page, depth_of(path), path)


def linking_pages(
    source: OpenedCrawl, urls: Collection[str], *, deep: bool
) -> tuple[dict[str, LinkingPage], list[str]]:
    """Return a page that links to each URL, by URL; and lines about what was not searched."""
    links: dict[str, tuple[str, str]] = {}  # page and kind, by URL
    unsearched: list[str] = []
    if source.has_output(LINKS_LOG):
        matches = source.log(LINKS_LOG).search(urls, deep=deep, max_bytes=FILE_BYTES)
        for url, lines in matches.lines.items():
            for line in lines.values():
                link = read_link(line)
                if link is not None:
                    links.setdefault(url, (link[0], link[3]))
        unsearched += matches.unsearched
    _search_tables(source, urls, links, unsearched, deep=deep)
    pages = {page for page, _ in links.values()}
    crawl_log = source.log(CRAWL_LOG).search(pages, deep=deep, max_bytes=FILE_BYTES)
    linking = {
        url: _linking_page(page, kind, crawl_log.lines[page].values())
        for url, (page, kind) in links.items()
    }
    return linking, unsearched


def _linking_page(page: str, kind: str, lines: Iterable[bytes]) -> LinkingPage:
    """Return the page of a link, with what the first readable line of crawl.log says of it."""
    first = next((line for line in map(log_line, lines) if line is not None), None)
    if first is None:
        return LinkingPage(page, kind)
    counts = (
        note.removeprefix(LINKS_CUT) for note in first.annotations if note.startswith(LINKS_CUT)
    )
    cut = next((int(number) for number in counts if number.isdecimal()), 0)
    return LinkingPage(page, kind, first.path, cut)


def _search_tables(
    source: OpenedCrawl,
    urls: Collection[str],
    links: dict[str, tuple[str, str]],
    unsearched: list[str],
    *,
    deep: bool,
) -> None:
    """Add to `links` those that the table `links` has, and to `unsearched` what was not read of it."""
    files = source.outputs.keys() | source.stored_files.keys()
    names = sorted(name for name in files if name.startswith(TABLE_PREFIX))
    tables = [name for name in names if current_path(source.jobdir, name) is not None]
    missing = len(names) - len(tables)
    if missing:
        is_stored = not source.stored_files.keys().isdisjoint(names)
        place = "in the store" if is_stored else "no longer here"
        unsearched.append(f"the table links, except for {count(missing, 'file')} {place}")
    if len(links) == len(urls):  # one link to each is enough
        return
    rows = 0
    for name in reversed(tables):
        if not deep and rows >= TABLE_ROWS:
            unsearched.append(f"the last {rows:,} rows of the table links")
            break
        try:
            rows += _search_table(source, name, urls, links)
        except Exception as error:  # noqa: BLE001 - pyarrow's, of any kind, for bytes of any kind
            source.notes.append(f"{name}: {' '.join(str(error).split())}")
            unsearched.append("the table links, except for its damaged parts")


def _search_table(
    source: OpenedCrawl, name: str, urls: Collection[str], links: dict[str, tuple[str, str]]
) -> int:
    """Add to `links` those that a file of the table `links` has. Return the file's rows."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - as above

    path = current_path(source.jobdir, name)
    if path is None:  # taken away at this moment
        return 0
    wanted = pa.array(list(urls), pa.string())
    rows = 0
    for batch in batches(path, ("from_url", "to_url", "kind"), source.outputs.get(name, 0)):
        rows += batch.num_rows
        matching = batch.filter(pc.is_in(batch.column("to_url"), value_set=wanted))
        for row in matching.to_pylist():
            links.setdefault(row["to_url"], (row["from_url"], row["kind"]))
    return rows


FOUND_LOG, IN_POOL, IN_SEGMENT = "log", "pool", "segment"


@dataclass(slots=True)
class LinkLeftForLater:
    """A link that waits for a later segment. `record` is the link, if its place has it."""

    where: str  # FOUND_LOG, IN_POOL or IN_SEGMENT
    file: str
    record: Packed = b""

    def to_json(self) -> dict[str, Any]:
        return {"where": self.where, "file": self.file}


def links_left_for_later(
    source: OpenedCrawl, urls: Collection[str], *, deep: bool
) -> tuple[dict[str, LinkLeftForLater], list[str]]:
    """Return the last place of each URL that is left for later; and lines about what was not searched."""
    wanted = {url.encode(): url for url in urls}
    unsearched: list[str] = []
    links = {
        wanted[key]: LinkLeftForLater(FOUND_LOG, FOUND, line)
        for key, line in _in_found_log(source, wanted, unsearched, deep=deep)
    }
    builder = _builder_folder(source.jobdir)
    if not is_crawl(builder):
        return links, unsearched
    for key, name in _in_segments(builder, wanted, unsearched, deep=deep):
        link = links.get(wanted[key])
        record = link.record if link is not None else b""
        links[wanted[key]] = LinkLeftForLater(IN_SEGMENT, f"{FOLDER}/{name}", record)
    try:
        for key, record in _in_pool(builder, wanted, source.domain_of, unsearched, deep=deep):
            links[wanted[key]] = LinkLeftForLater(IN_POOL, FOLDER, record)
    except (StoreError, OSError, ValueError) as error:  # a builder that runs replaces files
        unsearched.append(f"the pool of segments: {error}")
    return links, unsearched


def _builder_folder(jobdir: Path) -> Path:
    """Return the folder of the builder of segments: the crawl's own, or that of its hive."""
    is_drone = number_of(jobdir) is not None
    if is_drone and not is_crawl(jobdir / FOLDER):
        return jobdir.parent / FOLDER
    return jobdir / FOLDER


def _in_found_log(
    source: OpenedCrawl, wanted: Container[bytes], unsearched: list[str], *, deep: bool
) -> Iterator[tuple[bytes, Packed]]:
    """Yield the wanted URLs that the crawl's log of links has, with the links."""
    noted_length = None if source.is_running else source.outputs.get(FOUND, 0)
    max_bytes = None if deep else FILE_BYTES
    for line in last_lines(source.jobdir / FOUND, noted_length, max_bytes, FOUND, unsearched):
        url = line[: line.find(b" ")]
        if url in wanted:
            yield url, line


def _in_segments(
    folder: Path, wanted: Container[bytes], unsearched: list[str], *, deep: bool
) -> Iterator[tuple[bytes, str]]:
    """Yield the wanted URLs that segments have, with the segment's name: the newest segment first.

    No more than FILE_BYTES of all segments together are searched.
    """
    bytes_left = FILE_BYTES
    names = [path.name for path in folder.iterdir() if NAME.fullmatch(path.name)]
    for name in sorted(names, reverse=True):
        if bytes_left <= 0 and not deep:
            unsearched.append(f"segments before {name}")
            return
        max_bytes = None if deep else bytes_left
        for line in last_lines(folder / name, None, max_bytes, name, unsearched):
            url = _second_column(line)
            if url in wanted:
                yield url, name
        bytes_left -= (folder / name).stat().st_size


def _second_column(row: bytes) -> bytes:
    """Return the second column of a row of CSV, which may be quoted."""
    rest = row[row.find(b",") + 1 :]
    if not rest.startswith(b'"'):
        return rest[: rest.find(b",")]
    return rest[1 : rest.find(b'",')].replace(b'""', b'"')


def _in_pool(
    folder: Path,
    wanted: Collection[bytes],
    domain_of: Callable[[str], str],
    unsearched: list[str],
    *,
    deep: bool,
) -> Iterator[tuple[bytes, Packed]]:
    """Yield the wanted URLs that wait in the pool, with the links.

    The pool's files are sorted by domain and host, so that only blocks that may have one of the
    wanted hosts are searched.
    """
    # as lines of these hosts begin (tools/segments/segment.py)
    beginnings = sorted(
        b"%b %b " % (domain_of(url.decode()).encode(), _host(url)) for url in wanted
    )
    # A number in hexadecimal digits follows, which is below this.
    end = beginnings[-1] + b"g"
    with Snapshot(folder / "state") as snapshot:
        files = json.loads(snapshot.get(POOL) or b'{"files": []}')["files"]
    searched = 0
    for name, _, _ in files:
        with BlockReader(folder / name) as blocks:
            for block in blocks:
                if block[0] > end:
                    break
                if block[-1] < beginnings[0]:
                    continue
                searched += len(block)
                if searched > POOL_LINES and not deep:
                    unsearched.append(f"the pool of segments: about {POOL_LINES:,} lines")
                    return
                for line in block:
                    record = line.split(b" ", 3)[3]
                    url = record[: record.find(b" ")]
                    if url in wanted:
                        yield url, record[:-1]


def _host(url: bytes) -> bytes:
    return authority_of(url).rpartition("@")[2].encode()
