"""Reads bodies in a process of its own, so that no body can harm the crawl.

`DocumentWorker` is the crawl's end. It blocks: call it from a thread. At the other end `serve` gets
bodies through a socket that is its standard input. The process limits itself, and is ended if a
body takes too much; the DocumentWorker then starts another one. It also ends if the crawl's end of
the socket is closed, at the latest after the seconds that a body may take.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from webcrawl.base.program import PYTHON, environment

logger = logging.getLogger(__name__)

T = TypeVar("T")
SIZE = struct.Struct("<Q")
READY = b"R"
SHARED = 10  # times the processor time that a worker may take: it may have to share its processor
TRIES = 30  # to start a process, with PAUSE seconds between them
PAUSE = 1.0
LARGEST = 1 << 26  # bytes of an answer


def command_of(job: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that starts a process for a job.

    `job` is `module:function`: the function makes the Job of these arguments.
    """
    return (*PYTHON, "-m", "webcrawl.content.worker", job, *arguments)


class WorkerDied(Exception):  # noqa: N818 - reads as what it is
    """The process has ended over a body, or its answer was unusable."""


class DocumentWorker:
    """Sends one body at a time to a process, which starts with the first body and after each death."""

    tries = TRIES

    def __init__(self, what: str, command: tuple[str, ...], seconds: float, **environ: str) -> None:
        """Name the bodies and the command of the process.

        `what` names the bodies in messages; `command` starts a process that takes at most `seconds`
        for a body; `environ` are further variables of its environment.
        """
        self._what = what
        self._command = command
        self._environ = environ
        self._wall = SHARED * seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: socket.socket | None = None
        self._closed = False

    def ask(self, body: bytes, read: Callable[[Any], T]) -> T:
        """Return what `read` makes of the worker's answer, which is a JSON value.

        Raise WorkerDied also if `read` raises ValueError. Raise OSError if no process can be
        started for a while: that is not caused by the body.
        """
        for last in (False, True):
            self._start()
            try:
                return read(self._ask(body))
            except (OSError, ValueError) as error:
                ended = self._end()
                # Another process has killed it, perhaps for want of memory. No body causes that:
                # the worker's own limits end it in other ways
                is_body_innocent = ended == -signal.SIGKILL and not self._closed
                if is_body_innocent and not last:
                    continue
                raise WorkerDied(self._what) from error
        raise AssertionError

    def kill(self) -> None:
        """End the process and its reading at once, from any thread; call `close` afterwards."""
        self._closed = True
        process = self._process
        if process is not None:
            with suppress(OSError):
                process.kill()

    def close(self) -> None:
        """End the process, and wait for its end. Do not call it while a body is read."""
        self.kill()
        self._end()

    def _ask(self, body: bytes) -> Any:
        wire = self._wire
        if wire is None:
            raise OSError("the worker process could not be started")
        wire.settimeout(self._wall)
        wire.sendall(SIZE.pack(len(body)) + body)
        (size,) = SIZE.unpack(self._exactly(wire, SIZE.size))
        if size > LARGEST:
            raise ValueError("the worker's answer is too large")
        return json.loads(self._exactly(wire, size))

    def _exactly(self, wire: socket.socket, size: int) -> bytes:
        pieces, end = bytearray(), time.monotonic() + self._wall
        while len(pieces) < size:
            wire.settimeout(max(end - time.monotonic(), 0.001))
            piece = wire.recv(min(size - len(pieces), 1 << 20))
            if not piece:
                raise ConnectionResetError("the worker has ended")
            pieces += piece
        return bytes(pieces)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        if self._closed:
            raise OSError("the worker was closed while it was starting")
        for attempt in range(1, self.tries + 1):
            try:
                self._open()
            except OSError as error:
                self._end()
                if attempt == self.tries or self._closed:
                    raise OSError(
                        f"no process could be started to read {self._what}: {error}"
                    ) from error
                if attempt == 1:
                    rest = (self.tries - 1) * PAUSE
                    logger.warning(
                        "No process could be started to read %s: %s; retrying for %d s",
                        self._what,
                        error,
                        rest,
                    )
                time.sleep(PAUSE)
            else:
                break
        if self._closed:  # meanwhile, when there was no process yet to kill
            self._end()
            raise OSError("the worker was closed while it was starting")

    def _open(self) -> None:
        """Start the worker, and wait until it is ready."""
        ours, theirs = socket.socketpair()
        self._wire = ours
        with theirs:
            # Not multiprocessing: to fork a process that has threads is unsafe, and its pools hang
            # when a worker is killed
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment() | self._environ,
                start_new_session=True,  # Ctrl-C is the crawl's
            )
        ours.settimeout(self._wall)
        if ours.recv(1) != READY:
            raise ConnectionResetError("the process ended as soon as it was started")

    def _end(self) -> int | None:
        """End the process if it runs, and return how it ended."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            ended = process.wait(0.2)  # one that its limits ended may not be gone yet
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return ended


class Job(NamedTuple):
    """The work that a process does with bodies, and its limits."""

    read: Callable[[bytes], Any]  # the answer to a body is a JSON value
    memory: int | None  # bytes of address space; without a limit it may write files, too
    seconds: float  # of processor time for a body
    # With 0, a body that takes over its reader can open no file and no socket
    files: int | None = None


def serve(job: Job) -> None:
    """Answer one body after the other, within the limits of the job."""
    wire = socket.socket(fileno=0)
    limits = {resource.RLIMIT_CORE: 0}
    if job.memory is not None:
        limits[resource.RLIMIT_AS] = job.memory
        limits[resource.RLIMIT_FSIZE] = 0
    if job.files is not None:
        limits[resource.RLIMIT_NOFILE] = job.files
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    # The timer's signal ends the process at once, also within a library's call
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    wire.sendall(READY)
    while head := _exactly(wire, SIZE.size):
        body = _exactly(wire, *SIZE.unpack(head))
        signal.setitimer(signal.ITIMER_PROF, job.seconds)
        answer = json.dumps(job.read(body)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        wire.sendall(SIZE.pack(len(answer)) + answer)


def _exactly(wire: socket.socket, size: int) -> bytes:
    """Read exactly this number of bytes; return none if the other end is closed."""
    pieces, left = [], size
    while left:
        piece = wire.recv(min(left, 1 << 20))
        if not piece:
            return b""
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    serve(getattr(import_module(module), name)(*sys.argv[2:]))
