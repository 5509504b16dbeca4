"""Finds the page that links to a URL, in the output of links."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from webcrawl.base.model import depth_of
from webcrawl.base.readable import count
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.link_line import LOG as LINKS_LOG
from webcrawl.store.jobdir.link_line import read
from webcrawl.store.jobdir.table_progress import where
from webcrawl.tools.why.opened_crawl import Source
from webcrawl.tools.why.time_words import size
from webcrawl.urls.filters.filter_protocol import Origin

QUICK = 64 << 20  # bytes of links.log, and of crawl.log
ROWS = 2_000_000  # of the table `links`: half a second
TABLE = "tables/links-"


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
                if (link := read(line)) is not None:
                    found.setdefault(url, (link[0], link[3]))
        if not looked.whole:
            cut.append(f"the last {size(looked.looked)} of {size(looked.of)} of {LINKS_LOG}")
    _in_tables(source, urls, found, cut, deep=deep)
    pages = source.log(CRAWL_LOG).look({page for page, _ in found.values()}, deep=deep, quick=QUICK)
    paths = {page: _path(lines.values()) for page, lines in pages.lines.items()}
    return {url: Linking(page, kind, paths[page]) for url, (page, kind) in found.items()}, cut


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
