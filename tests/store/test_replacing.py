"""A file is replaced as a whole, whatever fails, and whoever has put something beside it."""

import contextlib

import pytest

from tests.support.faults import BreakingDisk, ForgetfulDisk
from webcrawl.store.disk import Disk, replacing, rewrite


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
