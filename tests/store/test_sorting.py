"""Lines are sorted into a new file whatever their number, and an attempt that fails leaves the old one."""

import contextlib
from random import Random

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store import line_blocks
from webcrawl.store.disk import Disk
from webcrawl.store.line_blocks import sort_lines

RUN = 10_000  # bytes
LINES = 500  # five runs of them


@pytest.fixture(name="lines")
def _lines():
    chance = Random(1)
    return [chance.randbytes(chance.randrange(200)).replace(b"\n", b"x") + b"\n" for _ in range(LINES)]


@pytest.fixture(name="source")
def _source(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(line_blocks, "RUN", RUN)
    monkeypatch.setattr(line_blocks, "PIECE", 300)
    (tmp_path / "a.open").write_bytes(b"".join(lines))
    return tmp_path / "a.open"


def test_all_lines_in_the_order_of_their_bytes(tmp_path, source, lines):
    """Nothing is lost where runs and pieces of a file meet; only the old file is left beside the new one."""
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
        assert not (tmp_path / "a").exists() or (tmp_path / "a").read_bytes() == b"".join(sorted(lines))
        sort_lines(Disk(), source, tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == b"".join(sorted(lines))
