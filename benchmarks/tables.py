"""The cost of a page's rows in the tables of pages and links.

The same pages, 40 links each, end one after the other: CPU microseconds per page in the event loop for their rows,
then in the thread for the Parquet files, and bytes on disk per page and link. `reading` is what it costs to read links
of all kinds with their texts, which the tables need, instead of those that are followed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.support.report import report, timed
from benchmarks.warc import HEADERS, _exchange, _page
from webcrawl.base.model import Link, Outcome
from webcrawl.content.formats.document_kinds import LOGGED
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html.link_kinds import FOLLOWED
from webcrawl.content.page import Page
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.record.tables.table_files import Tables
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.outputs import Outputs

KIND = "text/html; charset=utf-8"
ENDED = Outcome(200, 0.1, at=1.7e9, ended=1.0)


def _pages(bodies: list[bytes], reader: DocumentReader) -> list[Page]:
    pages = []
    for number, body in enumerate(bodies):
        exchange = _exchange(number, body)
        exchange.headers = [(name.encode(), value.encode()) for name, value in HEADERS]
        page = Page.of(Link(exchange.url, "LLL", "http://www.example.org/index.html", "http://example.org/"), exchange)
        page.found = reader.links(body, KIND, exchange.url)
        page.followed = page.found.links
        exchange.digest  # noqa: B018 - crawl.log and archive need it too
        pages.append(page)
    return pages


def written(pages: list[Page], folder: Path) -> dict[str, float]:
    """CPU seconds for the rows and for the files; bytes of the files."""
    with closing(CrawlDB(folder / "state")) as db, closing(Outputs(db, folder)) as outputs:
        CrawlLog(outputs.open(LOG))
        tables = Tables(
            db,
            outputs,
            folder,
            follows_redirect=lambda _: True,
            max_length=2000,
            clock=lambda: 1.7e9,
            host_failures=lambda: 5,
        )
        with timed() as rows:
            for page in pages:
                if page.link is not None:
                    tables.visit(page)
                    tables.hear(page.link, ENDED, page.exchange)
            for _ in tables.prepare():
                pass
        tables.end()
        with timed() as files:
            for _ in tables.prepare():
                time.sleep(0.001)
        sizes = {path.name[:5]: path.stat().st_size for path in (folder / "tables").glob("*.parquet.open")}
    return {"rows": rows.cpu, "files": files.cpu, "pages": sizes["pages"], "links": sizes["links"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--size", type=int, default=37_000)
    args = parser.parse_args()
    chance = random.Random(1)
    bodies = [_page(chance, args.size) for _ in range(args.n)]
    costs = {}
    for name, reader in (("followed", DocumentReader(FOLLOWED)), ("all", DocumentReader(LOGGED, anchor_text=True))):
        with timed() as clock:
            for body in bodies:
                reader.links(body, KIND, "http://www.example.org/")
        costs[name] = clock.cpu
    with tempfile.TemporaryDirectory() as scratch:
        found = written(_pages(bodies, DocumentReader(LOGGED, anchor_text=True)), Path(scratch))
    report(
        "tables",
        pages=args.n,
        rows_us=1e6 * found["rows"] / args.n,
        files_us=1e6 * found["files"] / args.n,
        reading_us=1e6 * (costs["all"] - costs["followed"]) / args.n,
        page_bytes=found["pages"] / args.n,
        link_bytes=found["links"] / args.n / 40,
    )


if __name__ == "__main__":
    main()
