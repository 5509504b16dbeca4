"""Keeps the drones of one machine alive, and ends them together."""

from __future__ import annotations

import logging
import re
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial

from webcrawl.base.program import ExitStatus
from webcrawl.crawl.hive.process import MAX_FAILED_STARTS, Child, RestartedProgram
from webcrawl.store.jobdir.stats_file import FINISHED

logger = logging.getLogger(__name__)

# Within this time further signals count as the one before, as for a crawl of one process
SAME_SIGNAL_SECONDS = 0.5
# For drones that are to end at once; then they are killed, which loses nothing but work
MERCY_SECONDS = 2.0
# In this time all drones end by themselves of what ended the first one; then they are stopped
TOGETHER_SECONDS = 10.0
GOOD_REASONS = (FINISHED, "closespider_")  # how reasons begin with which a crawl ends as it should
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \S+ \[([^]]*)\] (\w+): (.*)")  # logger, level, message
STAMP_CHARS = len("2026-11-28 12:00:00 ")  # with which a line of a log begins
SHOWN_LEVELS = {"WARNING": logging.WARNING, "ERROR": logging.ERROR, "CRITICAL": logging.CRITICAL}
# For so long a line is not shown again, of the same drone or of others
REPEAT_SECONDS = 10.0


class Supervisor:
    """Starts drones, starts those again that die, and ends them together.

    Call `step` a few times per second.
    """

    def __init__(
        self,
        start: Callable[[int], Child],
        reason: Callable[[int], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start nothing yet: `add` says which drones are to run.

        `start` starts a drone. `reason` returns the word with which the drone's crawl has ended
        since it was last started, if any.
        """
        self._start = start
        self._reason = reason
        self._clock = clock
        self._drones: dict[int, RestartedProgram] = {}
        # Drones that, when they last ran, have ended because nothing was left for them to do
        self.ended: set[int] = set()
        self._wanted: set[int] = set()
        self._shown_at: dict[str, float] = {}  # by lines of drones
        self._last_signal_at = float("-inf")
        self._stop_at: float | None = None  # when to stop all drones, as one has ended
        self._kill_at: float | None = None  # when to kill all drones, after a second signal
        self._has_failed = False
        self.stopping = False

    @property
    def running(self) -> int:
        """Return how many drones run."""
        return sum(drone.is_running for drone in self._drones.values())

    @property
    def down(self) -> list[int]:
        """Return the drones that died or could not be started, and are about to be started again."""
        return [
            number
            for number, drone in self._drones.items()
            if drone.is_waiting and drone.begun_at is not None
        ]

    @property
    def working(self) -> bool:
        """Return whether a drone runs, or is to be started."""
        has_waiting = any(drone.is_waiting for drone in self._drones.values())
        return self.running > 0 or (has_waiting and not self.stopping)

    @property
    def status(self) -> int:
        """Return the exit status of all drones together."""
        return ExitStatus.INTERRUPTED if self._kill_at is not None else int(self._has_failed)

    def add(self, numbers: Iterable[int]) -> None:
        """Set which drones are to run; those that run already, or have ended well, are left alone.

        One that has left the hive, and ended, may come again. One that died and is no longer named
        stays down.
        """
        self._wanted = set(numbers)
        for number in self._drones.keys() - self._wanted:
            if not self._drones[number].is_running:
                del self._drones[number]
        for number in sorted(self._wanted - self._drones.keys()):
            self._drones[number] = RestartedProgram(partial(self._start, number), self._clock)

    def step(self) -> None:
        """Start drones that are due, look at those that run, and end all where that is due."""
        now = self._clock()
        for number, drone in self._drones.items():
            if drone.is_running:
                self._watch(number, drone, now)
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
        left = (
            number for number, drone in self._drones.items() if drone.is_running or drone.is_waiting
        )
        # Drones that are no longer wanted have left the hive, and would never be released.
        is_over = self._wanted.isdisjoint(left)
        is_time_up = self._stop_at is not None and now >= self._stop_at
        return is_over or is_time_up

    def signalled(self) -> None:
        """End all drones cleanly at the first Ctrl-C or SIGTERM, and at once at a later one."""
        now = self._clock()
        if now - self._last_signal_at < SAME_SIGNAL_SECONDS:
            return
        self._last_signal_at = now
        if not self.stopping:
            logger.info("stopping the drones; a second signal ends them at once")
            self.stop()
        elif self._kill_at is None:
            logger.warning(
                "ending the drones at once: they will resume from their last checkpoints"
            )
            self._kill_at = now + MERCY_SECONDS
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
            self._has_failed = True

    def checkpoint(self) -> None:
        self._send(signal.SIGUSR1)

    def _send(self, number: int) -> None:
        for drone in self._drones.values():
            if drone.child is not None:
                drone.child.send(number)

    def _begin(self, number: int, program: RestartedProgram) -> None:
        try:
            program.begin()
            self.ended.discard(number)
        except OSError as error:  # no memory, no processes, no descriptors: not the drone's fault
            logger.warning("drone %d cannot be started: %s", number, error.strerror or error)

    def _watch(self, number: int, program: RestartedProgram, now: float) -> None:
        """Show what a drone has printed, and act on its end if it has ended."""
        lines, status = program.read()
        for line in lines:
            self._show(number, line, now)
        if status is not None:
            self._act_on_end(number, program, status, now)

    def _show(self, number: int, line: str, now: float) -> None:
        """Log a warning or error of a drone, unless the same was logged just now."""
        found = LOG_LINE.match(line)
        if found is None or found[2] not in SHOWN_LEVELS:
            return
        unstamped = found[0][STAMP_CHARS:]
        self._shown_at = {
            line: shown_at
            for line, shown_at in self._shown_at.items()
            if now - shown_at < REPEAT_SECONDS
        }
        if unstamped in self._shown_at:  # the server is away, perhaps, and all say so
            return
        self._shown_at[unstamped] = now
        # The other drones refuse one that is no longer wanted, perhaps before it has come in: that
        # is no alarm.
        level = SHOWN_LEVELS[found[2]] if number in self._wanted else logging.INFO
        logger.log(level, "drone %d: [%s] %s", number, found[1], found[3])

    def _act_on_end(self, number: int, program: RestartedProgram, status: int, now: float) -> None:
        """Start a drone that has ended again, or say why not, by how and when it has ended."""
        reason = self._reason(number)
        has_crawled_to_its_end = reason is not None and reason.startswith(GOOD_REASONS)
        # A drone that gets the signal before it listens for it ends like this.
        is_ended_by_us = self.stopping and status == -signal.SIGTERM
        if status == 0:
            self._note_end(number, reason, now)
        elif status > 0 and has_crawled_to_its_end:  # another start would wait as long again
            logger.error(
                "drone %d ended with %s, and is not restarted: its log says what is left undone",
                number,
                _in_words(status),
            )
            self._has_failed = True
            self._note_end(number, reason, now)
        elif self._kill_at is not None or is_ended_by_us:
            pass
        elif self.stopping:
            logger.error(
                "drone %d ended with %s: it will resume from its last checkpoint",
                number,
                _in_words(status),
            )
            self._has_failed = True
        elif number not in self._wanted:
            logger.info("drone %d ended with %s; it is no longer needed", number, _in_words(status))
        else:
            self._restart_or_give_up(number, program, status)

    def _note_end(self, number: int, reason: str | None, now: float) -> None:
        """Note that a crawl has ended. Stop all soon if it has met a limit: they would wait for it."""
        if reason == FINISHED:
            self.ended.add(number)
        elif reason and self.running and not self.stopping and self._stop_at is None:
            logger.info("drone %d has ended (%s), so the others are stopped too", number, reason)
            self._stop_at = now + TOGETHER_SECONDS

    def _restart_or_give_up(self, number: int, program: RestartedProgram, status: int) -> None:
        """Let a drone that died be started again; stop the hive if it has died too often."""
        wait = program.note_death(status)
        if wait is not None:
            logger.warning(
                "drone %d died (%s); it is restarted in %g s%s",
                number,
                _in_words(status),
                wait,
                _last_words(program, status),
            )
            return
        logger.error(
            "drone %d ended soon after its start %d times in a row, so the hive stops; its last "
            "lines:",
            number,
            MAX_FAILED_STARTS,
        )
        for line in program.last_lines:
            logger.error("drone %d: %s", number, line)
        self._has_failed = True
        self.stop()


def _last_words(program: RestartedProgram, status: int) -> str:
    """Return the last line printed by a drone that ended by itself, unless it is a log line."""
    if status <= 0 or not program.last_lines or LOG_LINE.match(program.last_lines[-1]):
        return ""
    return f"; its last line: {program.last_lines[-1]}"


def _in_words(status: int) -> str:
    """Return an exit status as the log names it; a negative one is that of a signal."""
    if status > 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
