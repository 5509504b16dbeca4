"""Keeps the drones of one machine alive, and ends them together."""

from __future__ import annotations

import logging
import re
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial

from webcrawl.base.program import ExitStatus
from webcrawl.crawl.hive.process import TRIES, Child, Process
from webcrawl.store.jobdir.stats_file import FINISHED

logger = logging.getLogger(__name__)

# seconds within which further signals count as the one before, as for a crawl of one process
SAME = 0.5
# seconds for drones that are to end at once; then they are killed, which loses nothing but work
MERCY = 2.0
TOGETHER = 10.0  # seconds in which all drones end of whatever ended the first one
WELL = (FINISHED, "closespider_")  # how reasons begin with which a crawl ends as it should
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \S+ \[([^]]*)\] (\w+): (.*)")
STAMP_CHARS = len("2026-11-28 12:00:00 ")  # with which a line of a log begins
SHOWN = {"WARNING": logging.WARNING, "ERROR": logging.ERROR, "CRITICAL": logging.CRITICAL}
TOLD = 10.0  # seconds in which what a drone said is not shown again, of itself or others


class Supervisor:
    """Starts drones, starts those again that die, and ends them together.

    `step` is called a few times per second. `reason` gives the word with which a drone's crawl has
    ended since it was last started, if any.
    """

    def __init__(
        self,
        start: Callable[[int], Child],
        reason: Callable[[int], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start = start
        self._reason = reason
        self._clock = clock
        self._drones: dict[int, Process] = {}
        # drones that, when they last ran, have ended because nothing was left for them to do
        self.ended: set[int] = set()
        self._wanted: set[int] = set()
        self._told: dict[str, float] = {}  # lines of drones: when they were shown
        self._last_signal = float("-inf")
        self._stop_at: float | None = None
        self._kill_at: float | None = None
        self._failed = False
        self.stopping = False

    @property
    def running(self) -> int:
        return sum(drone.runs for drone in self._drones.values())

    @property
    def down(self) -> list[int]:
        """Drones that died, or could not be started, and are about to be started again."""
        return [
            number for number, one in self._drones.items() if one.waits and one.begun is not None
        ]

    @property
    def working(self) -> bool:
        return any(
            drone.runs or (drone.waits and not self.stopping) for drone in self._drones.values()
        )

    @property
    def status(self) -> int:
        """Return the exit status of all drones together."""
        return ExitStatus.INTERRUPTED if self._kill_at is not None else int(self._failed)

    def add(self, numbers: Iterable[int]) -> None:
        """Set which drones are to run; those that run already, or have ended well, are left alone.

        One that has left the hive, and ended, may come again. One that died and is no longer named
        stays down.
        """
        self._wanted = wanted = set(numbers)
        for number in self._drones.keys() - wanted:
            if not self._drones[number].runs:
                del self._drones[number]
        for number in sorted(wanted - self._drones.keys()):
            self._drones[number] = Process(partial(self._start, number), self._clock)

    def step(self) -> None:
        """Start drones that are due, look at those that run, and end all where that is due."""
        now = self._clock()
        for number, drone in self._drones.items():
            if drone.runs:
                self._look(number, drone, now)
            elif drone.is_due and not self.stopping:
                self._begin(number, drone)
        if self._is_end_due(now):
            self.stop()
        is_patience_over = self._kill_at is not None and now >= self._kill_at
        if is_patience_over:
            self._send(signal.SIGKILL)

    def _is_end_due(self, now: float) -> bool:
        """Return whether the drones that run are to be stopped."""
        if self.stopping or not self.running:
            return False
        left = (number for number, drone in self._drones.items() if drone.runs or drone.waits)
        # Drones that are no longer wanted have left the hive, and would never be released.
        is_over = self._wanted.isdisjoint(left)
        is_time_up = self._stop_at is not None and now >= self._stop_at
        return is_over or is_time_up

    def signalled(self) -> None:
        """End all drones cleanly at the first Ctrl-C or SIGTERM, and at once at a later one."""
        now = self._clock()
        if now - self._last_signal < SAME:
            return
        self._last_signal = now
        if not self.stopping:
            logger.info("stopping the drones; a second signal ends them at once")
            self.stop()
        elif self._kill_at is None:
            logger.warning(
                "ending the drones at once: they will resume from their last checkpoints"
            )
            self._kill_at = now + MERCY
            self._send(signal.SIGTERM)

    def stop(self) -> None:
        """End all drones cleanly: each finishes its pages under way and takes a checkpoint."""
        if self.stopping:
            return
        self.stopping = True
        self._send(signal.SIGTERM)
        for number in self.down:
            logger.warning(
                "drone %d was not running: the next start of the hive starts it too", number
            )
            self._failed = True

    def checkpoint(self) -> None:
        self._send(signal.SIGUSR1)

    def _send(self, number: int) -> None:
        for drone in self._drones.values():
            if drone.child is not None:
                drone.child.send(number)

    def _begin(self, number: int, process: Process) -> None:
        try:
            process.begin()
            self.ended.discard(number)
        except OSError as error:  # no memory, no processes, no descriptors: not the drone's fault
            logger.warning("drone %d cannot be started: %s", number, error.strerror or error)

    def _look(self, number: int, process: Process, now: float) -> None:
        lines, status = process.look()
        for line in lines:
            self._show(number, line, now)
        if status is not None:
            self._ended_with(number, process, status, now)

    def _show(self, number: int, line: str, now: float) -> None:
        """Log a warning or error of a drone, unless the same was logged just now."""
        found = LOGGED.match(line)
        if found is None or found[2] not in SHOWN:
            return
        said = found[0][STAMP_CHARS:]
        self._told = {line: when for line, when in self._told.items() if now - when < TOLD}
        if said in self._told:  # the server is away, perhaps, and all say so
            return
        self._told[said] = now
        # The other drones refuse one that is no longer wanted, perhaps before it has come in: that
        # is no alarm.
        level = SHOWN[found[2]] if number in self._wanted else logging.INFO
        logger.log(level, "drone %d: [%s] %s", number, found[1], found[3])

    def _ended_with(self, number: int, process: Process, status: int, now: float) -> None:
        reason = self._reason(number)
        has_crawled_to_its_end = reason is not None and reason.startswith(WELL)
        if status == 0:
            self._ended(number, reason, now)
        elif status > 0 and has_crawled_to_its_end:  # another start would wait as long again
            logger.error(
                "drone %d ended with %s, and is not restarted: its log says what is left undone",
                number,
                _how(status),
            )
            self._failed = True
            self._ended(number, reason, now)
        elif self._kill_at is not None or (self.stopping and status == -signal.SIGTERM):
            pass  # that is how it ends before it listens
        elif self.stopping:
            logger.error(
                "drone %d ended with %s: it will resume from its last checkpoint",
                number,
                _how(status),
            )
            self._failed = True
        elif number not in self._wanted:
            logger.info("drone %d ended with %s; it is no longer needed", number, _how(status))
        else:
            self._died(number, process, status)

    def _ended(self, number: int, reason: str | None, now: float) -> None:
        """End all drones soon if one has met a limit or a signal: they would wait for it."""
        if reason == FINISHED:
            self.ended.add(number)
        elif reason and self.running and not self.stopping and self._stop_at is None:
            logger.info("drone %d has ended (%s), so the others are stopped too", number, reason)
            self._stop_at = now + TOGETHER

    def _died(self, number: int, process: Process, status: int) -> None:
        wait = process.died(status)
        if wait is not None:
            logger.warning(
                "drone %d died (%s); it is restarted in %g s%s",
                number,
                _how(status),
                wait,
                _last_words(process, status),
            )
            return
        logger.error(
            "drone %d ended soon after its start %d times in a row, so the hive stops; its last "
            "lines:",
            number,
            TRIES,
        )
        for line in process.said:
            logger.error("drone %d: %s", number, line)
        self._failed = True
        self.stop()


def _last_words(process: Process, status: int) -> str:
    """Return the last line printed by a drone that ended by itself, unless it is a log line."""
    if status <= 0 or not process.said or LOGGED.match(process.said[-1]):
        return ""
    return f"; its last line: {process.said[-1]}"


def _how(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
