"""Files of sorted lines in packed blocks."""

from pathlib import Path

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store.disk import Disk
from webcrawl.store.line_blocks import BlockReader, BlockWriter

LINES = [b"%08d\n" % number for number in range(300)]


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    """A reader gives the lines that were written."""
    with BlockWriter(Disk(), tmp_path / "lines") as writer:
        writer.write(LINES)
    with BlockReader(tmp_path / "lines") as reader:
        assert [line for lines in reader for line in lines] == LINES


@pytest.mark.parametrize("fail_at", range(3, 7))
def test_a_file_that_cannot_be_ended_is_removed(tmp_path: Path, fail_at: int) -> None:
    """An error of the disk at any of its last operations leaves no half a file behind."""
    disk = BreakingDisk(fail_at)
    with pytest.raises(OSError, match="injected"), BlockWriter(disk, tmp_path / "lines") as writer:
        writer.write(LINES)
    assert disk.broken
    assert not (tmp_path / "lines").exists()
