"""Which pages become documents, and what becomes of those whose extractor fails."""

import asyncio
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, Outcome, WithheldBytes
from webcrawl.base.page_values import Change, PageJudgement
from webcrawl.content.document_extraction import BROKEN, DocumentProcess
from webcrawl.content.formats.pdf import TRUNCATED_PDF
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.documents import Documents
from webcrawl.crawl.outputs.output import Dropped
from webcrawl.record.tables import table_writer

VALUES = {
    "JOBDIR": "job",
    "CONTENT_SEEN": "skip",
    "OUTPUTS": ("documents",),
    "MASK_CONTACTS": False,
    "TOKENIZER_FILE": None,
    "OFFICE_FILES": False,
}
GOOD = {"text": "beseda " * 5, "words": 5, "language_detected": "sl"}
EMPTY = {**GOOD, "text": ""}
FLAWED = {"flaw": "died"}
HTML = [(b"Content-Type", b"text/html")]


class Table:
    """What is written of documents."""

    def __init__(self, rows):
        self._rows = rows

    def put(self, page, exchange, about):
        self._rows.append(about)

    def end(self):
        pass


class Crawl:
    """A crawl whose only output are documents; its extractor has the same to say of each page."""

    def __init__(self, monkeypatch):
        self.failures, self.written, self.counters = [], [], Counter()
        self.hearers, self.answer = [], None
        parts = SimpleNamespace(
            counters=self.counters, db=None, outputs=None, log=SimpleNamespace(hearers=self.hearers)
        )
        self.run = SimpleNamespace(fail=self.failures.append, crawl=SimpleNamespace(parts=parts))
        monkeypatch.setattr(table_writer, "DocumentTable", lambda *_, **__: Table(self.written))
        monkeypatch.setattr(DocumentProcess, "document", self._document)

    def _document(self, head, body):
        assert head.keys() == {
            *("url", "encoding", "is_markup", "fetched"),
            *("is_masked", "tokenizer", "chunk_size", "office"),
        }
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @contextmanager
    def opened(self):
        pipeline = Documents(VALUES)
        pipeline.open(self.run)
        try:
            yield pipeline
        finally:
            pipeline.close_spider()


@pytest.fixture(name="crawl")
def _crawl(monkeypatch):
    return Crawl(monkeypatch)


@pytest.fixture(name="run")
def _run(crawl):
    """Processes one page: what was written of it, what was counted, what was told to the crawl."""

    def run(answer, change=Change.NEW, status=200, answered=None):
        crawl.answer = answer
        page = Page.of(Link("http://a.test/"), answered or exchange(status=status))
        page.change = change
        with crawl.opened() as pipeline:
            asyncio.run(pipeline.process_item(page))
        return crawl.written, dict(crawl.counters), crawl.failures

    return run


@pytest.mark.parametrize(
    ("answer", "counted"), [(EMPTY, "documents/empty"), (FLAWED, "documents/broken")]
)
def test_what_is_no_document(run, answer, counted):
    """Without a main text: no row. What broke its extractor has one, for nobody knows."""
    written, counters, _ = run(answer)

    assert written == ([FLAWED] if answer is FLAWED else [])
    assert counters == {counted: 1, **({"documents/written": 1} if answer is FLAWED else {})}


def test_a_pdf_that_breaks_the_extractor(run):
    """That its text is not whole is said of it alone, and not of others that break the extractor."""
    pdf = exchange(
        headers=[(b"Content-Type", b"application/pdf")],
        notes=(TRUNCATED_PDF,),
        found=DocumentLinks("", "", text="beseda"),
    )

    assert run(BROKEN, answered=pdf)[0] == [{**BROKEN, "truncated": "length"}]
    assert run(BROKEN)[0][-1] == FLAWED


@pytest.mark.parametrize(
    ("answer", "change", "status", "rows"),
    [
        (GOOD, Change.NEW, 200, [GOOD]),
        (GOOD, Change.NEW, 404, []),
        (GOOD, Change.UNCHANGED, 200, []),
        (GOOD, Change.CHANGED, 200, [GOOD]),
        (EMPTY, Change.CHANGED, 200, [{}]),
        (GOOD, Change.GONE, 404, [{}]),
    ],
)
def test_pages_that_are_fetched_again(run, answer, change, status, rows):
    """Each change has a row, without a text where there is no document any more."""
    assert run(answer, change, status)[0] == rows


@pytest.mark.parametrize(
    ("values", "headers", "rows"),
    [
        ({"duplicate": True}, HTML, [{}]),
        ({"withheld": WithheldBytes(9, 9)}, HTML, [{}]),
        ({}, HTML, []),
        ({"duplicate": True}, [(b"Content-Type", b"image/gif")], []),
    ],
)
def test_pages_that_no_output_gets(crawl, values, headers, rows):
    """One that is now what another URL has, or that its owner does not want kept, is no document
    any more.
    """
    again = exchange(headers=headers, revisit=PageJudgement(Change.CHANGED), **values)
    with crawl.opened():
        for hear in crawl.hearers:
            hear(Link("http://a.test/"), Outcome(200), again)

    assert crawl.written == rows


def test_no_process(run):
    """Where none can be started, nothing is lost: the crawl ends, and the next run makes the page
    again.
    """
    error = OSError("no process could be started to read documents in")
    with pytest.raises(Dropped, match="no process"):
        run(error)
