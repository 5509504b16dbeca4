"""Files are opened without waiting for anybody."""

import os
import socket

import pytest

from webcrawl.store.regular import appending, regular


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
