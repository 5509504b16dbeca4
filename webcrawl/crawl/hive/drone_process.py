"""One drone as a process of this machine: when it is started again after it died, and what its exit status means."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from webcrawl.base.model import Status
from webcrawl.base.own_process import environment
from webcrawl.store.disk import appending, regular

MOST = 1 << 20  # bytes of a drone's output that are looked at in one turn
LONGEST = 1 << 13  # bytes of a line

FIRST, LONGEST_WAIT = 1.0, 60.0  # seconds of waiting, doubled each time
HEALTHY = 60.0  # seconds of life after which all is forgotten
TRIES = 3  # starts in a row that the drone itself gave up: it cannot start, and will not

WELL = ("finished", "closespider_")  # how reasons begin with which a crawl ends as it should


class Process(Protocol):
    """A process as the supervisor knows it."""

    @property
    def pid(self) -> int: ...

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
        cores = None if core is None else os.sched_getaffinity(0)
        try:
            if core is not None:
                os.sched_setaffinity(0, {core})  # inherited as well, by all its threads
            with appending(log) as output, ExitStack() as opened:
                # First: no drone may run that nobody watches, for want of a descriptor
                self._output = opened.enter_context(regular(log))
                self._output.seek(output.tell())
                self._process = subprocess.Popen(  # noqa: S603 - this very program
                    command,
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
                os.sched_setaffinity(0, cores)
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

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


@dataclass(slots=True)
class Restarts:
    """Of one drone."""

    wait: float = FIRST
    refusals: int = 0

    def died(self, status: int, lived: float) -> float | None:
        """Seconds to wait before the next start; None: give up. `status` is negative if a signal ended the process.

        A signal says nothing of the next start, however often it comes: the kernel may be short of memory.
        """
        if lived >= HEALTHY:
            self.wait, self.refusals = FIRST, 0
        self.refusals = self.refusals + 1 if status > 0 else 0
        if self.refusals >= TRIES:
            return None
        wait = self.wait
        self.wait = min(2 * wait, LONGEST_WAIT)
        return wait


class Unstored:
    """`figures` gives what a drone's last checkpoint says of it. What an earlier start wrote is not its own."""

    def __init__(self, figures: Callable[[int], Mapping[str, Any]]) -> None:
        self._figures = figures
        self._before: dict[int, Mapping[str, Any]] = {}

    def begins(self, drone: int) -> None:
        """It is about to be started."""
        self._before[drone] = self._figures(drone)

    def files(self, drone: int) -> int:
        """The number of files that wait for the store of a drone that has ended; 0 if it ended of anything else."""
        return int(self._end(drone).get("store/waiting") or 0)

    def requests(self, drone: int) -> int:
        """The number of requests of its spider that such a drone has lost, over all runs."""
        end = self._end(drone)
        return sum(int(end.get(name) or 0) for name in ("requests/unkept", f"status/{Status.NO_METHOD:d}"))

    def lists(self, drone: int) -> int:
        """The number of lists of seeds that such a drone could not read to the end."""
        return int(self._end(drone).get("seed_lists_away") or 0)

    def _end(self, drone: int) -> Mapping[str, Any]:
        """The figures of a drone that has ended well; nothing of any other."""
        found = self._figures(drone)
        return found if found != self._before.get(drone) and str(found.get("reason")).startswith(WELL) else {}
