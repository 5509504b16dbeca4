"""Pages that a checkpoint left out: what they had done is not done again."""

from contextlib import closing

from webcrawl.crawl.inline import Halfway
from webcrawl.store.crawldb import CrawlDB

PAGE, OTHER = "http://a.test/", "http://b.test/"


def test_a_download_is_kept_once(tmp_path):
    """What a page downloaded before the checkpoint is not new when the page is fetched again, in
    every later run.
    """
    with closing(CrawlDB(tmp_path)) as db:
        halfway = Halfway(db)
        assert halfway.is_new(PAGE, b"1")
        assert halfway.is_new(PAGE, b"1")  # the page has asked for it twice
        db.checkpoint()
        assert halfway.is_new(PAGE, b"2")  # unknown to the next run
    with closing(CrawlDB(tmp_path)) as db:
        halfway = Halfway(db)
        assert (halfway.comes_again(PAGE), halfway.comes_again(OTHER)) == (True, False)
        assert [halfway.is_new(PAGE, key) for key in (b"1", b"2")] == [False, True]
        db.checkpoint()
    with closing(CrawlDB(tmp_path)) as db:
        halfway = Halfway(db)
        assert [halfway.is_new(PAGE, key) for key in (b"1", b"2", b"3")] == [False, False, True]
        assert halfway.is_new(OTHER, b"1")


def test_a_finished_page_is_forgotten(tmp_path):
    """Of a page that is booked nothing is kept, and without such pages nothing is written."""
    with closing(CrawlDB(tmp_path)) as db:
        halfway = Halfway(db)
        db.checkpoint()
        assert db.query("SELECT count(*) FROM meta") == [(0,)]
        halfway.leave_out([PAGE, OTHER])
        halfway.finished(OTHER)
        db.checkpoint()
    with closing(CrawlDB(tmp_path)) as db:
        halfway = Halfway(db)
        assert halfway.comes_again(PAGE)
        assert not halfway.comes_again(OTHER)
        halfway.finished(PAGE)
        assert not halfway
        db.checkpoint()
    with closing(CrawlDB(tmp_path)) as db:
        assert not Halfway(db)
