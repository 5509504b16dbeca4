"""The URLs of one host that have a priority: one FIFO queue per priority, as in Scrapy's own scheduler."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from webcrawl.frontier.fifo import Fifo

# Queues on each side of 0, whatever priorities a spider thinks of; each is an object of some 150 bytes in memory.
MOST = 16
LARGEST = 1 << 31  # priorities beyond are all one
CHOSEN = 1  # of what goes before the host's queue because it is worth more (best_first.py)
REVISITS = -LARGEST - 1  # of the queue of what is fetched again, which has no priority: the two take turns


class Ranked:
    """The queues, the highest priority first; none of them is empty for longer than it takes to push a record."""

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: list[tuple[int, Fifo]] = []

    @property
    def count(self) -> int:
        return sum(queue.count for _, queue in self.queues)

    def before(self) -> bool:
        """True if the first URL here goes before those without a priority."""
        return bool(self.queues) and self.queues[0][0] > 0

    def queue(self, priority: int, make: Callable[[], Fifo]) -> Fifo:
        """The queue of this priority, made if it is missing; beyond MOST of them the nearest one."""
        if priority != REVISITS:
            priority = max(min(priority, LARGEST), -LARGEST)
        side = [one for one in self.queues if _side(one[0]) == _side(priority)]
        nearest = min(side, key=lambda one: abs(one[0] - priority), default=None)
        if nearest is not None and (nearest[0] == priority or len(side) >= MOST):
            return nearest[1]
        queue = make()
        self.queues.append((priority, queue))
        self.queues.sort(key=itemgetter(0), reverse=True)
        return queue

    def has_revisits(self) -> bool:
        """True if anything here is fetched again."""
        return bool(self.queues) and self.queues[-1][0] == REVISITS

    def pop(self, at: int = 0) -> bytes | None:
        """The oldest record of the highest priority; at -1 of the last queue, where revisits are."""
        queue = self.queues[at][1]
        record = queue.pop()
        if not queue.count:
            del self.queues[at]
            queue.close()
        return record

    def save(self) -> list[tuple[int, bytes]]:
        """As a host's row has it."""
        return [(priority, queue.save()) for priority, queue in self.queues]


def _side(priority: int) -> int:
    """Above 0, below, or neither."""
    return 2 if priority == REVISITS else int(priority > 0)
