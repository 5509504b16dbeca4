"""A checkpoint is none when the files it is written to are no longer where the next run looks for
them.
"""

import os
import shutil
import threading
from contextlib import closing

import pytest

from tests.support.outputs import Crawl
from tests.support.saving import settled
from webcrawl.store.errors import StoreError, TakenAway


@pytest.fixture(name="job")
def _job(tmp_path):
    return tmp_path / "job"


@pytest.fixture(name="crawl")
def _crawl(job):
    """A crawl with a checkpoint, a line that is noted, and one that is not."""
    with closing(Crawl(job)) as crawl:
        log = crawl.outputs.open("logs/crawl.log")
        log.write(b"noted\n")
        crawl.db.set("x", b"noted")
        crawl.checkpoint()
        settled(crawl.db)  # SQLite makes a log anew for the connection that copies it back
        log.write(b"not noted\n")
        crawl.db.set("x", b"not noted")
        yield crawl


def replace(path):
    """A file with the same bytes."""
    data = path.read_bytes()
    path.unlink()
    path.with_name("between").touch()  # takes the inode, which the next file would get
    path.write_bytes(data)


@pytest.mark.parametrize(
    "name", ["state/crawl.db", "state/crawl.db-wal", "state/crawl.db-shm", "logs/crawl.log"]
)
@pytest.mark.parametrize(
    ("change", "word"), [(lambda path: path.unlink(), "moved or removed"), (replace, "replaced")]
)
def test_a_file_that_is_taken_away(job, crawl, name, change, word):
    """A file that is gone, or another one, fails the checkpoint with its path; nothing more can be
    done after that.
    """
    change(job / name)

    with pytest.raises(TakenAway) as caught:
        crawl.checkpoint()
    assert str(caught.value) == f"{job / name}: {word} while the crawl ran"
    with pytest.raises(StoreError, match="cannot be used after an earlier error"):
        crawl.db.set("x", b"later")


def test_the_outermost_is_named(job, crawl):
    """Of a folder that is gone with all that is in it, the folder is named."""
    shutil.rmtree(job)

    with pytest.raises(TakenAway, match=f"{job}: moved or removed"):
        crawl.db.checkpoint()


def test_a_moved_crawl_is_as_of_its_last_checkpoint(tmp_path, job, crawl):
    """What was moved is whole, and goes on from there."""
    job.rename(tmp_path / "moved")
    with pytest.raises(TakenAway):
        crawl.db.checkpoint()
    crawl.close()

    assert not job.exists()
    with closing(Crawl(tmp_path / "moved")) as again:
        assert again.db.get("x") == b"noted"
    assert (tmp_path / "moved/logs/crawl.log").read_bytes() == b"noted\n"


def test_what_is_put_in_its_place_is_left_alone(tmp_path, job, crawl):
    """A copy at the path of a crawl that was moved is not changed by a byte."""
    job.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", job)
    before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    with pytest.raises(TakenAway, match=f"{job}: replaced"):
        crawl.db.checkpoint()
    crawl.close()

    assert {path: path.read_bytes() for path in job.rglob("*") if path.is_file()} == before


def test_a_copy_back_does_not_reach_what_is_put_in_its_place(tmp_path, job, crawl):
    """The log of a crawl that was moved is copied into the crawl's own database, not into a copy at
    its old path.
    """
    go_on = threading.Event()
    crawl.db.worker.submit(go_on.wait)
    crawl.db.checkpoint()  # the thread is to copy the log back
    job.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", job)
    before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    go_on.set()
    crawl.close()

    assert {path: path.read_bytes() for path in job.rglob("*") if path.is_file()} == before


def test_a_moved_folder_is_not_made_again(tmp_path, job, crawl):
    """No output is begun in a new folder at the old path."""
    job.rename(tmp_path / "moved")

    with pytest.raises(TakenAway):
        crawl.outputs.open("warc/a.warc.gz.open")
    assert not job.exists()


def test_what_was_closed_may_go(job, crawl):
    """A closed output, and a file that the next checkpoint removes anyway, may be gone."""
    other = crawl.outputs.open("warc/a.warc.gz.open")
    other.write(b"data")
    other.finish()
    doomed = job / "state/old"
    doomed.touch()
    crawl.db.presence.add(doomed)
    crawl.checkpoint()
    crawl.db.discard(doomed)
    doomed.unlink()
    crawl.checkpoint()

    assert crawl.db.get("x") == b"not noted"


@pytest.mark.parametrize("name", ["logs/crawl.log", "state/crawl.db", "seen"])
def test_a_file_that_is_truncated(job, crawl, name):
    """A file that has lost its end fails the checkpoint, though what is appended to it seems to be
    kept.
    """
    path = job / name
    if name == "seen":
        path.write_bytes(b"eight by")
        crawl.db.presence.add(path, 8)
    os.truncate(path, 3)

    with pytest.raises(TakenAway, match=f"{path}: truncated while the crawl ran"):
        crawl.checkpoint()


def test_what_is_longer_is_left(job, crawl):
    """What others append to an output is truncated by the next start."""
    with (job / "logs/crawl.log").open("ab") as file:
        file.write(b"somebody's")
    crawl.checkpoint()

    assert crawl.db.get("x") == b"not noted"


def test_a_closed_file_is_missed_once(job, crawl, caplog):
    """An output that no pipeline of this run writes is warned of, once, if it is gone: a later run
    may need it.
    """
    other = crawl.outputs.open("logs/links.log")
    other.write(b"data")
    other.close()
    for _ in range(2):
        crawl.checkpoint()
    (job / "logs/links.log").unlink()
    for _ in range(3):
        crawl.checkpoint()

    assert caplog.messages == [
        f"{job}/logs/links.log: moved or removed, but the crawl cannot be resumed without it: put it back"
    ]


def test_what_closing_removes(crawl):
    """What SQLite removes with its last connection was not taken away."""
    crawl.db.close()

    crawl.db.presence.check()
