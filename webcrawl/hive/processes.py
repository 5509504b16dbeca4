"""One drone as a process of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from webcrawl.store.regular import appending, regular

MOST = 1 << 20  # bytes of a drone's output that are looked at in one turn
LONGEST = 1 << 13  # bytes of a line


class Process(Protocol):
    """What the supervisor knows of a process."""

    def poll(self) -> int | None: ...

    def send(self, number: int) -> None: ...

    def lines(self) -> Iterator[str]: ...


class DroneProcess:
    """In a session of its own, so that the terminal's Ctrl-C does not reach it.

    What it prints is appended to a file, which outlives whoever started the process. When that one is gone, even by a
    kill -9, the drone's standard input ends.
    """

    def __init__(self, command: Sequence[str], log: Path, core: int | None = None) -> None:
        log.parent.mkdir(exist_ok=True)
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # inherited until the crawl listens; it would end it
        try:
            with appending(log) as output:
                start = output.tell()
                self._process = subprocess.Popen(  # noqa: S603 - this very program
                    command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
                )
        finally:
            signal.signal(signal.SIGUSR1, before)
        if core is not None:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(self._process.pid, {core})
        self._output = regular(log)
        self._output.seek(start)
        self._rest = b""

    def __repr__(self) -> str:
        return f"<DroneProcess {self._process.pid}>"

    def poll(self) -> int | None:
        """Its exit status once it has ended, negative if a signal ended it."""
        status = self._process.poll()
        if status is not None and self._process.stdin is not None:
            self._process.stdin.close()
        return status

    def send(self, number: int) -> None:
        """Sends a signal; does nothing once the process has ended."""
        self._process.send_signal(number)

    def lines(self) -> Iterator[str]:
        """The lines that it printed since the last call, and the rest once its end is known. To be read to the end."""
        if self._output.closed:
            return
        *whole, self._rest = (self._rest + self._output.read(MOST)).split(b"\n")
        if self._process.returncode is not None:
            self._output.close()
        if self._output.closed or len(self._rest) > LONGEST:
            whole, self._rest = [*whole, *filter(None, [self._rest])], b""
        for line in whole:
            yield line[:LONGEST].decode(errors="replace")
