"""The URLs of one host that have a priority: one FIFO queue per priority, as in Scrapy's own scheduler."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from webcrawl.frontier.fifo import Fifo

# Queues on each side of 0, whatever priorities a spider thinks of; each is an object of some 150 bytes in memory.
MOST = 16
LARGEST = 1 << 31  # priorities beyond are all one


class Ranked:
    """The queues, the highest priority first; none of them is empty for longer than it takes to push a record."""

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: list[tuple[int, Fifo]] = []

    def __repr__(self) -> str:
        return f"<Ranked {[(priority, queue.count) for priority, queue in self.queues]}>"

    @property
    def count(self) -> int:
        return sum(queue.count for _, queue in self.queues)

    def before(self) -> bool:
        """Whether the first URL here goes before those without a priority."""
        return bool(self.queues) and self.queues[0][0] > 0

    def queue(self, priority: int, make: Callable[[], Fifo]) -> Fifo:
        """The queue of this priority, made if it is missing; beyond MOST of them the nearest one."""
        priority = max(min(priority, LARGEST), -LARGEST)
        side = [one for one in self.queues if (one[0] > 0) is (priority > 0)]
        nearest = min(side, key=lambda one: abs(one[0] - priority), default=None)
        if nearest is not None and (nearest[0] == priority or len(side) >= MOST):
            return nearest[1]
        queue = make()
        self.queues.append((priority, queue))
        self.queues.sort(key=itemgetter(0), reverse=True)
        return queue

    def pop(self) -> bytes | None:
        """The oldest record of the highest priority."""
        queue = self.queues[0][1]
        record = queue.pop()
        if not queue.count:
            del self.queues[0]
            queue.close()
        return record

    def save(self) -> list[tuple[int, bytes]]:
        """As a host's row has it."""
        return [(priority, queue.save()) for priority, queue in self.queues]
