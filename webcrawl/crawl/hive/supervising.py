"""Keeps the drones of one machine alive, and ends them together."""

from __future__ import annotations

import logging
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from webcrawl.base.program import INTERRUPTED, program
from webcrawl.crawl.hive.drone_process import TRIES, Process, Restarts

logger = logging.getLogger(__name__)

SAME = 0.5  # seconds within which further signals count as the one before, as for a crawl of one process
MERCY = 2.0  # seconds for drones that are to end at once; then they are killed, which loses nothing but work
TOGETHER = 10.0  # seconds in which all drones end of whatever ended the first one
LAST_LINES = 10
AS_PLANNED = ("finished",)  # reasons that concern one drone, or end them all anyway
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \S+ \[([^]]*)\] (\w+): (.*)")
SHOWN = {"WARNING": logging.WARNING, "ERROR": logging.ERROR, "CRITICAL": logging.CRITICAL}
TOLD = 10.0  # seconds in which what one drone said is not shown again for others
MOST_TOLD = 1000  # messages


@dataclass(slots=True)
class _Drone:
    due: float | None  # when to start it; None: it runs, or is not to be started
    process: Process | None = None
    well: bool = False  # it has ended as planned
    begun: float | None = None  # when it was last started, or could not be
    restarts: Restarts = field(default_factory=Restarts)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))


class Supervisor:
    """`step` is called a few times per second. `reason` gives the word with which a drone's crawl ended, if any.

    `unstored`: how many finished files a drone that has ended well but for them could not bring to its store;
    `unkept`: how many requests of its spider such a drone has lost; `unread`: how many seed lists it could not read.
    """

    def __init__(
        self,
        start: Callable[[int], Process],
        reason: Callable[[int], str | None],
        clock: Callable[[], float] = time.monotonic,
        unstored: Callable[[int], int] = lambda _: 0,
        unkept: Callable[[int], int] = lambda _: 0,
        unread: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self._start, self._reason, self._clock = start, reason, clock
        self._unstored, self._unkept, self._unread = unstored, unkept, unread
        self._drones: dict[int, _Drone] = {}
        self._wanted: set[int] = set()
        self._told: dict[str, tuple[int, float]] = {}  # lines of drones: who said it last, and when
        self._last_signal = float("-inf")
        self._stop_at: float | None = None
        self._kill_at: float | None = None
        self._failed = False
        self.stopping = False

    @property
    def running(self) -> int:
        return sum(drone.process is not None for drone in self._drones.values())

    @property
    def down(self) -> list[int]:
        """Drones that died, or could not be started, and are about to be started again."""
        return [number for number, drone in self._due() if drone.begun is not None]

    def hanging(self, silent: Mapping[int, int]) -> list[int]:
        """Those that run, of drones that are not heard of; `silent` has the process of each that was."""
        there = ((number, self._drones[number].process) for number in sorted(silent.keys() & self._drones.keys()))
        return [number for number, process in there if process is not None and process.pid == silent[number]]

    def _due(self) -> list[tuple[int, _Drone]]:
        """The drones that are to be started, for the first time or again."""
        return [(number, one) for number, one in self._drones.items() if one.process is None and one.due is not None]

    @property
    def ended(self) -> set[int]:
        """Drones that have ended because nothing was left for them to do."""
        return {number for number, drone in self._drones.items() if drone.well}

    @property
    def working(self) -> bool:
        return bool(self.running or (self._due() and not self.stopping))

    @property
    def status(self) -> int:
        """The exit status of all."""
        return INTERRUPTED if self._kill_at is not None else int(self._failed)

    def add(self, numbers: Iterable[int]) -> None:
        """Drones that are to run; those that run already, or have ended well, are left alone.

        One that has left the hive, and ended, may come again. One that died and is no longer named stays down.
        """
        self._wanted = wanted = set(numbers)
        for number in self._drones.keys() - wanted:
            if self._drones[number].process is None:
                del self._drones[number]
        for number in sorted(wanted - self._drones.keys()):
            self._drones[number] = _Drone(self._clock())

    def step(self) -> None:
        """Starts what is due, and looks at what runs."""
        now = self._clock()
        for number, drone in self._drones.items():
            if drone.process is not None:
                self._look(number, drone, now)
            elif drone.due is not None and drone.due <= now and not self.stopping:
                self._begin(number, drone, now)
        if self._stop_at is not None and now >= self._stop_at and self.running:
            self.stop()
        if self._kill_at is not None and now >= self._kill_at:
            self._send(signal.SIGKILL)

    def signalled(self) -> None:
        """Ctrl-C, or SIGTERM: the first one ends all drones cleanly, one that comes later all at once."""
        now = self._clock()
        if now - self._last_signal < SAME:
            return
        self._last_signal = now
        if not self.stopping:
            logger.info("stopping the drones; a second signal ends them at once")
            self.stop()
        elif self._kill_at is None:
            logger.warning("ending the drones at once: their state is as of their last checkpoints")
            self._kill_at = now + MERCY
            self._send(signal.SIGTERM)

    def stop(self) -> None:
        """Ends all drones cleanly: each finishes its pages under way and takes a checkpoint."""
        if not self.stopping:
            self.stopping = True
            self._send(signal.SIGTERM)
            for number in self.down:
                logger.warning("drone %d was down: the next start of the hive starts it too", number)
                self._failed = True

    def checkpoint(self) -> None:
        self._send(signal.SIGUSR1)

    def _send(self, number: int) -> None:
        for drone in self._drones.values():
            if drone.process is not None:
                drone.process.send(number)

    def _begin(self, number: int, drone: _Drone, now: float) -> None:
        drone.begun = now
        try:
            drone.process = self._start(number)
        except OSError as error:  # no memory, no processes, no descriptors: not the drone's fault
            drone.due = now + (drone.restarts.died(-1, 0) or 0)
            logger.warning("drone %d cannot be started: %s", number, error.strerror or error)
        else:
            drone.due = None
            drone.said.clear()

    def _look(self, number: int, drone: _Drone, now: float) -> None:
        assert drone.process is not None  # noqa: S101
        status = drone.process.poll()
        for line in drone.process.lines():
            drone.said.append(line)
            if (found := LOGGED.match(line)) and found[2] in SHOWN and self._is_new(number, found[0][20:], now):
                # one that is no longer wanted is refused by the others, perhaps before it has come in: no alarm
                level = SHOWN[found[2]] if number in self._wanted else logging.INFO
                logger.log(level, "drone %d: [%s] %s", number, found[1], found[3])
        if status is None:
            return
        drone.process = None
        if status == 0:
            self._ended(number, now)
        elif status > 0 and (left := self._unstored(number)):  # another start would wait for the store as long again
            store = f"{program()} export store"
            logger.error(
                "drone %d: ended, but files not sent or verified: %d; %s does it, or the next start",
                number,
                left,
                store,
            )
            self._failed = True
            self._ended(number, now)
        elif status > 0 and (lost := self._unkept(number)):
            logger.error("drone %d: ended, but requests of the spider lost: %d, as its log says", number, lost)
            self._failed = True
            self._ended(number, now)
        elif status > 0 and (away := self._unread(number)):  # another start would wait for all others as long again
            logger.error("drone %d: ended, but lists of seeds not read to the end: %d, as its log says", number, away)
            self._failed = True
            self._ended(number, now)
        elif self.stopping:
            self._ended_badly(number, status)
        elif number not in self._wanted:
            logger.info("drone %d ended with %s: it is no longer wanted", number, _how(status))
        else:
            self._died(number, drone, status, now)

    def _is_new(self, number: int, line: str, now: float) -> bool:
        """False for what another drone has said just now: the server is away, perhaps."""
        if len(self._told) > MOST_TOLD:
            self._told.clear()
        who, when = self._told.get(line, (number, now))
        if who != number and now - when < TOLD:
            return False
        self._told[line] = (number, now)
        return True

    def _ended(self, number: int, now: float) -> None:
        """A limit that one drone reached, or a signal to one, ends them all: who runs on would wait for it in vain."""
        reason = self._reason(number)
        self._drones[number].well = reason in AS_PLANNED
        if self.stopping or reason is None or reason in AS_PLANNED:
            return
        if self._stop_at is None and self.running:
            logger.info("drone %d has ended (%s): the others end too", number, reason)
            self._stop_at = now + TOGETHER

    def _ended_badly(self, number: int, status: int) -> None:
        if self._kill_at is None and status != -signal.SIGTERM:  # by which it ends before it listens
            logger.error("drone %d ended with %s: its state is as of its last checkpoint", number, _how(status))
            self._failed = True

    def _died(self, number: int, drone: _Drone, status: int, now: float) -> None:
        wait = drone.restarts.died(status, now - (drone.begun or 0.0))
        if wait is not None:
            drone.due = now + wait
            plain = status > 0 and drone.said and not LOGGED.match(drone.said[-1])
            said = f"; its last line: {drone.said[-1]}" if plain else ""
            logger.warning("drone %d died (%s): it is started again in %g s%s", number, _how(status), wait, said)
            return
        logger.error("drone %d ended %d times in a row soon after its start; its last lines:", number, TRIES)
        for line in drone.said:
            logger.error("drone %d: %s", number, line)
        self._failed = True
        self.stop()


def _how(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
