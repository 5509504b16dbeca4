"""The store's file system, and the failing ones that tests replace it with."""

import contextlib
import errno
import os
import socket
from threading import Thread

import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from webcrawl.crawl.bound import BoundLook, Cause, judge
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk, appending, own_folder, regular, replacing, rewrite
from webcrawl.store.outputs import BUFFER_BYTES, Outputs


@pytest.fixture(name="disk", params=[Disk, BreakingDisk, ForgetfulDisk])
def _disk(request):
    return request.param()


class TestContract:
    def test_a_created_file_is_new(self, disk, tmp_path):
        """Create makes a new, empty file; one that is there already is left alone."""
        os.close(disk.create(tmp_path / "a"))
        assert (tmp_path / "a").read_bytes() == b""

        (tmp_path / "b").write_bytes(b"old")
        with pytest.raises(FileExistsError):
            disk.create(tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == b"old"

    def test_appending_goes_on_at_the_end(self, disk, tmp_path):
        """Append keeps an existing file's content, or creates the file."""
        for data in (b"one", b"two"):
            fd = disk.append(tmp_path / "a")
            disk.write(fd, data)
            disk.sync(fd)
            os.close(fd)

        assert (tmp_path / "a").read_bytes() == b"onetwo"

    def test_appending_goes_on_at_the_end_of_a_truncated_file(self, disk, tmp_path):
        """After truncate, the next write goes to the new end."""
        fd = disk.append(tmp_path / "a")
        disk.write(fd, b"onetwo")
        disk.truncate(fd, 3)
        disk.write(fd, b"3")
        os.close(fd)

        assert (tmp_path / "a").read_bytes() == b"one3"

    def test_a_rename_replaces(self, disk, tmp_path):
        """After rename the content is under the new name, and the old name is gone."""
        (tmp_path / "a").write_bytes(b"new")
        (tmp_path / "b").write_bytes(b"old")
        disk.rename(tmp_path / "a", tmp_path / "b")

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"b": b"new"}

    def test_what_is_not_there_may_be_removed(self, disk, tmp_path):
        """Unlinking a missing file is not an error."""
        (tmp_path / "a").write_bytes(b"")
        disk.unlink(tmp_path / "a")
        disk.unlink(tmp_path / "a")

        assert list(tmp_path.iterdir()) == []


class TestDisk:
    def test_a_write_that_ends_early_is_taken_up_again(self, tmp_path, monkeypatch):
        """If the kernel accepts only a part of a buffer, the rest is written too."""
        original = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: original(fd, data[:3]))
        fd = Disk().create(tmp_path / "a")
        for data in (b"0123456789", bytearray(b"abcd"), memoryview(b"xyz")):
            Disk().write(fd, data)
        os.close(fd)

        assert (tmp_path / "a").read_bytes() == b"0123456789abcdxyz"


class TestBreakingDisk:
    def test_only_the_chosen_operation_fails(self, tmp_path):
        """Only the n-th operation raises."""
        disk = BreakingDisk(2, errno.EIO)
        fd = disk.create(tmp_path / "a")
        with pytest.raises(OSError, match="injected at operation 2: write"):
            disk.write(fd, b"0123")
        disk.write(fd, b"4567")
        os.close(fd)

        assert (tmp_path / "a").read_bytes() == b"014567"
        assert disk.broken == ["write"]

    def test_a_disk_may_break_for_good(self, tmp_path):
        """With for_good, all operations from the n-th on raise."""
        disk = BreakingDisk(1, for_good=True)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                disk.create(tmp_path / "a")


class TestForgetfulDisk:
    def test_what_was_not_synced_is_lost(self, tmp_path):
        """A power cut truncates files to what was synced."""
        disk = ForgetfulDisk()
        fd = disk.create(tmp_path / "a")
        disk.sync_folder(tmp_path)
        disk.write(fd, b"kept")
        disk.sync(fd)
        disk.write(fd, b"lost")
        os.close(fd)
        disk.crash()

        assert (tmp_path / "a").read_bytes() == b"kept"

    def test_a_name_that_was_not_synced_is_lost(self, tmp_path):
        """A power cut loses new files whose folder was not synced."""
        disk = ForgetfulDisk()
        fd = disk.create(tmp_path / "a")
        disk.write(fd, b"kept")
        disk.sync(fd)
        os.close(fd)
        disk.crash()

        assert list(tmp_path.iterdir()) == []

    def test_a_rename_or_removal_that_was_not_synced_never_happened(self, tmp_path):
        """A power cut undoes renames and removals."""
        (tmp_path / "old").write_bytes(b"moved")
        (tmp_path / "kept").write_bytes(b"removed")
        disk = ForgetfulDisk()
        disk.sync_folder = lambda folder: None
        disk.rename(tmp_path / "old", tmp_path / "new")
        disk.unlink(tmp_path / "kept")
        disk.crash()

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
            "old": b"moved",
            "kept": b"removed",
        }

    def test_a_synced_rename_or_removal_stays(self, tmp_path):
        """Once the folder is synced, a power cut changes no names."""
        (tmp_path / "old").write_bytes(b"moved")
        (tmp_path / "kept").write_bytes(b"removed")
        disk = ForgetfulDisk()
        disk.unlink(tmp_path / "kept")
        disk.rename(tmp_path / "old", tmp_path / "new")
        disk.crash()

        assert {path.name for path in tmp_path.iterdir()} == {"new"}


# -- Files are opened without waiting for anybody.


def bound(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("opens", [regular, appending])
@pytest.mark.parametrize("put", [os.mkfifo, bound])
def test_what_has_another_end(tmp_path, opens, put):
    """A pipe or a socket is refused at once, by its path."""
    put(tmp_path / "x")

    with pytest.raises(OSError, match=r"it is not a regular file: '.*/x'"):
        opens(tmp_path / "x")


def test_a_pipe_that_somebody_reads(tmp_path):
    """Who reads it may stop reading: it is refused, too."""
    os.mkfifo(tmp_path / "x")
    reader = os.open(tmp_path / "x", os.O_RDONLY | os.O_NONBLOCK)

    with pytest.raises(OSError, match="it is not a regular file"):
        appending(tmp_path / "x")
    os.close(reader)


def test_a_file(tmp_path):
    """It is made, appended to, and read."""
    for line in (b"one\n", b"two\n"):
        with appending(tmp_path / "x") as file:
            file.write(line)

    with regular(tmp_path / "x") as file:
        assert (file.read(), os.get_blocking(file.fileno())) == (b"one\ntwo\n", True)


def test_a_folder(tmp_path):
    """It is called what it is."""
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        regular(tmp_path)


def test_a_folder_of_ours(tmp_path):
    """It is for its owner alone, and may have been left by an earlier run."""
    own_folder(tmp_path / "x.part")
    own_folder(tmp_path / "x.part")

    assert (tmp_path / "x.part").stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_elses(tmp_path, monkeypatch):
    """What another user of the machine has put in its place, a folder or a link to one of ours, is
    not used.
    """
    (tmp_path / "ours").mkdir()
    (tmp_path / "link.part").symlink_to(tmp_path / "ours")
    with pytest.raises(PermissionError, match="not a folder of this user"):
        own_folder(tmp_path / "link.part")

    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="not a folder of this user"):
        own_folder(tmp_path / "ours")


# -- A file is replaced as a whole, whatever fails, and whoever has put something beside it.


def replace(disk, path, data):
    with replacing(disk, path) as fd:
        disk.write(fd, data)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(name="file")
def _file(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    return tmp_path / "a"


class TestForGood:
    def test_a_power_cut_afterwards(self, file):
        """What has been replaced stays so."""
        disk = ForgetfulDisk()
        replace(disk, file, b"new")
        disk.crash()

        assert contents(file.parent) == {"a": b"new"}

    def test_whatever_fails(self, file):
        """The file is the old or the new one, and nothing is left beside it."""
        disk = BreakingDisk()
        replace(disk, file, b"new")
        for fail_at in range(1, disk.operations + 1):
            file.write_bytes(b"old")
            with pytest.raises(OSError, match="injected"):
                replace(BreakingDisk(fail_at), file, b"new")
            assert contents(file.parent) in ({"a": b"old"}, {"a": b"new"})

    def test_who_writes_changes_its_mind(self, file):
        """An error of whoever writes leaves the old file, and nothing beside it."""
        with contextlib.suppress(ValueError), replacing(Disk(), file) as fd:
            Disk().write(fd, b"half")
            raise ValueError

        assert contents(file.parent) == {"a": b"old"}


@pytest.mark.parametrize("write", [lambda path, data: replace(Disk(), path, data), rewrite])
class TestBoth:
    def test_what_a_killed_process_has_left(self, file, write):
        """Half a new file does not matter to the next attempt."""
        file.with_name("a.new").write_bytes(b"the half of it")
        write(file, b"new")

        assert contents(file.parent) == {"a": b"new"}

    def test_a_link_in_the_place_of_the_new_file(self, file, write):
        """It is removed and not followed."""
        file.with_name("precious").write_bytes(b"mine")
        file.with_name("a.new").symlink_to("precious")
        write(file, b"new")

        assert contents(file.parent) == {"a": b"new", "precious": b"mine"}


# -- How long the event loop has waited for files.


class SlowDisk(Disk):
    """Every write takes half a second of its own clock."""

    def __init__(self):
        self.now = 0.0

    def clock(self):
        return self.now

    def write(self, fd, data):
        self.now += 0.5
        super().write(fd, data)


@pytest.fixture(name="slow")
def _slow():
    return SlowDisk()


def test_a_slow_disk(tmp_path, slow):
    """Writing an output, and a checkpoint that writes, count once each; the crawl is then bound by
    the disk.
    """
    db = CrawlDB(tmp_path / "state", slow)
    outputs = Outputs(db, tmp_path)
    output = outputs.open("one.log")
    before, begun = slow.waited, slow.now
    output.write(b"x" * (BUFFER_BYTES + 1))
    assert slow.waited - before == 0.5

    output.write(b"y")
    db.checkpoint()
    assert slow.waited - before == slow.now - begun >= 1.0
    look = BoundLook(seconds=1.5, queued=9, waiting=9, ran=0.2, stalled=slow.waited - before)
    assert judge(look) is Cause.DISK
    outputs.close()
    db.close()


def test_an_error(slow):
    """A write that fails has taken its time too."""

    def fails():
        with slow.waiting():
            slow.now += 2.0
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fails()
    assert slow.waited == 2.0


def test_other_threads(slow):
    """What other threads write holds the event loop up for no time."""

    def write():
        with slow.waiting():
            slow.now += 2.0

    thread = Thread(target=write)
    thread.start()
    thread.join()
    assert slow.waited == 0.0
