"""What hosts have asked for since the last checkpoint."""

from contextlib import closing

from webcrawl.frontier.host_rows import RetryAfterJournal
from webcrawl.store.crawldb import CrawlDB


def test_the_latest_time_counts(tmp_path):
    """After a kill the times of all notes are there, whatever the order in which they were written."""
    with closing(CrawlDB(tmp_path)) as db:
        told = RetryAfterJournal(db)
        for host, until in (("a", 50.0), ("a", 90.5), ("a", 70.0), ("b", 1e9)):
            told.note(host, until)
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"a": 90.5, "b": 1e9}


def test_a_checkpoint_makes_notes_needless(tmp_path):
    """Their file is removed after the checkpoint, which has them elsewhere; later ones are in another file."""
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


def test_a_line_that_was_cut_off_does_not_count(tmp_path):
    """Only whole lines count, and nothing else does any harm."""
    (tmp_path / "told.1").write_bytes(b"5.0 a\nnonsense\n\xff\xfe x\n7.0 b\n9.0 cut")
    with closing(CrawlDB(tmp_path)) as db:
        assert RetryAfterJournal(db).until == {"a": 5.0, "b": 7.0}
