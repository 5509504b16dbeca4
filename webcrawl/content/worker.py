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
# times the processor time that a worker may take: it may have to share its processor
PROCESSOR_SHARES = 10
START_TRIES = 30  # to start a process, with PAUSE_SECONDS between them
PAUSE_SECONDS = 1.0
LARGEST_ANSWER = 1 << 26  # bytes of an answer


def command_of(job: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that starts a process for a job.

    `job` is `module:function`: the function makes the Job of these arguments.
    """
    return (*PYTHON, "-m", "webcrawl.content.worker", job, *arguments)


class WorkerDied(Exception):  # noqa: N818 - reads as what it is
    """The process has ended over a body, or its answer was unusable."""


class DocumentWorker:
    """Sends one body at a time to a process, which starts with the first body and after each death."""

    tries = START_TRIES

    def __init__(self, what: str, command: tuple[str, ...], seconds: float, **environ: str) -> None:
        """Name the bodies and the command of the process.

        `what` names the bodies in messages; `command` starts a process that takes at most `seconds`
        for a body; `environ` are further variables of its environment.
        """
        self._what = what
        self._command = command
        self._environ = environ
        self._answer_seconds = PROCESSOR_SHARES * seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._closed = False

    def ask(self, body: bytes, read: Callable[[Any], T]) -> T:
        """Return what `read` makes of the worker's answer, which is a JSON value.

        If the process was killed from outside, the body is sent once more, to another one. Raise
        WorkerDied if the process ended over the body, or if `read` raises ValueError. Raise OSError
        if no process can be started for a while: that is not caused by the body.
        """
        for is_last_try in (False, True):
            self._ensure_running()
            try:
                return read(self._exchange(body))
            except (OSError, ValueError) as error:
                exit_status = self._end_process()
                # Another process has killed it, perhaps for want of memory. No body causes that:
                # the worker's own limits end it in other ways
                is_body_innocent = exit_status == -signal.SIGKILL and not self._closed
                if is_body_innocent and not is_last_try:
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
        self._end_process()

    def _exchange(self, body: bytes) -> Any:
        """Send the body to the running process, and return its answer.

        Raise OSError or ValueError if there is none within the seconds for it, or no usable one.
        """
        connection = self._socket
        if connection is None:
            raise OSError("the worker process could not be started")
        connection.settimeout(self._answer_seconds)
        connection.sendall(SIZE.pack(len(body)) + body)
        (size,) = SIZE.unpack(self._exactly(connection, SIZE.size))
        if size > LARGEST_ANSWER:
            raise ValueError("the worker's answer is too large")
        return json.loads(self._exactly(connection, size))

    def _exactly(self, connection: socket.socket, size: int) -> bytes:
        """Read this number of bytes from the process.

        Raise TimeoutError after the seconds for an answer, ConnectionResetError if the process has
        ended.
        """
        received, deadline = bytearray(), time.monotonic() + self._answer_seconds
        while len(received) < size:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = connection.recv(min(size - len(received), 1 << 20))
            if not piece:
                raise ConnectionResetError("the worker has ended")
            received += piece
        return bytes(received)

    def _ensure_running(self) -> None:
        """Start a process unless one runs; try again for START_TRIES with pauses if none can be
        started.

        Raise OSError then, or if the worker is closed meanwhile.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self._end_process()
        if self._closed:
            raise OSError("the worker was closed while it was starting")
        for attempt in range(1, self.tries + 1):
            try:
                self._start_process()
            except OSError as error:
                self._end_process()
                if attempt == self.tries or self._closed:
                    raise OSError(
                        f"no process could be started to read {self._what}: {error}"
                    ) from error
                if attempt == 1:
                    seconds_left = (self.tries - 1) * PAUSE_SECONDS
                    logger.warning(
                        "No process could be started to read %s: %s; retrying for %d s",
                        self._what,
                        error,
                        seconds_left,
                    )
                time.sleep(PAUSE_SECONDS)
            else:
                break
        if self._closed:  # meanwhile, when there was no process yet to kill
            self._end_process()
            raise OSError("the worker was closed while it was starting")

    def _start_process(self) -> None:
        """Start the process, and wait until it says that it is ready.

        Raise OSError if it cannot be started, or ends at once.
        """
        ours, theirs = socket.socketpair()
        self._socket = ours
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
        ours.settimeout(self._answer_seconds)
        if ours.recv(1) != READY:
            raise ConnectionResetError("the process ended as soon as it was started")

    def _end_process(self) -> int | None:
        """Close the connection, end the process if it runs, and return its exit status.

        None if there is no process, or if it had to be killed here.
        """
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            exit_status = process.wait(0.2)  # one that its limits ended may not be gone yet
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return exit_status


class Job(NamedTuple):
    """The work that a process does with bodies, and its limits."""

    read: Callable[[bytes], Any]  # the answer to a body is a JSON value
    memory: int | None  # bytes of address space; without a limit it may write files, too
    seconds: float  # of processor time for a body
    # With 0, a body that takes over its reader can open no file and no socket
    files: int | None = None


def serve(job: Job) -> None:
    """Set the limits of the job for this process, and answer bodies until the other end is closed.

    A body that takes more than its seconds ends the process.
    """
    connection = socket.socket(fileno=0)
    limits = {resource.RLIMIT_CORE: 0}
    if job.memory is not None:
        limits[resource.RLIMIT_AS] = job.memory
        limits[resource.RLIMIT_FSIZE] = 0
    if job.files is not None:
        limits[resource.RLIMIT_NOFILE] = job.files
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    # The timer's signal ends the process at once, also within a library's call
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    connection.sendall(READY)
    while packed_size := _exactly(connection, SIZE.size):
        body = _exactly(connection, *SIZE.unpack(packed_size))
        signal.setitimer(signal.ITIMER_PROF, job.seconds)
        answer = json.dumps(job.read(body)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.sendall(SIZE.pack(len(answer)) + answer)


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Read exactly this number of bytes; return none if the other end is closed."""
    pieces, left = [], size
    while left:
        piece = connection.recv(min(left, 1 << 20))
        if not piece:
            return b""
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    serve(getattr(import_module(module), name)(*sys.argv[2:]))
