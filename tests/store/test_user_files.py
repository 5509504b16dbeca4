"""Feeds as files: what a crashed crawl has written after its last checkpoint, and what is not the
crawl's to truncate.
"""

import errno
import logging
from pathlib import Path

import pytest

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.user_files import UserFiles


class Run:
    """A run of a crawl, which ends without another checkpoint."""

    def __init__(self, folder, disk=None):
        self.db = CrawlDB(folder / "job/state", disk)
        self.files = UserFiles(self.db)
        self.files.recover()

    def append(self, path, data, *, overwrite=False):
        file = self.files.open(path, overwrite=overwrite)
        file.write(data)
        file.keep(data)
        file.flush()
        return file

    def checkpoint(self):
        for _ in self.files.prepare():
            pass
        self.db.checkpoint()

    def crash(self):
        self.db.close()


@pytest.fixture(name="feed")
def _feed(tmp_path):
    return tmp_path / "items.jl"


def crashed(folder, feed, *, noted=b"a\n", lost=b"b\n"):
    """A crawl that crashed after a checkpoint."""
    run = Run(folder)
    file = run.append(feed, noted)
    run.checkpoint()
    file.write(lost)
    file.flush()
    run.crash()


def test_a_crash_truncates_to_the_checkpoint(tmp_path, feed):
    """What was written after the last checkpoint is written again: the next run removes it, and
    goes on.
    """
    crashed(tmp_path, feed)
    assert feed.read_bytes() == b"a\nb\n"

    run = Run(tmp_path)

    assert feed.read_bytes() == b"a\n"
    assert run.append(feed, b"b\n").is_continued
    assert feed.read_bytes() == b"a\nb\n"
    run.crash()


def test_before_the_first_checkpoint(tmp_path, feed):
    """A crawl that crashes before any checkpoint leaves a feed as it was before the crawl, however
    often it does.
    """
    feed.write_bytes(b"theirs\n")

    for _ in "123":
        run = Run(tmp_path)
        assert feed.read_bytes() == b"theirs\n"
        assert not run.append(feed, b"a\n").is_continued
        run.crash()
    Run(tmp_path).crash()

    assert feed.read_bytes() == b"theirs\n"


@pytest.mark.parametrize("again", [1, 3])
def test_a_second_crash(tmp_path, feed, again):
    """A run that crashes before its first checkpoint leaves to the next one what it had found."""
    crashed(tmp_path, feed)

    for _ in range(again):
        run = Run(tmp_path)
        run.append(feed, b"b\nc\n")
        run.crash()
    Run(tmp_path).crash()

    assert feed.read_bytes() == b"a\n"


def test_what_another_program_has_appended(tmp_path, feed, caplog):
    """A file that is longer than the crawl meant to make it is not truncated: a line says what that
    means.
    """
    crashed(tmp_path, feed)
    with feed.open("ab") as file:
        file.write(b"theirs\n")

    run = Run(tmp_path)
    run.append(feed, b"b\n")
    run.crash()

    assert feed.read_bytes() == b"a\nb\ntheirs\nb\n"
    assert "items.jl was changed after the crawl wrote to it" in caplog.text


def test_another_crawl_between_two_runs(tmp_path, feed):
    """Of a file that was truncated, and to which another program appended then, nothing more is
    truncated.
    """
    crashed(tmp_path, feed, lost=b"12345678901234567890\n")
    run = Run(tmp_path)
    run.checkpoint()
    run.crash()
    with feed.open("ab") as file:
        file.write(b"theirs\n")

    run = Run(tmp_path)
    run.append(feed, b"b\n", overwrite=False)
    run.crash()

    assert feed.read_bytes() == b"a\ntheirs\nb\n"


def test_two_programs_at_once(tmp_path, feed, caplog):
    """A file to which another program writes at the same time is appended to, with a line, and
    never truncated.
    """
    run = Run(tmp_path)
    file = run.append(feed, b"a\n")
    with feed.open("ab") as other:
        other.write(b"theirs\n")
    for data in (b"b\n", b"c\n"):
        file.write(data)
        file.flush()
    run.checkpoint()
    file.write(b"d\n")
    file.flush()
    run.crash()
    run = Run(tmp_path)
    run.append(feed, b"e\n")
    run.files.end()
    run.crash()
    run = Run(tmp_path)
    run.append(feed, b"f\n")
    run.crash()

    assert feed.read_bytes() == b"a\ntheirs\nb\nc\nd\nf\n"
    assert caplog.text.count("another program is writing to this file too") == 1


@pytest.mark.parametrize("change", ["removed", "shorter", "other"])
def test_a_file_that_the_user_has_changed(tmp_path, feed, change):
    """A feed that was removed, shortened or replaced is the user's: the crawl goes on, and appends."""
    crashed(tmp_path, feed)
    feed.unlink()
    left = {"removed": None, "shorter": b"", "other": b"x\ny\n"}[change]
    if left is not None:
        feed.write_bytes(left)

    run = Run(tmp_path)
    run.append(feed, b"b\n")
    run.crash()

    assert feed.read_bytes() == (left or b"") + b"b\n"


def test_moved_while_the_crawl_runs(tmp_path, feed, caplog):
    """A feed that is moved away stays as it is, and what comes then goes to a new file."""
    run = Run(tmp_path)
    file = run.append(feed, b"a\n")
    feed.rename(tmp_path / "old.jl")
    file.write(b"b\n")
    file.flush()
    run.checkpoint()
    run.crash()

    assert (tmp_path / "old.jl").read_bytes() == b"a\n"
    assert feed.read_bytes() == b"b\n"
    assert "was moved or removed: what follows is written to a new file" in caplog.text


class Full(Disk):
    """Takes only the first bytes of what is written to a feed, and cannot remove them again at
    once.
    """

    writes, truncations = 2, 1  # that fail

    def write(self, fd, data):
        if self.writes and Path(f"/proc/self/fd/{fd}").readlink().suffix == ".jl":
            self.writes -= 1
            super().write(fd, data[:3])
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(fd, data)

    def truncate(self, fd, length):
        if self.truncations:
            self.truncations -= 1
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(fd, length)


def test_a_full_disk(tmp_path, feed):
    """What a failed write has left is truncated before the next one, and is nobody else's."""
    run = Run(tmp_path, disk=Full())
    file = run.files.open(feed, overwrite=False)
    file.write(b"abcdef\n")
    for _ in "12":
        with pytest.raises(StoreError, match="No space left"):
            file.flush()
    file.flush()
    assert feed.read_bytes() == b"abcdef\n"
    assert not file.is_shared
    run.crash()
    Run(tmp_path).crash()

    assert feed.read_bytes() == b""


def test_overwriting(tmp_path, feed):
    """A file of another crawl is emptied if that is wanted; this crawl's own is continued by each
    run.
    """
    feed.write_bytes(b"theirs\n")
    run = Run(tmp_path)
    run.append(feed, b"a\n", overwrite=True)
    run.checkpoint()
    run.crash()
    assert feed.read_bytes() == b"a\n"

    run = Run(tmp_path)
    assert run.files.knows(feed)
    run.append(feed, b"b\n", overwrite=True)
    run.crash()

    assert feed.read_bytes() == b"a\nb\n"


def test_what_ends_a_file(tmp_path, feed):
    """What ends a file, after the last checkpoint, stays until a run appends, which removes it
    first.
    """
    run = Run(tmp_path)
    file = run.append(feed, b"[1")
    run.checkpoint()
    run.files.end()
    run.crash()
    file.freeze()
    file.write(b"]")
    file.close()

    run = Run(tmp_path)
    assert feed.read_bytes() == b"[1]"
    run.append(feed, b",2")
    run.crash()

    assert feed.read_bytes() == b"[1,2"


def test_what_ends_a_file_under_way(tmp_path, feed):
    """The same holds for a batch that was complete before a checkpoint, runs later, and for what
    was truncated.
    """
    run = Run(tmp_path)
    file = run.append(feed, b"[1")
    file.freeze()
    file.write(b"]")
    file.close()
    run.checkpoint()
    run.crash()
    for _ in "12":
        run = Run(tmp_path)
        run.checkpoint()
        run.crash()
    assert feed.read_bytes() == b"[1]"

    run = Run(tmp_path)
    file = run.append(feed, b",2")
    run.crash()

    assert file.is_continued
    assert feed.read_bytes() == b"[1,2"


def test_a_batch_that_no_checkpoint_has(tmp_path, feed):
    """A file that was begun and closed since the last checkpoint is emptied after a crash or a
    failure.
    """
    for is_over in (False, True):  # a crawl whose last checkpoint fails closes its feeds, too
        run = Run(tmp_path)
        file = run.append(feed, b"a\n")
        if is_over:
            run.files.end()
        file.close()
        run.crash()
        Run(tmp_path).crash()

        assert feed.read_bytes() == b""


def test_one_path_twice(tmp_path, feed):
    """Two feeds of one path are one file, which is closed with the second."""
    run = Run(tmp_path)
    one, other = run.append(feed, b"a\n"), run.append(feed, b"b\n")
    one.close()
    other.write(b"c\n")
    other.close()
    run.checkpoint()
    run.crash()

    assert one is other
    assert feed.read_bytes() == b"a\nb\nc\n"


def test_a_crawl_without_feeds_leaves_the_journal(tmp_path, feed):
    """A run that writes no feed leaves to the next one what it needs to truncate a file."""
    crashed(tmp_path, feed)
    db = CrawlDB(tmp_path / "job/state")
    UserFiles(db)
    db.checkpoint()
    db.close()

    Run(tmp_path).crash()

    assert feed.read_bytes() == b"a\n"


def test_a_torn_line_of_the_journal(tmp_path, feed, caplog):
    """A line of the journal that a loss of power has truncated says nothing."""
    caplog.set_level(logging.WARNING)
    crashed(tmp_path, feed)
    (journal,) = (tmp_path / "job/state").glob("feeds.*")
    with journal.open("ab") as file:
        file.write(b'["meant", 99')

    Run(tmp_path).crash()

    assert feed.read_bytes() == b"a\n"
    assert not caplog.text
