"""What is kept of hosts beside their records: rules of robots.txt, and waits that they have asked
for.
"""

import sqlite3
from contextlib import closing

import pytest

from webcrawl.frontier.host_rows import SWEPT, RetryAfterJournal, RobotsRows
from webcrawl.net.robots_book import RobotsBook, RobotsDecision
from webcrawl.net.robots_entry import KEEP
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

HOUR = 3600.0


@pytest.fixture
def db(tmp_path):
    with closing(CrawlDB(tmp_path)) as db:
        yield db


def count(db):
    return db.query("SELECT count(*) FROM robots")[0][0]


def fill(db, rows, until):
    """Adds rows of this many hosts."""
    table = RobotsRows(db)
    for number in range(rows):
        table.set_robots(f"http://old{number}.test", until, b"")
    db.checkpoint()


def test_rules_are_kept_by_origin(db):
    """Rules and their expiry are stored by scheme, host and port."""
    table = RobotsRows(db)
    assert table.robots("http://a") is None
    table.set_robots("http://a", 99.5, b"rules")
    assert table.robots("http://a") == (99.5, b"rules")
    assert table.robots("https://a") is None


@pytest.mark.parametrize("change", ["until = 1", "rules = x'21'", "rules = 'rules'"])
def test_rules_with_another_checksum(db, change):
    """Altered rules raise DamagedFile."""
    table = RobotsRows(db)
    table.set_robots("http://a", 99.5, b"rules")
    db.execute(f"UPDATE robots SET {change}")
    with pytest.raises(DamagedFile, match="table robots, http://a: wrong checksum"):
        table.robots("http://a")


class TestSweep:
    @pytest.mark.campaign
    def test_ever_new_hosts_leave_a_bounded_table(self, db):
        """With new hosts every day, the table has those of a day and of HOST_PATIENCE, and as many
        to be removed.
        """
        book = RobotsBook(RobotsRows(db), "webcrawl", patience=KEEP)
        an_hour, most = 40, 0
        for hour in range(24 * 30):
            for number in range(an_hour):
                book.record_answer(
                    f"http://h{hour * 7919 % 1000}-{hour}-{number}.test", 404, b"", hour * HOUR
                )
            most = max(most, count(db))

        kept = 2 * 24 * an_hour  # for a day, and a day longer
        assert most <= 2 * kept + SWEPT
        assert count(db) >= kept

    def test_what_is_out_of_date_goes_while_new_hosts_come(self, db):
        """Many expired rows are gone after half as many answers."""
        fill(db, 5000, until=0.0)
        book = RobotsBook(RobotsRows(db), "webcrawl")
        for number in range(5000):
            book.record_answer(f"http://new{number}.test", 404, b"", 10 * KEEP)

        assert db.query("SELECT count(*) FROM robots WHERE until = 0") == [(0,)]
        assert count(db) == 5000

    def test_what_may_be_requested_stays(self, db):
        """Valid rules, and failures that count, survive any number of sweeps."""
        book = RobotsBook(RobotsRows(db), "webcrawl", retry_wait=60)
        book.record_answer("http://a.test", 200, b"User-agent: *\nDisallow: /", 0.0)
        book.record_answer("http://z.test", 500, b"", 0.0)
        for number in range(4 * SWEPT):
            book.record_answer(f"http://b{number}.test", 404, b"", KEEP - 1)

        other = RobotsBook(RobotsRows(db), "webcrawl", retry_wait=60)
        assert other.verdict("http://a.test/", KEEP - 1) is RobotsDecision.FORBIDDEN
        other.record_answer("http://z.test", 500, b"", KEEP - 1)
        assert other.next_try("http://z.test/") == KEEP - 1 + 120

    def test_short_runs_go_on_where_the_last_one_ended(self, tmp_path):
        """Sweeps get round the table even if the crawl is stopped every few hundred hosts."""
        with closing(CrawlDB(tmp_path)) as db:
            fill(db, 3 * SWEPT, until=10 * KEEP)  # these stay, and are the first by name
            table = RobotsRows(db)
            for number in range(2 * SWEPT):
                table.set_robots(f"http://p{number}.test", 0.0, b"")
            db.checkpoint()
        for run in range(5):
            with closing(CrawlDB(tmp_path)) as db:
                table = RobotsRows(db)
                for number in range(SWEPT // 2):
                    table.set_robots(f"http://a{run}-{number}.test", 10 * KEEP, b"")
                table.sweep(1.0)
                db.checkpoint()
                left = db.query("SELECT count(*) FROM robots WHERE until = 0")[0][0]

        assert left <= SWEPT

    def test_a_crash_takes_the_removal_back(self, tmp_path):
        """Rows removed since the last checkpoint are back after a crash."""
        with closing(CrawlDB(tmp_path)) as db:
            fill(db, SWEPT, until=0.0)
            table = RobotsRows(db)
            for number in range(SWEPT // 2):
                table.set_robots(f"http://x{number}.test", 0.0, b"")
            table.sweep(1.0)
            assert count(db) == SWEPT // 2
        with closing(sqlite3.connect(tmp_path / "crawl.db")) as reader:
            assert reader.execute("SELECT count(*) FROM robots").fetchone() == (SWEPT,)


def test_the_latest_time_counts(tmp_path):
    """After a kill the times of all notes are there, whatever the order in which they were written."""
    with closing(CrawlDB(tmp_path)) as db:
        told = RetryAfterJournal(db)
        for host, until in (("a", 50.0), ("a", 90.5), ("a", 70.0), ("b", 1e9)):
            told.note(host, until)
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"a": 90.5, "b": 1e9}


def test_a_checkpoint_makes_notes_needless(tmp_path):
    """Their file is removed after the checkpoint, which has them elsewhere; later ones are in
    another file.
    """
    with closing(CrawlDB(tmp_path)) as db:
        told = RetryAfterJournal(db)
        told.note("a", 1.0)
        db.checkpoint()
        assert not list(tmp_path.glob("told.*"))
        told.note("b", 2.0)
        db.checkpoint()
        told.note("c", 3.0)
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"c": 3.0}


def test_a_checkpoint_that_fails_keeps_them(tmp_path):
    """Files go after the COMMIT, not before; those of a former run too."""
    with closing(CrawlDB(tmp_path)) as db:
        RetryAfterJournal(db).note("a", 1.0)
    with closing(CrawlDB(tmp_path)) as db:
        told = RetryAfterJournal(db)
        told.note("b", 2.0)
        told.save()
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"a": 1.0, "b": 2.0}
        db.checkpoint()
    assert not list(tmp_path.glob("told.*"))


def test_a_line_that_was_truncated_does_not_count(tmp_path):
    """Only whole lines count, and nothing else does any harm."""
    (tmp_path / "told.1").write_bytes(b"5.0 a\nnonsense\n\xff\xfe x\n7.0 b\n9.0 cut")
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"a": 5.0, "b": 7.0}
