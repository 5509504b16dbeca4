"""Which page links to a URL, by the crawl's own output of links, if it has one: the last of it, or all."""

from __future__ import annotations

from collections.abc import Collection

from webcrawl.store.jobdir.link_line import LOG as LINKS_LOG
from webcrawl.store.jobdir.link_line import read
from webcrawl.tools.why.source import Source
from webcrawl.tools.why.words import size

QUICK = 64 << 20  # bytes of links.log
ROWS = 2_000_000  # of the table `links`: half a second
TABLE = "tables/links-"


def linking(source: Source, urls: Collection[str], *, deep: bool) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """For each URL a page that links to it, and the kind of that link; and what was not looked through."""
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
    tables = [name for name in source.outputs if name.startswith(TABLE)]
    if tables and len(found) < len(urls):
        rows = 0
        for name in reversed(tables):
            if not deep and rows >= ROWS:
                cut.append(f"the last {rows:,} rows of the table links")
                break
            try:
                rows += _in_table(source, name, urls, found)
            except Exception as error:  # noqa: BLE001 - pyarrow's, of any kind, for bytes of any kind
                source.odd.append(f"{name}: {' '.join(str(error).split())}")
    return found, cut


def _in_table(source: Source, name: str, urls: Collection[str], found: dict[str, tuple[str, str]]) -> int:
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    from webcrawl.record.tables.reading import batches, where  # noqa: PLC0415 - as above

    path = where(source.jobdir, name)
    if path is None:  # finished and taken away
        return 0
    wanted, rows = pa.array(list(urls), pa.string()), 0
    for batch in batches(path, ("from_url", "to_url", "kind"), source.outputs[name]):
        rows += batch.num_rows
        hits = batch.filter(pc.is_in(batch.column("to_url"), value_set=wanted))
        for row in hits.to_pylist():
            found.setdefault(row["to_url"], (row["from_url"], row["kind"]))
    return rows
