"""What came of revisits is counted at the end of each, and kept by the checkpoint."""

import json
from collections import Counter

import pytest

from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.page_values import By, Change, PageJudgement
from webcrawl.crawl.revisit.change_rate import Sample
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit_counts import LASTS, RATE_SPAN, RevisitCounts
from webcrawl.crawl.saved_state import SavedCounters
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.revisit_figures import DAY, META, RevisitFigures

URL = "http://a.test/"


class Job:
    """The counts of a crawl with one page, fetched a day ago."""

    def __init__(self, root):
        self.db, self.at = CrawlDB(root / "state"), NOW
        self.counters = Counter()
        SavedCounters(self.db, {"crawl": self.counters})
        self.sample = Sample()
        self.counts = RevisitCounts(self.db, self.sample, self.counters, lambda: self.at)
        self.counts.now = lambda: RevisitFigures(records=1)
        self.counts.kept(PageRecord(URL, fetched=NOW - DAY), 0.0)

    def end(self, judged, status=200):
        answer = exchange(URL, b"body", status=status)
        answer.state.revisit = judged
        self.counts.record_end(Link(URL), Outcome(status), answer)


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Job(tmp_path)
    yield job
    job.db.close()


@pytest.mark.parametrize(
    ("judged", "name"),
    [
        (PageJudgement(Change.UNCHANGED, By.STATUS), "unchanged_304"),
        (PageJudgement(Change.UNCHANGED, By.DIGEST), "unchanged_digest"),
        (PageJudgement(Change.CHANGED, By.DIGEST), "changed_digest"),
        (PageJudgement(Change.CHANGED, By.TEXT), "changed_text"),
        (PageJudgement(Change.GONE), "gone"),
    ],
)
def test_each_outcome_is_counted(job, judged, name):
    """By what the fetch found, and how that is known."""
    job.end(judged)
    numbers = job.counts.stats()

    assert {key for key, value in numbers.items() if value == 1} == {
        f"revisit/{name}",
        "revisit/records",
        "revisit/sampled",
    }


def test_what_is_no_revisit(job):
    """A new page, an answer to something else and a failure are not counted."""
    job.end(PageJudgement(Change.NEW))
    job.end(None)
    job.counts.record_end(Link(URL), Outcome(Status.TIMEOUT), None)

    assert not job.counters


def test_what_came_of_signals(job):
    """Whoever follows them counts, by names of its own."""
    job.counters.update({"signals/true": 3, "signals/false": 2, "signals/ignored": 1})
    figures = job.counts.figures()

    assert (figures.signals_true, figures.signals_false, figures.signals_ignored) == (3, 2, 1)


def test_estimates_are_made_now_and_then(job):
    """A sample is looked through once in some seconds, while counts are exact at any time."""
    before = job.counts.figures()
    job.at += LASTS / 2
    job.end(PageJudgement(Change.GONE))
    after = job.counts.figures()
    assert (after.gone, after.freshness) == (1, before.freshness)

    job.at += LASTS
    assert job.counts.figures().freshness < before.freshness
    job.at -= DAY / 2
    assert job.counts.figures().freshness > before.freshness


def test_the_first_page_is_seen_at_once(tmp_path):
    """An estimate by no page is made anew as soon as there is one."""
    job = Job(tmp_path)
    job.sample.drop(URL)
    assert job.counts.figures().sampled == 0
    job.counts.kept(PageRecord(URL, fetched=NOW), 0.0)

    assert job.counts.figures().sampled == 1
    job.db.close()


def test_the_rate_of_the_last_minutes(job):
    """What was done long ago does not count, nor what former runs did."""
    assert job.counts.figures().used == 0.0
    for _ in range(4):
        for _ in range(300):
            job.counts.taken()
        job.at += RATE_SPAN / 2 + 1
        job.counts.figures()
    job.at += RATE_SPAN / 4
    assert job.counts.figures().used == pytest.approx(300 / (RATE_SPAN * 0.75 + 1))

    assert job.counts.figures().taken == 1200


def test_a_page_that_is_fetched_no_more(job):
    """It is counted, and says nothing of the others any more."""
    job.counts.forgot(URL)
    job.counts.moved("http://other.test/")
    figures = job.counts.figures()

    assert (figures.forgotten, figures.moved, figures.sampled) == (1, 1, 0)


def test_a_checkpoint_keeps_them(job, tmp_path):
    """Counts go on from it after a kill, and whoever reads the state finds all figures."""
    job.end(PageJudgement(Change.GONE))
    job.db.checkpoint()
    job.end(PageJudgement(Change.GONE))
    job.db.close()

    again = Job(tmp_path)
    assert again.counts.figures().gone == 1
    noted = RevisitFigures.of(json.loads(again.db.get(META)))
    assert (noted.gone, noted.records, noted.sampled, sum(noted.rates)) == (1, 1, 1, 1)
    again.db.close()


def test_a_page_that_was_fetched_ahead(job):
    """What its record does not know yet is known of the sample; other pages do not come into it so."""
    job.counts.kept_ahead(PageRecord(URL, fetched=NOW), changed=True)
    job.counts.kept_ahead(PageRecord("http://other.test/", fetched=NOW), changed=True)

    (page,) = job.sample
    assert (page.fetched, page.visits, page.changes) == (NOW, 1, 1)
