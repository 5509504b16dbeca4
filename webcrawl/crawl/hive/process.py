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

MOST = 1 << 20  # bytes of a process's output that are looked at in one turn
LONGEST_LINE = 1 << 13  # bytes
LAST_LINES = 10

FIRST, LONGEST_WAIT = 1.0, 60.0  # seconds until it is started again, doubled each time
HEALTHY = 60.0  # seconds of life after which all is forgotten
TRIES = 3  # starts in a row that it gave up by itself: it cannot start, and will not

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
        try:
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
        if core is not None:  # before it has threads, which inherit it
            with suppress(ProcessLookupError):
                run_on(self._process.pid, core)
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
