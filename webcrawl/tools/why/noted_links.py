"""Finds links that the crawl noted and did not follow: in `links`, or left for later.

What is left for a segment (docs/reprocess-and-since.md) lies in the crawl's log, in the builder's pool, or in
a list.
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
from webcrawl.record.tables.table_files import where
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.crawls import is_crawl, number_of
from webcrawl.store.jobdir.log_lines import LINKS_LOG, read_link
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import BlockReader
from webcrawl.tools.why.file_search import last_lines
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.urls.filters.filter_protocol import Origin

QUICK = 64 << 20  # bytes of links.log, of crawl.log, of found.log and of segments
ROWS = 2_000_000  # of the table `links`: half a second
LINES = 1 << 20  # of the pool
TABLE = "tables/links-"


class LinkingPage(NamedTuple):
    """A page that links to a URL, and the link's kind; `path`: the page's, if it was found."""

    page: str
    kind: str
    path: str | None = None

    @property
    def origin(self) -> Origin | None:
        """Return the origin that filters are told."""
        if self.path is None:
            return None
        path = self.path + ("R" if self.kind == REDIRECT else "L")
        return Origin(self.page, depth_of(path), path)


def linking(
    source: OpenedCrawl, urls: Collection[str], *, deep: bool
) -> tuple[dict[str, LinkingPage], list[str]]:
    """Return a page that links to each URL, by URL; and what was not looked through."""
    found: dict[str, tuple[str, str]] = {}
    cut: list[str] = []
    if source.has(LINKS_LOG):
        looked = source.log(LINKS_LOG).look(urls, deep=deep, quick=QUICK)
        for url, lines in looked.lines.items():
            for line in lines.values():
                if (link := read_link(line)) is not None:
                    found.setdefault(url, (link[0], link[3]))
        cut += looked.cut
    _in_tables(source, urls, found, cut, deep=deep)
    pages = source.log(CRAWL_LOG).look({page for page, _ in found.values()}, deep=deep, quick=QUICK)
    paths = {page: _path(lines.values()) for page, lines in pages.lines.items()}
    return {url: LinkingPage(page, kind, paths[page]) for url, (page, kind) in found.items()}, cut


def _path(lines: Iterable[bytes]) -> str | None:
    return next((line.path for line in map(log_line, lines) if line is not None), None)


def _in_tables(
    source: OpenedCrawl,
    urls: Collection[str],
    found: dict[str, tuple[str, str]],
    cut: list[str],
    *,
    deep: bool,
) -> None:
    """Look in the tables of links. Add to `cut` what was not read."""
    files = source.outputs.keys() | source.stored.keys()
    names = sorted(name for name in files if name.startswith(TABLE))
    tables = [name for name in names if where(source.jobdir, name) is not None]
    if gone := len(names) - len(tables):
        place = "in the store" if source.stored.keys() & {*names} else "no longer here"
        cut.append(f"the table links, except for {count(gone, 'file')} {place}")
    if len(found) == len(urls):
        return
    rows = 0
    for name in reversed(tables):
        if not deep and rows >= ROWS:
            cut.append(f"the last {rows:,} rows of the table links")
            break
        try:
            rows += _in_table(source, name, urls, found)
        except Exception as error:  # noqa: BLE001 - pyarrow's, of any kind, for bytes of any kind
            source.odd.append(f"{name}: {' '.join(str(error).split())}")
            cut.append("the table links, except for its damaged parts")


def _in_table(
    source: OpenedCrawl, name: str, urls: Collection[str], found: dict[str, tuple[str, str]]
) -> int:
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - as above

    path = where(source.jobdir, name)
    if path is None:  # taken away at this moment
        return 0
    wanted = pa.array(list(urls), pa.string())
    rows = 0
    for batch in batches(path, ("from_url", "to_url", "kind"), source.outputs.get(name, 0)):
        rows += batch.num_rows
        hits = batch.filter(pc.is_in(batch.column("to_url"), value_set=wanted))
        for row in hits.to_pylist():
            found.setdefault(row["to_url"], (row["from_url"], row["kind"]))
    return rows


FOUND_LOG, IN_POOL, IN_SEGMENT = "log", "pool", "segment"


@dataclass(slots=True)
class LinkLeftForLater:
    """The place of a link that waits. `record` is the link, if that place has it."""

    where: str
    file: str
    record: Packed = b""

    def to_json(self) -> dict[str, Any]:
        return {"where": self.where, "file": self.file}


def left_for_later(
    source: OpenedCrawl, urls: Collection[str], *, deep: bool
) -> tuple[dict[str, LinkLeftForLater], list[str]]:
    """Return the last place of each URL that was left, and what was not looked through."""
    jobdir = source.jobdir
    wanted = {url.encode(): url for url in urls}
    looked: list[str] = []
    found = {
        wanted[key]: LinkLeftForLater(FOUND_LOG, FOUND, line)
        for key, line in _in_log(source, wanted, looked, deep=deep)
    }
    home = (
        jobdir.parent if number_of(jobdir) is not None and not is_crawl(jobdir / FOLDER) else jobdir
    )
    if not is_crawl(home / FOLDER):
        return found, looked
    for key, name in _in_segments(home / FOLDER, wanted, looked, deep=deep):
        link = found.get(wanted[key])
        found[wanted[key]] = LinkLeftForLater(
            IN_SEGMENT, f"{FOLDER}/{name}", link.record if link is not None else b""
        )
    try:
        for key, record in _in_pool(home / FOLDER, wanted, source.domain_of, looked, deep=deep):
            found[wanted[key]] = LinkLeftForLater(IN_POOL, FOLDER, record)
    except (StoreError, OSError, ValueError) as error:  # a builder that runs replaces files
        looked.append(f"the pool of segments: {error}")
    return found, looked


def _in_log(
    source: OpenedCrawl, wanted: Container[bytes], looked: list[str], *, deep: bool
) -> Iterator[tuple[bytes, Packed]]:
    length = None if source.alive else source.outputs.get(FOUND, 0)
    for line in last_lines(source.jobdir / FOUND, length, None if deep else QUICK, FOUND, looked):
        url = line[: line.find(b" ")]
        if url in wanted:
            yield url, line


def _in_segments(
    folder: Path, wanted: Container[bytes], looked: list[str], *, deep: bool
) -> Iterator[tuple[bytes, str]]:
    """Look in the segments, the newest first; together no more than QUICK bytes."""
    left = QUICK
    for name in sorted(
        (path.name for path in folder.iterdir() if NAME.fullmatch(path.name)), reverse=True
    ):
        if left <= 0 and not deep:
            looked.append(f"segments before {name}")
            return
        for line in last_lines(folder / name, None, None if deep else left, name, looked):
            url = _second_column(line)
            if url in wanted:
                yield url, name
        left -= (folder / name).stat().st_size


def _second_column(row: bytes) -> bytes:
    rest = row[row.find(b",") + 1 :]
    if not rest.startswith(b'"'):
        return rest[: rest.find(b",")]
    return rest[1 : rest.find(b'",')].replace(b'""', b'"')


def _in_pool(
    folder: Path,
    wanted: Collection[bytes],
    domain_of: Callable[[str], str],
    looked: list[str],
    *,
    deep: bool,
) -> Iterator[tuple[bytes, Packed]]:
    """Look in the pool, whose files are sorted by domain and host: only at those wanted."""
    sites = sorted(b"%b %b " % (domain_of(url.decode()).encode(), _host(url)) for url in wanted)
    with Snapshot(folder / "state") as snapshot:
        files = json.loads(snapshot.get(POOL) or b'{"files": []}')["files"]
    lines = 0
    for name, _, _ in files:
        with BlockReader(folder / name) as blocks:
            for block in blocks:
                if block[0] > sites[-1] + b"g":  # a number in hexadecimal digits follows
                    break
                if block[-1] < sites[0]:
                    continue
                lines += len(block)
                if lines > LINES and not deep:
                    looked.append(f"the pool of segments: about {LINES:,} lines")
                    return
                for line in block:
                    record = line.split(b" ", 3)[3]
                    url = record[: record.find(b" ")]
                    if url in wanted:
                        yield url, record[:-1]


def _host(url: bytes) -> bytes:
    return authority_of(url).rpartition("@")[2].encode()
