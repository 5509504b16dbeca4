"""Finds the page that links to a URL: in the output of links, or else in archived pages whose links are too deep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from webcrawl.base.model import depth_of
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.log_lines import LINKS_LOG, read_link
from webcrawl.store.jobdir.table_progress import where
from webcrawl.tools.why.file_search import exchange_of
from webcrawl.tools.why.opened_crawl import Source
from webcrawl.tools.why.time_words import size
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.filters.filter_protocol import Origin

QUICK = 64 << 20  # bytes of links.log, and of crawl.log
ROWS = 2_000_000  # of the table `links`: half a second
TABLE = "tables/links-"
READ = 200  # archived pages that are read: each takes some milliseconds
LARGEST = 1 << 20  # bytes of a page


class Linking(NamedTuple):
    """A page that links to a URL, and the kind of that link; `path` is the page's, if its line was found."""

    page: str
    kind: str
    path: str | None = None

    @property
    def origin(self) -> Origin | None:
        """The origin that filters are told."""
        if self.path is None:
            return None
        path = self.path + ("R" if self.kind == REDIRECT else "L")
        return Origin(self.page, depth_of(path), path)


def linking(source: Source, urls: Collection[str], *, deep: bool) -> tuple[dict[str, Linking], list[str]]:
    """For each URL a page that links to it; and what was not looked through."""
    found: dict[str, tuple[str, str]] = {}
    cut: list[str] = []
    if source.has(LINKS_LOG):
        looked = source.log(LINKS_LOG).look(urls, deep=deep, quick=QUICK)
        for url, lines in looked.lines.items():
            for line in lines.values():
                if (link := read_link(line)) is not None:
                    found.setdefault(url, (link[0], link[3]))
        if not looked.whole:
            cut.append(f"the last {size(looked.looked)} of {size(looked.of)} of {LINKS_LOG}")
    _in_tables(source, urls, found, cut, deep=deep)
    pages = source.log(CRAWL_LOG).look({page for page, _ in found.values()}, deep=deep, quick=QUICK)
    paths = {page: _path(lines.values()) for page, lines in pages.lines.items()}
    linked = {url: Linking(page, kind, paths[page]) for url, (page, kind) in found.items()}
    return linked | _beyond(source, [url for url in urls if url not in linked], cut, deep=deep), cut


def _path(lines: Iterable[bytes]) -> str | None:
    return next((line.path for line in map(log_line, lines) if line is not None), None)


def _in_tables(
    source: Source, urls: Collection[str], found: dict[str, tuple[str, str]], cut: list[str], *, deep: bool
) -> None:
    """Adds to `cut` what was not read."""
    names = sorted(name for name in source.outputs.keys() | source.stored.keys() if name.startswith(TABLE))
    tables = [name for name in names if where(source.jobdir, name) is not None]
    if gone := len(names) - len(tables):
        place = "in the store" if source.stored.keys() & {*names} else "no longer here"
        cut.append(f"the table links, but {count(gone, 'file')} {place}")
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
            cut.append("the table links, but what is damaged")


def _in_table(source: Source, name: str, urls: Collection[str], found: dict[str, tuple[str, str]]) -> int:
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - as above

    path = where(source.jobdir, name)
    if path is None:  # taken away at this moment
        return 0
    wanted, rows = pa.array(list(urls), pa.string()), 0
    for batch in batches(path, ("from_url", "to_url", "kind"), source.outputs.get(name, 0)):
        rows += batch.num_rows
        hits = batch.filter(pc.is_in(batch.column("to_url"), value_set=wanted))
        for row in hits.to_pylist():
            found.setdefault(row["to_url"], (row["from_url"], row["kind"]))
    return rows


def _beyond(source: Source, urls: Collection[str], cut: list[str], *, deep: bool) -> dict[str, Linking]:
    """Reads archived pages again whose links the filter `depth` dropped, those of the URLs' own hosts first.

    Adds to `cut` what was not read.
    """
    if not urls or not source.filtered["depth"]:
        return {}
    from webcrawl.content.html.link_reader import LinkReader  # noqa: PLC0415 - it takes 50 ms, and few questions need it

    hosts = {host_of(url) for url in urls}
    pages = {line.url: line for line in _deepest(source, deep=deep)}
    lines = sorted(pages.values(), key=lambda line: host_of(line.url) not in hosts)
    if not deep and len(lines) > READ:
        cut.append(f"{READ} of {len(lines):,} pages whose links are too deep")
        lines = lines[:READ]
    entries = source.indexes.entries_of([line.url for line in lines])
    if missing := sum(not entries[line.url] for line in lines):
        cut.append(
            f"links that are too deep of {count(missing, 'page')}: no index of an archive (OUTPUTS=cdxj) has them"
        )
    reader, wanted, found = LinkReader(), set(urls), dict[str, Linking]()
    for line in lines:
        entry = entries[line.url][-1] if entries[line.url] else None
        exchange = exchange_of(source.jobdir, entry, LARGEST) if entry is not None else None
        if exchange is not None:
            links = reader.links(exchange.body, exchange.content_type, line.url)
            kinds = {address: kind for kind, address, _, _ in links.links}
            targets = canonical_links(links.base, kinds, Counter(), source.values["URL_MAX_LENGTH"])
            for address, url in targets.items():
                if url in wanted:
                    found.setdefault(url, Linking(line.url, kinds[address], line.path))
    return found


def _deepest(source: Source, *, deep: bool) -> Iterator[CrawlLine]:
    """Lines of pages with links that are more hops from a seed than URL_MAX_DEPTH."""
    most = source.values["URL_MAX_DEPTH"]
    for data in source.log(CRAWL_LOG).last_lines(-1 if deep else QUICK):
        fields = data.split(None, 5)
        line = log_line(data) if len(fields) > 5 and len(fields[4]) >= most else None
        if line is not None and 200 <= line.status < 300 and depth_of(f"{line.path}L") > most:
            yield line
