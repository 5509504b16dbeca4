"""Lines are sorted into a new file whatever their number, and an attempt that fails leaves the old
one.
"""

import contextlib
from pathlib import Path
from random import Random

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store import lines as module
from webcrawl.store.disk import Disk
from webcrawl.store.lines import BlockReader, BlockWriter, sort_lines

RUN = 10_000  # bytes
LINES = 500  # five runs of them


@pytest.fixture(name="lines")
def _lines():
    chance = Random(1)
    return [
        chance.randbytes(chance.randrange(200)).replace(b"\n", b"x") + b"\n" for _ in range(LINES)
    ]


@pytest.fixture(name="source")
def _source(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(module, "RUN", RUN)
    monkeypatch.setattr(module, "BLOCK_PIECE", 300)
    (tmp_path / "a.open").write_bytes(b"".join(lines))
    return tmp_path / "a.open"


def test_all_lines_in_the_order_of_their_bytes(tmp_path, source, lines):
    """Nothing is lost where runs and pieces of a file meet; only the old file is left beside the
    new one.
    """
    sort_lines(Disk(), source, tmp_path / "a")

    assert (tmp_path / "a").read_bytes() == b"".join(sorted(lines))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.open"]


def test_a_file_without_lines(tmp_path):
    """It stays empty."""
    (tmp_path / "a.open").write_bytes(b"")
    sort_lines(Disk(), tmp_path / "a.open", tmp_path / "a")

    assert (tmp_path / "a").read_bytes() == b""


def test_whatever_fails_the_new_file_is_whole_or_absent(tmp_path, source, lines):
    """After any failed operation the next attempt succeeds, over what the first one left."""
    assert source.stat().st_size > 4 * RUN
    disk = BreakingDisk()
    sort_lines(disk, source, tmp_path / "a")
    assert disk.operations > 50
    for fail_at in range(1, disk.operations + 1):
        (tmp_path / "a").unlink()
        with contextlib.suppress(OSError):
            sort_lines(BreakingDisk(fail_at, for_good=True), source, tmp_path / "a")
        assert not (tmp_path / "a").exists() or (tmp_path / "a").read_bytes() == b"".join(
            sorted(lines)
        )
        sort_lines(Disk(), source, tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == b"".join(sorted(lines))


NUMBERED = [b"%08d\n" % number for number in range(300)]


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    """A reader gives the lines that were written."""
    with BlockWriter(Disk(), tmp_path / "lines") as writer:
        writer.write(NUMBERED)
    with BlockReader(tmp_path / "lines") as reader:
        assert [line for lines in reader for line in lines] == NUMBERED


@pytest.mark.parametrize("fail_at", range(3, 7))
def test_a_file_that_cannot_be_ended_is_removed(tmp_path: Path, fail_at: int) -> None:
    """An error of the disk at any of its last operations leaves no half a file behind."""
    disk = BreakingDisk(fail_at)
    with pytest.raises(OSError, match="injected"), BlockWriter(disk, tmp_path / "lines") as writer:
        writer.write(NUMBERED)
    assert disk.broken
    assert not (tmp_path / "lines").exists()
