"""What came of revisits is counted at the end of each, and kept by the checkpoint."""

import json
from collections import Counter

import pytest

from tests.support.warc_crawl import NOW, exchange
from webcrawl.crawl.counters import SavedCounters
from webcrawl.crawl.revisit_figures import LASTS, RevisitCounts
from webcrawl.model import Link, Outcome, Status
from webcrawl.revisit.change import By, Change, Judged, Signal
from webcrawl.revisit.figures import DAY, META, RevisitFigures, Sampled
from webcrawl.store.crawldb import CrawlDB

URL = "http://a.test/"


class Job:
    """The counts of a crawl with one page, fetched a day ago."""

    def __init__(self, root):
        self.db, self.now, self.asked = CrawlDB(root / "state"), NOW, 0
        self.counters = Counter()
        SavedCounters(self.db, {"crawl": self.counters})
        self.counts = RevisitCounts(
            self.db, self.counters, lambda: RevisitFigures(records=1, taken=4), self.sample, lambda: self.now
        )

    def sample(self):
        self.asked += 1
        return [Sampled(NOW - DAY, 1.0, DAY, due=NOW)]

    def end(self, judged, status=200):
        answer = exchange(URL, b"body", status=status)
        answer.revisit = judged
        self.counts.hear(Link(URL), Outcome(status), answer)


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Job(tmp_path)
    yield job
    job.db.close()


@pytest.mark.parametrize(
    ("judged", "name"),
    [
        (Judged(Change.UNCHANGED, By.STATUS), "unchanged_304"),
        (Judged(Change.UNCHANGED, By.DIGEST), "unchanged_digest"),
        (Judged(Change.CHANGED, By.DIGEST), "changed_digest"),
        (Judged(Change.CHANGED, By.TEXT), "changed_text"),
        (Judged(Change.GONE), "gone"),
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
    assert numbers["revisit/taken"] == 4


def test_what_is_no_revisit(job):
    """A new page, an answer to something else and a failure are not counted."""
    job.end(Judged(Change.NEW))
    job.end(None)
    job.counts.hear(Link(URL), Outcome(Status.TIMEOUT), None)

    assert not job.counters


@pytest.mark.parametrize(("change", "name"), [(Change.CHANGED, "signals_true"), (Change.UNCHANGED, "signals_false")])
def test_a_signal_is_true_if_there_is_a_change(job, change, name):
    """Whoever announced it."""
    job.end(Judged(change, By.DIGEST, signal=Signal.FEED))

    assert job.counters[f"revisit/{name}"] == 1


def test_estimates_are_made_now_and_then(job):
    """A sample is looked through once in some seconds, while counts are exact at any time."""
    before = job.counts.figures()
    job.end(Judged(Change.GONE))
    after = job.counts.figures()
    assert (job.asked, after.gone, after.freshness) == (1, 1, before.freshness)

    job.now += LASTS
    assert job.counts.figures().freshness < before.freshness
    job.now -= DAY / 2
    job.counts.figures()

    assert job.asked == 3


def test_a_checkpoint_keeps_them(job, tmp_path):
    """Counts go on from it after a kill, and whoever reads the state finds all figures."""
    job.end(Judged(Change.GONE))
    job.db.checkpoint()
    job.end(Judged(Change.GONE))
    job.db.close()

    again = Job(tmp_path)
    assert again.counts.figures().gone == 1
    noted = RevisitFigures.of(json.loads(again.db.get(META)))
    assert (noted.gone, noted.records, noted.freshness, sum(noted.rates)) == (1, 1, 0.5, 1)
    again.db.close()
