"""The front-end: k FIFO queues, one per level, and a random chooser biased to the first ones.

A URL enters a queue once, and what is known of it changes while it waits. Nothing is moved when
that changes; where the order can change, a queue is read at its head, and what is not chosen goes
to its end (docs/decisions/frontier-order.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from operator import index
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from webcrawl.base.model import unpack, url_of, way_of
from webcrawl.base.own_code import checked, real
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.prioritizers import Choosing, Prioritizer, goes_by_way

# The best of the next eight, without a queue of the chosen, had three quarters of the gain.
AT_ONCE = 64  # records looked at together
ONE_IN = 8  # of them is chosen: what it costs is so many looks per URL

T = TypeVar("T")


class SiftableQueue(Protocol[T]):
    """A queue that can be sifted: a `Fifo`, or anything like it."""

    count: int

    def pop(self) -> T | None: ...

    def push(self, record: T, /) -> None: ...


class Sift(Generic[T]):
    """Chooses the best of a queue's next records, by a function that says what each is worth."""

    def __init__(self, worth: Callable[[T], float]) -> None:
        self._worth = worth

    def choose(self, queue: SiftableQueue[T], chosen: SiftableQueue[T]) -> None:
        """Move the best of the next records to another queue, in the order of their worth.

        Of equals the older one goes first.
        """
        records: list[T] = []
        for _ in range(min(AT_ONCE, queue.count)):
            record = queue.pop()
            if record is not None:
                records.append(record)
        worth = [self._worth(record) for record in records]
        # indexes of the records, by worth; sorting is stable
        order = sorted(range(len(records)), key=worth.__getitem__, reverse=True)
        best = max(len(records) // ONE_IN, 1)
        # Chosen ones are in another queue, and the rest at the end of the same: a URL is in one
        # queue at any time, so that none is fetched twice or lost.
        for at in order[:best]:
            chosen.push(records[at])
        for at in sorted(order[best:]):  # in the order in which they came
            queue.push(records[at])


class FrontEnd:
    """Mercator 3.1: within a level URLs keep their order.

    The chooser divides the turns among levels.
    """

    def __init__(
        self,
        queues: Sequence[Fifo],
        bias: float,
        random: Random,
        prioritizer: Prioritizer,
        old: Fifo | None = None,
    ) -> None:
        """`prioritizer` says at which level a link enters, and which of those that wait go first.

        `old`: a level of its own for what is fetched again; it has the part `share` of all turns.
        """
        self.queues = list(queues)
        self.last = len(self.queues) - 1
        self.old = old  # the queue of what is fetched again
        self.share = 0.5  # of all turns: that of `old` while anything else waits
        level = f"a whole number from 0 to {self.last}"
        self._level = checked("FRONTIER_PRIORITIZER", prioritizer.level, self._sound_level, level)
        # Links for which this function returns the same have the same level. None: each has its own.
        self._alike = way_of if goes_by_way(prioritizer) else None
        self.sift: Sift[bytes] | None = None  # chooses from the last level for the first
        if isinstance(prioritizer, Choosing):
            worth = checked("FRONTIER_PRIORITIZER", prioritizer.worth, real, "a number")
            self.sift = Sift(lambda record: worth(url_of(record)))
        # The generator has RANDOM_SEED and is part of each checkpoint, so a run can be repeated.
        self._random = random.random
        self.filled: list[Fifo] = []  # the queues that are not empty
        # of these queues, the sums of the weights up to each: a random number below the last one
        # falls into the part of one queue
        self._bounds: list[float] = []
        self._weights = [bias**-level for level in range(len(self.queues))]
        self._survey()

    def _sound_level(self, found: Any) -> int:
        """Return a level that there is.

        Raise TypeError or ValueError for anything else: -1 would be the last one.
        """
        level = index(found)
        if not 0 <= level <= self.last:
            raise ValueError
        return level

    def __len__(self) -> int:
        return sum(map(len, self.filled))

    def _survey(self) -> None:
        """Update the list of non-empty queues and their chances.

        Needed only when a queue fills or empties.
        """
        filled = [
            (queue, weight)
            for queue, weight in zip(self.queues, self._weights, strict=True)
            if len(queue)
        ]
        if self.old is not None and self.old.count:
            # With this weight a turn is `old`'s with the chance `share`, whatever else waits.
            new = sum(weight for _, weight in filled) or 1.0
            filled.append((self.old, new * self.share / (1.0 - self.share)))
        self.filled = [queue for queue, _ in filled]
        self._bounds = list(accumulate(weight for _, weight in filled))

    def add(self, records: Iterable[bytes]) -> int:
        """Put each link at the level that prioritizer and priority give it, and return how many
        there were.
        """
        count = 0
        # Records in a row that are alike enter together, at the level of the first one.
        for _, found in groupby(records, self._alike):
            run = [*found]
            count += len(run)
            link = unpack(run[0])
            if link.history and self.old is not None and link.is_revisit:
                for record in run:
                    self.push_old(record)
                continue
            level = self._level(link)
            # Only an ordinary Scrapy request has a priority.
            if link.request:
                level = min(max(level - link.priority, 0), self.last)
            self.push(level, run)
        return count

    def push(self, level: int, records: Sequence[bytes]) -> None:
        """Append records to the queue of this level."""
        queue = self.queues[level]
        was_empty = not queue.count
        queue.push_all(records)
        if was_empty:
            self._survey()

    def choose(self) -> None:
        """Move the best of what is next in the last level to the first level, if that is empty."""
        if self.sift is None or self.queues[0].count:
            return
        # A link has its level when it is found, and later links to it end in the seen store. Then
        # each URL has one link, so in-degree and cash can order only URLs that wait.
        filled = [queue for queue in self.queues[1:] if queue.count]
        if filled and filled[-1].count > 1:
            self.sift.choose(filled[-1], self.queues[0])
            self._survey()

    def set_revisit_share(self, share: float) -> None:
        """Give this part of all turns to what is fetched again, while there is anything else."""
        self.share = share
        self._survey()

    def old_goes_first(self) -> bool:
        """Return whether what is fetched again has this turn, while other URLs wait too."""
        return self._random() < self.share

    def push_old(self, record: bytes) -> None:
        """Append a URL that is fetched again. Raise ValueError if this frontier does not do that."""
        if self.old is None:
            raise ValueError("this frontier does not fetch pages again")
        self.old.push(record)
        if self.old.count == 1:
            self._survey()

    def pop_old(self) -> bytes | None:
        """Remove and return the first URL that is fetched again, or None."""
        if self.old is None:
            return None
        record = self.old.pop()
        if record is not None and not self.old.count:
            self._survey()
        return record

    def pop(self) -> bytes | None:
        """Pop from a level picked at random: each level is `bias` times as likely as the next.

        None if nothing waits.
        """
        if not self.filled:
            return None
        queue = self.filled[bisect_left(self._bounds, self._random() * self._bounds[-1])]
        record = queue.pop()
        if not queue.count:
            self._survey()
        return record
