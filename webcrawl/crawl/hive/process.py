"""A process of this machine that is kept alive: a drone, or the server of a hive."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from webcrawl.base.doubling import DoublingWait
from webcrawl.base.program import environment
from webcrawl.base.system import run_on
from webcrawl.store.disk import appending, regular

MAX_READ_BYTES = 1 << 20  # of a process's output that are read in one turn
MAX_LINE_BYTES = 1 << 13
LAST_LINES = 10  # that are kept, to be shown when a process is given up

# Seconds until it is started again, doubled each time
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
HEALTHY_SECONDS = 60.0  # of life after which earlier deaths count no more
MAX_FAILED_STARTS = 3  # in a row that ended by themselves: it cannot start, and will not

# A shell that waits beside the program until its parent has ended. It sends the signal `$0` to the
# program, which keeps the process id `$$`, unless it reads a line first: see `release_guard`.
GUARD = 'exec 3<&0; (read line <&3 || kill -"$0" $$) & exec "$@" 3<&- </dev/null'


def guard_command(command: Sequence[str], at_end: signal.Signals) -> list[str]:
    """Return a command that gets the signal `at_end` when its standard input closes.

    That also happens if its parent is killed with kill -9. Call `release_guard` when the command
    has ended.
    """
    return ["/bin/sh", "-c", GUARD, str(at_end.value), *command]


def release_guard(process: subprocess.Popen[bytes]) -> None:
    """End the guard of a process that has ended, whose id may be another's from now on."""
    if process.stdin is not None and not process.stdin.closed:
        with suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.close()


class Child:
    """One start of a program in a session of its own, which the terminal's Ctrl-C spares.

    What it prints is appended to a file, which outlives the process that started it. When that
    process is gone, the program gets the signal `at_end`.
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
        """Start the program. Raise OSError if the machine has nothing to start it with.

        `core` is the processor core that it may use; None for all. `folder` is its working folder.
        """
        log.parent.mkdir(exist_ok=True)
        # SIGUSR1 asks a crawl for a checkpoint, and would end one that does not listen yet. What is
        # ignored here is ignored in the child, too.
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        try:
            with appending(log) as output, ExitStack() as opened:
                # Before the start: for want of a descriptor a process could run unwatched.
                self._output = opened.enter_context(regular(log))
                self._output.seek(output.tell())
                self._process = subprocess.Popen(  # noqa: S603 - this very program, or the wheel's server
                    guard_command(command, at_end),
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
        if core is not None:  # before it has threads, which inherit it
            with suppress(ProcessLookupError):
                run_on(self._process.pid, core)
        self._incomplete_line = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit status once the process has ended, negative if a signal ended it."""
        status = self._process.poll()
        if status is not None:
            release_guard(self._process)
        return status

    def send(self, number: int) -> None:
        """Send a signal; do nothing once the process has ended."""
        self._process.send_signal(number)

    def end(self, patience: float) -> None:
        """End the process by SIGTERM, or kill it after so many seconds; return when it has ended."""
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        release_guard(self._process)

    def lines(self) -> Iterator[str]:
        """Yield the lines printed since the last call; after `poll` has seen the end, the last one.

        Read it to the end. A line of more than MAX_LINE_BYTES is split.
        """
        if self._output.closed:
            return
        output = self._incomplete_line + self._output.read(MAX_READ_BYTES)
        *lines, self._incomplete_line = output.split(b"\n")
        if self._process.returncode is not None:
            self._output.close()
        is_split = self._output.closed or len(self._incomplete_line) > MAX_LINE_BYTES
        if is_split and self._incomplete_line:
            lines.append(self._incomplete_line)
            self._incomplete_line = b""
        for line in lines:
            yield line[:MAX_LINE_BYTES].decode(errors="replace")


class RestartedProgram:
    """A program that is started again when it has died: one rule for all that a hive keeps alive.

    A signal, or a start for which the machine has no memory or no processes, says nothing of the
    next start, however often it comes. What ends by itself soon after each start is given up.
    """

    def __init__(
        self, start: Callable[[], Child], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start nothing yet: the program is due at once. `start` starts it."""
        self._start = start
        self._clock = clock
        self.child: Child | None = None  # while it runs
        # When to start it; None: it runs, or is not to be started
        self.due_at: float | None = clock()
        self.begun_at: float | None = None  # when it was last started, or could not be
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)  # since that start
        self._wait = DoublingWait(FIRST_WAIT, LONGEST_WAIT)
        self._failed_starts = 0  # in a row

    @property
    def is_running(self) -> bool:
        return self.child is not None

    @property
    def is_waiting(self) -> bool:
        """Return whether it is to be started, for the first time or again."""
        return self.child is None and self.due_at is not None

    @property
    def is_due(self) -> bool:
        """Return whether it is to be started now."""
        return self.due_at is not None and self.due_at <= self._clock()

    def begin(self) -> None:
        """Start it. Raise OSError if the machine has nothing to start it with: it is due later."""
        self.begun_at = self._clock()
        try:
            self.child = self._start()
        except OSError:
            self.due_at = self.begun_at + self._wait.next()
            raise
        self.due_at = None
        self.last_lines.clear()

    def read(self) -> tuple[list[str], int | None]:
        """Return the lines printed since the last call, and the exit status if it has ended."""
        if self.child is None:
            return [], None
        status = self.child.poll()
        lines = [*self.child.lines()]
        self.last_lines.extend(lines)
        if status is not None:
            self.child = None
        return lines, status

    def note_death(self, status: int) -> float | None:
        """Return the seconds until it is due again, or None if it is given up.

        `status` is negative for a signal.
        """
        now = self._clock()
        if self.begun_at is not None and now - self.begun_at >= HEALTHY_SECONDS:
            self._wait.reset()
            self._failed_starts = 0
        self._failed_starts = self._failed_starts + 1 if status > 0 else 0
        if self._failed_starts >= MAX_FAILED_STARTS:
            return None
        wait = self._wait.next()
        self.due_at = now + wait
        return wait
