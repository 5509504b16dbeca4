"""Answers are scored in batches before they are processed."""

import asyncio

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.base.page_values import UNSCORED, PageScores
from webcrawl.content.scoring import DIED
from webcrawl.crawl.scoring_ahead import (
    FIRST_REST_PAGES,
    MAX_SCORED_BYTES,
    PAGES_PER_BATCH,
    ScoringAhead,
)
from webcrawl.crawl.trip import Trip
from webcrawl.store.errors import StoreError

HTML = [(b"content-type", b"text/html")]


class Process:
    """Says 1 of every page, or what it is told to."""

    def __init__(self, says=PageScores(1.0), error=None):  # noqa: B008 - a value
        self.says, self.error, self.batches, self.ended = says, error, [], []

    def scored(self, bodies):
        self.batches.append(bodies)
        if self.error is not None:
            raise self.error
        return [self.says] * len(bodies)

    def kill(self):
        self.ended.append("killed")

    def close(self):
        self.ended.append("closed")


class Before:
    """What else is to be done first."""

    def __init__(self, result=None):
        self.result, self.closed = result, False

    async def begin(self):
        pass

    def __call__(self, trip):
        return self.result

    def close(self):
        self.closed = True


def answered(process, answers, path="", before=None):
    """The answers after they were scored."""
    trips = [Trip(Link("http://a.test/", path), exchange=one) for one in answers]

    async def all_of_it():
        ahead = ScoringAhead(before or Before(), process)
        try:
            await asyncio.gather(*filter(None, map(ahead, trips)))
        finally:
            ahead.close()

    asyncio.run(all_of_it())
    return [trip.exchange.state.scored for trip in trips]


def html(number=1, **more):
    return [exchange(**{"body": b"<p>text", "headers": HTML, **more}) for _ in range(number)]


def test_pages_that_come_together_are_a_batch():
    """As many as there may be in one."""
    process = Process()
    assert answered(process, html(2 * PAGES_PER_BATCH)) == [PageScores(1.0)] * 2 * PAGES_PER_BATCH
    assert [*map(len, process.batches)] == [PAGES_PER_BATCH] * 2
    assert process.ended == ["killed", "closed"]


@pytest.mark.parametrize(
    "more", [{"status": 404}, {"body": b""}, {"headers": [(b"content-type", b"image/png")]}]
)
def test_what_is_no_page(more):
    """Errors, images and empty bodies are not scored."""
    assert answered(Process(), html(**more)) == [None]


def test_robots_txt_is_no_page():
    """Nor is what the crawl asks for itself."""
    assert answered(Process(), html(), path="P") == [None]


def test_a_long_page():
    """Of a long one the beginning is."""
    process = Process()
    answered(process, html(body=b"x" * 2 * MAX_SCORED_BYTES))
    assert len(process.batches[0][0].data) == MAX_SCORED_BYTES


def test_a_scorer_without_a_process():
    """The page goes on without a score, and it is said why."""
    (found,) = answered(Process(error=OSError("no process")), html())
    assert found == PageScores(None, flaw="no process")


def test_after_deaths_the_scorer_rests(caplog):
    """Pages do not wait for a scorer that dies over each of them; the first few are told of."""
    process = Process(says=DIED)

    async def one_after_the_other():
        ahead = ScoringAhead(Before(), process)
        for one in html(FIRST_REST_PAGES + 2):
            waits = ahead(Trip(Link("http://a.test/"), exchange=one))
            if waits is not None:
                await waits
            yield one.state.scored
        ahead.close()

    async def collected():
        return [one async for one in one_after_the_other()]

    assert asyncio.run(collected()) == [DIED, *[UNSCORED] * FIRST_REST_PAGES, DIED]
    assert len(process.batches) == 2
    assert caplog.text.count("No score for") == 2


def test_what_else_is_done_first():
    """It is waited for, and closed at the end."""
    done = []

    async def first():
        await asyncio.sleep(0)
        done.append(True)

    before = Before(first())
    assert answered(Process(), html(), before=before) == [PageScores(1.0)]
    assert (done, before.closed) == ([True], True)


def test_a_scorer_that_cannot_be_made():
    """The crawl does not start."""

    async def begin():
        ahead = ScoringAhead(Before(), Process(error=OSError("no model")))
        try:
            await ahead.begin()
        finally:
            ahead.close()

    with pytest.raises(StoreError, match="SCORER: no model"):
        asyncio.run(begin())
