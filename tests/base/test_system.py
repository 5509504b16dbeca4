"""What differs between systems does the same for its callers on both.

Where macOS is meant, its way is tried here as far as Linux can go it.
"""

import socket
import sys
from pathlib import Path

import pytest

from webcrawl.base import system


@pytest.fixture(params=["linux", "darwin"], autouse=True)
def _platform(request, monkeypatch):
    monkeypatch.setattr(sys, "platform", request.param)


def test_a_socket_in_a_deep_folder(tmp_path):
    """It is bound and found by its folder, whose path is longer than a socket's address may be; the
    process stands where it stood before.
    """
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    before = Path.cwd()
    folder = system.open_folder(deep)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        with system.socket_address(folder, "control") as address:
            server.bind(address)
        server.listen()
        with system.socket_address(folder, "control") as address:
            client.connect(address)
    assert (deep / "control").is_socket()
    assert Path.cwd() == before


def test_space_for_a_file(tmp_path):
    """It has its whole size, and not as a hole: a full disk is noticed here."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        system.allocate(file.fileno(), 3_000_001)
    assert path.stat().st_size == 3_000_001
    assert path.stat().st_blocks * 512 >= 3_000_001


def test_a_secret_for_a_reader_of_files():
    """It is there inside of the block, for nobody else, and gone afterwards."""
    with system.secret_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert Path(path).stat().st_mode & 0o077 in (
            0,
            0o077,
        )  # a memory file has all bits, and no name
    with pytest.raises(OSError, match="No such file"):
        Path(path).read_bytes()


def test_numbers_of_this_process():
    """It has a core, a thread and memory."""
    assert system.usable_cores()
    assert system.thread_ids()
    assert system.resident_bytes() > 0
