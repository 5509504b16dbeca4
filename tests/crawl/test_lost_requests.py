"""Requests that are lost are counted, told, and reported once by the end of a run."""

from collections import Counter
from contextlib import closing

from webcrawl.crawl.lost_requests import COUNTED, NAMELESS, Unkept
from webcrawl.store.crawldb import CrawlDB


def test_each_kind_is_told_once(tmp_path, caplog):
    """All are counted; of each kind the first has a line."""
    counters = Counter()
    with closing(CrawlDB(tmp_path)) as db:
        unkept = Unkept(db, counters)
        for number in range(5):
            unkept.add("callback", f"number {number}")
        unkept.add("errback", "another")

    assert counters[COUNTED] == 6
    assert caplog.messages == [
        f"{line}; it is lost, and others like it are only counted" for line in ("number 0", "another")
    ]


def test_a_run_reports_what_no_end_has_reported(tmp_path):
    """What was lost before a kill is reported by the end of the next run, and by no later one."""
    counters = Counter({COUNTED: 1, NAMELESS: 1})
    with closing(CrawlDB(tmp_path)) as db:
        assert Unkept(db, counters).report() == 2
        db.checkpoint()
    with closing(CrawlDB(tmp_path)) as db:
        again = Unkept(db, counters)
        assert again.report() == 0
        again.add("callback", "one more")
        assert again.report() == 1
