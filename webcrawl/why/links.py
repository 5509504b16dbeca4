"""Which page links to a URL, by the crawl's own output of links, if it has one: the last of it, or all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular
from webcrawl.why.source import LINKS_LOG, Source
from webcrawl.why.words import size

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
                page, _, _, kind, *_ = line.decode("utf-8", "replace").split("\t")
                found.setdefault(url, (page, kind))
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

    wanted, rows = pa.array(list(urls), pa.string()), 0
    for batch in _batches(source.jobdir, name, source.outputs[name]):
        rows += batch.num_rows
        hits = batch.filter(pc.is_in(batch.column("to_url"), value_set=wanted))
        for row in hits.to_pylist():
            found.setdefault(row["to_url"], (row["from_url"], row["kind"]))
    return rows


def _batches(jobdir: Path, name: str, length: int) -> Iterator[Any]:
    columns = ["from_url", "to_url", "kind"]
    path = next((one for one in (jobdir / name, jobdir / f"{name}{OPEN}") if one.exists()), None)
    if path is None:  # finished and taken away
        return
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        with regular(path) as file, pq.ParquetFile(file) as table:
            yield from table.iter_batches(columns=columns, use_threads=False)
        return
    from webcrawl.tables.stream import read_stream  # noqa: PLC0415 - as above

    with regular(path) as file:
        for batch in read_stream(file.read(length)):
            yield batch.select(columns)
