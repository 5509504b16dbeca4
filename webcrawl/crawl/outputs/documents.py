"""tables/documents-*.parquet: pages as documents, main text as Markdown (docs/outputs.md); and
tables/chunks-*.parquet, made of them (docs/corpora.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.base.dates import iso
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.page_values import Change
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.system import usable_cores
from webcrawl.content.document_extraction import DocumentProcess
from webcrawl.content.formats.pdf import TRUNCATED_PDF
from webcrawl.content.html.trees import markup
from webcrawl.content.page import Page
from webcrawl.content.text_quality import plain
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.outputs.text import has_news, unprocessed
from webcrawl.crawl.run import Run
from webcrawl.crawl.trip import Trip, page_under_way, when_finished
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import Worker

if TYPE_CHECKING:
    from webcrawl.record.tables import table_writer

# On real pages of 151 KB a document took 64 ms of CPU: one process makes some 15 per second.
MOST_PROCESSES = 4  # processes, each of about 100 MB: one core is the crawl's
PDF = "application/pdf"
OFFICE = (  # content.formats.office reads them
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/epub+zip",
)
# Bits in which the fingerprint of a document may differ from that of the first of its cluster. Each
# row has its own fingerprint, words and language: who wants other clusters, or fewer documents,
# filters the table.
NEAR_BITS = 4
NO_DOCUMENT: Mapping[str, Any] = {}


@dataclass(slots=True)
class _Reader:
    """A process that reads documents, one at a time."""

    process: DocumentProcess = field(default_factory=DocumentProcess)
    thread: Worker = field(default_factory=Worker)  # waits for the process
    waiting: int = 0  # pages, with the one that is being read


class Documents(Output):
    """Writes pages as documents, which processes of its own extract.

    A page waits for its document: until then it is not finished, and a checkpoint leaves it out.
    """

    output = "documents"
    content_types: tuple[str, ...] = (
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "text/markdown",
        PDF,
    )

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        if values["OFFICE_FILES"]:
            self.content_types += OFFICE
        self._skips = values["CONTENT_SEEN"] == "skip"
        self._readers: list[_Reader] = []
        self._table: table_writer.DocumentTable | None = None
        self._chunk_size = 0  # characters of a chunk; 0: without chunks

    def open(self, run: Run) -> None:
        """Open the table of documents, and start the processes that read pages for it."""
        super().open(run)
        from webcrawl.record.tables import table_writer  # noqa: PLC0415 - pyarrow is optional, and 50 MB of memory

        parts = run.crawl.parts
        self._counters = parts.counters
        if "chunks" in self.values["OUTPUTS"]:
            self._chunk_size = self.values["CHUNK_SIZE"]
        self._table = table_writer.DocumentTable(
            parts.db, parts.outputs, self.folder, near=NEAR_BITS, chunk_size=self._chunk_size
        )
        parts.log.hearers.append(self._hear)
        # Processes, and no threads: a thread would hold the interpreter for 20 of each 25 ms.
        processes = max(1, min(MOST_PROCESSES, len(usable_cores()) - 1))
        self._readers = [_Reader() for _ in range(processes)]

    async def process_item(self, page: Page) -> None:
        """Read a page that is new, changed or gone, and have its row written when it finishes."""
        if page.exchange is None or not has_news(page):
            return
        try:
            about = NO_DOCUMENT
            if page.change is not Change.GONE:
                about = await self._document(page)
            # A page that was a document before and is none by now has an empty row.
            has_no_row = page.change is Change.NEW and about is NO_DOCUMENT
            if not has_no_row:
                when_finished(partial(self._write, page, about))
        except (StoreError, OSError, MemoryError) as error:
            self.give_up(error)

    async def _document(self, page: Page) -> Mapping[str, Any]:
        """Return what is known of the page as a document, or NO_DOCUMENT.

        What is sent to the process is either the file of an office document or a text.
        """
        body = page.legible
        encoding = "UTF-8"
        office = page.content_type if page.content_type in OFFICE else ""  # the type of such a file
        if office:
            body = page.body  # it cannot be read in part
        elif page.content_type == PDF:
            body = page.visible_text.encode(errors="replace")
            if not body.strip():
                return NO_DOCUMENT
        else:
            encoding = page.find_encoding()
        head = {  # what the process has to know beside the body
            "url": page.url,
            "encoding": encoding,
            "is_markup": not office and bool(markup(page.header("content-type"), body)),
            "fetched": iso(page.fetched_at)[:10],
            "is_masked": self.values["MASK_CONTACTS"],
            "tokenizer": self.values["TOKENIZER_FILE"] or "",
            "chunk_size": self._chunk_size,
            "office": office,
        }
        reader = min(self._readers, key=lambda each: each.waiting)
        # Of a page that is finished already no one asks how many processes read it.
        trip = page_under_way() or Trip()
        reader.waiting += 1
        trip.readers += 1
        try:
            reading = reader.thread.submit(reader.process.document, head, body)
            about = await asyncio.wrap_future(reading)
        finally:
            trip.readers -= 1
            reader.waiting -= 1
        if head["is_markup"] and about.get("text"):
            # As if it had been asked for: the full-text index takes it
            page.looked_up = {**(page.looked_up or {}), "main_text": plain(about["text"])}
        if page.exchange is not None and TRUNCATED_PDF in page.exchange.state.notes:
            # A copy: all pages that break their reader share one answer
            about = {**about, "truncated": "length"}
        return about if self._is_wanted(about) else NO_DOCUMENT

    def _is_wanted(self, about: Mapping[str, Any]) -> bool:
        """Return whether a page may be a document.

        One without a main text is none; of one that broke its reader it is not known.
        """
        if "flaw" in about:  # its reader broke
            self._counters.update(["documents/broken"])
        elif not about["text"]:
            self._counters.update(["documents/empty"])
            return False
        return True

    def _write(self, page: Page, about: Mapping[str, Any]) -> None:
        """Write the row of a page. The archive must have the page: its row says where."""
        if self._table is not None and page.exchange is not None:
            self._table.put(page, page.exchange, about)
            self._counters.update(["documents/written"])

    def _hear(self, link: Link, _outcome: Outcome, exchange: Exchange | None) -> None:
        """Write a row without a document for a page that has changed and that no output gets."""
        page = unprocessed(link, exchange, skips_seen=self._skips)
        if page is not None and page.content_type in self.content_types:
            self._write(page, NO_DOCUMENT)

    def close_spider(self) -> None:
        """Finish the files: the last checkpoint, which follows, has them."""
        for reader in self._readers:
            # Killed from here, so that the thread does not wait for it; closed by its thread.
            reader.process.kill()
            reader.thread.submit(reader.process.close)
            reader.thread.close()
        if self._table is not None:
            self._table.end()
