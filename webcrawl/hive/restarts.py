"""When a drone that died is started again."""

from __future__ import annotations

from dataclasses import dataclass

FIRST, LONGEST = 1.0, 60.0  # seconds of waiting, doubled each time
HEALTHY = 60.0  # seconds of life after which all is forgotten
TRIES = 3  # starts in a row that the drone itself gave up: it cannot start, and will not


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
        self.wait = min(2 * wait, LONGEST)
        return wait
