"""The store's file system, and the failing ones that tests replace it with."""

import errno
import os

import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from webcrawl.store.disk import Disk


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

    def test_appending_goes_on_at_the_end_of_a_cut_file(self, disk, tmp_path):
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
    def test_a_write_cut_short_is_taken_up_again(self, tmp_path, monkeypatch):
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

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old": b"moved", "kept": b"removed"}

    def test_a_synced_rename_or_removal_stays(self, tmp_path):
        """Once the folder is synced, a power cut changes no names."""
        (tmp_path / "old").write_bytes(b"moved")
        (tmp_path / "kept").write_bytes(b"removed")
        disk = ForgetfulDisk()
        disk.unlink(tmp_path / "kept")
        disk.rename(tmp_path / "old", tmp_path / "new")
        disk.crash()

        assert {path.name for path in tmp_path.iterdir()} == {"new"}
