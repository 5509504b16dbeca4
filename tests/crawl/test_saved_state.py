"""Statistics and crawl.log are one checkpoint."""

import time
from collections import Counter

import pytest

from tests.support.saving import prepared
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.saved_state import SavedStatistics, rename_answers
from webcrawl.record.statistics import Statistics, count_log_line
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

KEY = bytes(16)


class Run:
    """The log and the statistics of one run."""

    def __init__(self, root, *, counts=True):
        self.root = root
        self.db = CrawlDB(root / "state")
        self.outputs = Outputs(self.db, root)
        self.log = CrawlLog(self.outputs.open("logs/crawl.log"))
        self.statistics = (
            SavedStatistics(self.db, self.log, KEY, CrawlClock(self.db)).statistics
            if counts
            else None
        )

    def work(self, urls):
        for number in range(urls):
            self.log.finished(
                Link(f"http://h{number}.test/", "L"), Outcome(404 if number % 3 else -1), None, []
            )

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()

    def end(self):
        self.outputs.close()
        self.db.close()


def of_the_log(root):
    statistics = Statistics(KEY)
    for line in (root / "logs/crawl.log").read_text().splitlines():
        count_log_line(statistics, line.split())
    return statistics.save()


@pytest.mark.parametrize("saved", [0, 7])
def test_a_kill_sets_both_back(tmp_path, saved):
    """After a kill the statistics are those of the log that was truncated, and go on from there."""
    run = Run(tmp_path)
    run.work(saved)
    run.checkpoint()
    run.work(20)
    run.end()

    run = Run(tmp_path)
    assert run.statistics.lines == saved
    run.work(5)
    run.checkpoint()
    run.end()

    run = Run(tmp_path)
    assert run.statistics.save() == of_the_log(tmp_path)
    assert run.statistics.lines == saved + 5
    run.end()


def test_a_crawl_that_kept_none(tmp_path):
    """Statistics of a crawl that was begun without know how much of the log they have not heard."""
    run = Run(tmp_path, counts=False)
    run.work(5)
    run.checkpoint()
    run.end()
    length = (tmp_path / "logs/crawl.log").stat().st_size

    run = Run(tmp_path)
    run.work(2)
    run.checkpoint()
    run.end()

    run = Run(tmp_path)
    assert (run.statistics.since, run.statistics.lines) == (length, 2)
    run.end()


def test_the_series_over_time_is_of_the_crawls_time(tmp_path):
    """A machine's clock that is set during a crawl does not stretch the crawl's time."""
    run = Run(tmp_path)
    body = Exchange("", b"", 200, b"", [], b"", b"x", b"", "", 0.0, None)
    for ended, at in ((7.0, 0.0), (8.0, time.time())):
        run.log.finished(Link("http://a.test/"), Outcome(200, at=at, ended=ended), body, [])
    run.end()

    series = run.statistics.series
    assert (series.downloads, series.active) == ([1, 1], 2.0)


def test_counters_of_an_earlier_version():
    """What was counted as pages, with robots.txt and errors, is answers; pages are the documents of
    the statistics.
    """
    statistics = Statistics(KEY)
    statistics.documents = 6
    counters = Counter(pages=9, failures=1)

    rename_answers(counters, statistics)
    assert counters == Counter(pages=6, answers=9, failures=1)
    rename_answers(counters, statistics)  # of this version
    assert counters == Counter(pages=6, answers=9, failures=1)
