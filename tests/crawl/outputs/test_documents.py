"""Which pages become documents, and what becomes of those whose extractor fails."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, Outcome, WithheldBytes
from webcrawl.base.page_values import Change, PageJudgement
from webcrawl.content.document_extraction import BROKEN
from webcrawl.content.formats.pdf import CUT
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.documents import Documents
from webcrawl.crawl.outputs.output import Dropped
from webcrawl.store.worker import Worker

VALUES = {"JOBDIR": "job", "CONTENT_SEEN": "skip"}
GOOD = {"text": "beseda " * 5, "words": 5, "language_detected": "sl"}
EMPTY = {**GOOD, "text": ""}
FLAWED = {"flaw": "died"}
HTML = [(b"Content-Type", b"text/html")]


class Says:
    """A process that has the same to say of each page."""

    def __init__(self, answer):
        self.answer = answer

    def document(self, head, body):
        assert head.keys() == {"url", "encoding", "is_markup", "fetched"}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(name="run")
def _run():
    """Processes one page: what was written of it, what was counted, what was told to the crawl."""
    failures, written, counters = [], [], Counter()

    def run(answer, change=Change.NEW, status=200, answered=None):
        pipeline, thread = Documents(VALUES), Worker()
        pipeline.run = SimpleNamespace(fail=failures.append)
        pipeline._readers = [SimpleNamespace(process=Says(answer), thread=thread, waiting=0)]
        pipeline._table = SimpleNamespace(put=lambda page, exchange, about: written.append(about))
        pipeline._counters = counters
        page = Page.of(Link("http://a.test/"), answered or exchange(status=status))
        page.change = change
        try:
            asyncio.run(pipeline.process_item(page))
        finally:
            thread.close()
        return written, dict(counters), failures

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
        notes=(CUT,),
        found=DocumentLinks("", "", text="beseda"),
    )

    assert run(BROKEN, answered=pdf)[0] == [{**BROKEN, "cut": True}]
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
def test_pages_that_no_output_gets(values, headers, rows):
    """One that is now what another URL has, or that its owner does not want kept, is no document
    any more.
    """
    pipeline, written = Documents(VALUES), []
    pipeline._table = SimpleNamespace(put=lambda page, exchange, about: written.append(about))
    pipeline._counters = Counter()
    again = exchange(headers=headers, revisit=PageJudgement(Change.CHANGED), **values)
    pipeline._hear(Link("http://a.test/"), Outcome(200), again)

    assert written == rows


def test_no_process(run):
    """Where none can be started, nothing is lost: the crawl ends, and the next run makes the page
    again.
    """
    error = OSError("no process could be started to read documents in")
    with pytest.raises(Dropped, match="no process"):
        run(error)
