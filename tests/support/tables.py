"""The tables beside the other files of a crawl, without a network: what ends is told to them; their
rows are read.
"""

import time
from random import Random

import pyarrow.parquet as pq

from tests.support.saving import prepared
from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.record.tables.parquet import read_stream
from webcrawl.record.tables.table_writer import ChangeTable, CrawlTables, DocumentTable
from webcrawl.record.warc.capture import CompressionQueue
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

OPTIONS = {
    "follows_redirect": lambda path: len(path) < 5,
    "max_length": 2000,
    "clock": lambda: NOW,
    "host_failures": lambda: 5,
}


class Job:
    """A crawl's database, log, archive and tables."""

    def __init__(
        self,
        root,
        disk=None,
        *,
        archive=True,
        tables=True,
        changes=False,
        documents=False,
        chunks=0,
        full=64 << 20,
    ):
        """Open those parts that are wanted.

        `full` is the size of a table's file in bytes, and `chunks` that of the pieces of documents.
        """
        self.root = root
        self.db = CrawlDB(root / "state", disk)
        self.outputs = Outputs(self.db, root)
        self.log = CrawlLog(self.outputs.open("logs/crawl.log"))
        self.archive = None
        if archive:
            files = WarcFiles("test", 20_000, {"software": "webcrawl/0"})
            self.archive = WarcWriter(
                self.db,
                self.outputs,
                files,
                random=Random(2),
                clock=lambda: NOW,
                queue=CompressionQueue(),
            )
        self.tables = (
            CrawlTables(self.db, self.outputs, root, full=full, **OPTIONS) if tables else None
        )
        if tables:
            self.log.hearers.append(self.tables.record_end)
        self.changes = ChangeTable(self.db, self.outputs, root, full=full) if changes else None
        if changes:
            self.log.hearers.append(self.changes.record_end)

        self.documents = (
            DocumentTable(self.db, self.outputs, root, near=4, chunk_size=chunks, full=full)
            if documents
            else None
        )

    def page(self, url, links=(), *, path="", body=None, duplicate=False, status=200, **about):
        """End a page with these links; `status` is that of its answer."""
        answer = exchange(url, body if body is not None else b"<p>" + url.encode(errors="replace"))
        link = Link(url, path, "http://via.test/", "http://seed.test/")
        page = Page.of(link, answer)
        page.duplicate = duplicate
        if not duplicate:
            page.found = DocumentLinks(
                url, "UTF-8", [(kind, to, text, rel) for kind, to, text, rel in links], **about
            )
            page.followed, page.encoding, page.title = page.found.links, "UTF-8", page.found.title
        self.end(link, Outcome(status, 0.1, at=NOW, ended=1.0), answer, page)

    def visit(self, url, judged, status=200, headers=(), started=NOW):
        """End a page that was fetched again."""
        answer = exchange(
            url,
            b"<p>body" if status == 200 else b"",
            status=status,
            headers=headers,
            started=started,
        )
        answer.state.revisit = judged
        self.end(Link(url), Outcome(status, 0.1, at=NOW, ended=1.0), answer)

    def end(self, link, outcome, answer=None, page=None):
        """End any URL."""
        if self.archive is not None and answer is not None:
            answer.state.archived = self.archive.write(link, answer, duplicate=False, metadata={})
        if page is not None and self.tables is not None:
            self.tables.visit(page)
        if page is not None and self.documents is not None:
            self.documents.put(page, answer, self.about(page))
        self.log.finished(link, outcome, answer, [])

    @staticmethod
    def about(page):
        """Return what an extractor would say of a page."""
        return {"text": page.visible_text, "neardup": page.fingerprint}

    def checkpoint(self, until=()):
        """Take a checkpoint; `until` names tables whose conversions must be done by then."""
        prepared(self.db)
        if until:
            conversions = (self.tables or self.changes or self.documents).conversions
            end = time.monotonic() + 30
            while any(
                file.name.partition("-")[0] in until and not file.job.done()
                for file in conversions._files
            ):
                assert time.monotonic() < end
                time.sleep(0.001)
        self.db.checkpoint()

    def stop(self):
        """End the crawl as the pipelines end it."""
        if self.archive is not None:
            self.archive.close()
        self.checkpoint()
        for output in (self.tables, self.changes, self.documents):
            if output is not None:
                output.end()
        self.checkpoint()
        self.close()

    def close(self):
        self.outputs.close()
        self.db.close()


def files(root, table=""):
    """Return the names of the tables' files."""
    folder = root / "tables"
    return sorted(path.name for path in folder.glob(f"{table}*")) if folder.exists() else []


def rows(root, table):
    """Return all rows of a table as dicts, whether its files are finished or not."""
    found = []
    for path in sorted((root / "tables").glob(f"{table}-*")):
        if path.name.endswith(".arrows.open"):
            for batch in read_stream(path):
                found += batch.to_pylist()
        else:
            found += pq.read_table(path).to_pylist()
    return found
