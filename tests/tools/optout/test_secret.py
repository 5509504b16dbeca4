"""The key in JOBDIR."""

import os
import stat
from itertools import count

import pytest

from webcrawl.store.disk import Disk
from webcrawl.tools.optout.token import NAME, BadSecret, secret_of


def test_it_is_made_once(tmp_path):
    """The first run makes a key that nobody else may read, whatever the umask; later ones have the same."""
    before = os.umask(0)
    try:
        first = secret_of(tmp_path)
    finally:
        os.umask(before)

    assert secret_of(tmp_path) == first
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_two_at_once(tmp_path):
    """Of two that make one at the same time, both have the one that was first."""

    class Slow(Disk):
        def sync(self, fd):
            if not (tmp_path / NAME).exists():
                others.append(secret_of(tmp_path))

    others = []
    mine = secret_of(tmp_path, Slow())

    assert others == [mine]


@pytest.mark.parametrize("at", range(3))
def test_an_error_leaves_none(tmp_path, at):
    """Whatever cannot be written, no half key is left behind."""

    class Full(Disk):
        calls = count()

        def _fails(self):
            if next(self.calls) == at:
                raise OSError(28, "No space left on device")

        def create(self, path, mode=0o644):
            self._fails()
            return super().create(path, mode)

        def write(self, fd, data):
            self._fails()
            super().write(fd, data)

        def sync(self, fd):
            self._fails()

    with pytest.raises(OSError, match="No space"):
        secret_of(tmp_path, Full())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["readable", "short", "long", "folder", "link", "pipe"])
def test_what_cannot_be_one(tmp_path, kind):
    """A key that others may read, of another length, or that is no file is refused, and stays as it is."""
    path = tmp_path / NAME
    if kind == "folder":
        path.mkdir(0o700)
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.write_bytes(b"x" * {"short": 31, "long": 33}.get(kind, 32))
        path.chmod(0o640 if kind == "readable" else 0o600)

    with pytest.raises((BadSecret, OSError)) as refusal:
        secret_of(tmp_path)

    assert str(path) in str(refusal.value)
    assert not (tmp_path / "elsewhere").exists()
