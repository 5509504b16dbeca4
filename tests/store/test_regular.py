"""Files are opened without waiting for anybody."""

import os
import socket

import pytest

from webcrawl.store.disk import appending, own_folder, regular


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
    """What another user of the machine has put in its place, a folder or a link to one of ours, is not used."""
    (tmp_path / "ours").mkdir()
    (tmp_path / "link.part").symlink_to(tmp_path / "ours")
    with pytest.raises(PermissionError, match="not ours"):
        own_folder(tmp_path / "link.part")

    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="not ours"):
        own_folder(tmp_path / "ours")
