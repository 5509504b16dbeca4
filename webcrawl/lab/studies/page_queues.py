"""Queues of pages that wait for their turn: one in exact order, in the front-end's levels, or as a
crawl has them.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from random import Random
from typing import Protocol

from webcrawl.frontier.front_end import Sift
from webcrawl.lab.studies.page_signals import DomainVotes, Signal

# Entries of a heap per waiting page; with more, the outdated ones are removed
MAX_ENTRIES_PER_PAGE = 4
# Pages that go from the front-end to their hosts' queues while one more host is looked for
MOVES_PER_REFILL = 1000


class PageQueue(Protocol):
    """A queue to which each page is added once, and from which it is popped once."""

    def add(self, pages: Iterable[int]) -> None: ...

    def update(self, pages: Sequence[int] | None) -> None:
        """Move pages whose numbers have changed: these, or all if None."""

    def pop(self) -> int | None:
        """Remove and return the page whose turn it is, or return None if no page waits."""


class ExactQueue:
    """Pops the page with the largest number; of equals, the one that this crawl found first."""

    def __init__(self, pages: int, signal: Signal) -> None:
        self._signal = signal
        self._found = array("q")  # the pages in the order in which they were found
        self._place = array("q", bytes(8 * pages))  # of each page among these
        # Entries of a number and the place of a page. A page whose number has changed since has a
        # better entry, too
        self._heap: list[tuple[float, int]] = []
        self._waits = bytearray(pages)
        self._count = 0

    def add(self, pages: Iterable[int]) -> None:
        for page in pages:
            self._waits[page] = 1
            self._count += 1
            self._place[page] = len(self._found)
            self._found.append(page)
            self._push_entry(page)

    def _push_entry(self, page: int) -> None:
        # A heap has the smallest on top
        heappush(self._heap, (-self._signal.values[page], self._place[page]))

    def update(self, pages: Sequence[int] | None) -> None:
        """Push better entries for these pages, or build the heap anew."""
        if pages is None or len(self._heap) > MAX_ENTRIES_PER_PAGE * self._count + 1000:
            values, place = self._signal.values, self._place
            self._heap = [
                (-values[page], place[page]) for page, waits in enumerate(self._waits) if waits
            ]
            heapify(self._heap)
            return
        for page in pages:
            if self._waits[page]:
                self._push_entry(page)

    def pop(self) -> int | None:
        while self._heap:
            page = self._found[heappop(self._heap)[1]]
            if self._waits[page]:
                self._waits[page] = 0
                self._count -= 1
                return page
        return None


class DomainQueue:
    """Pops the first page of the domain with the most votes.

    So whatever raises a domain raises all its pages.
    """

    def __init__(self, domains: Sequence[int], votes: DomainVotes) -> None:
        self._domains = domains
        self._votes = votes
        # of each domain, its pages and their places among all pages that were found
        self._queues: dict[int, deque[tuple[int, int]]] = {}
        self._heap: list[tuple[int, int, int]] = []  # votes, place of the first page, domain
        self._count = 0

    def _push_entry(self, domain: int) -> None:
        heappush(self._heap, (-self._votes.of_domain(domain), self._queues[domain][0][0], domain))

    def add(self, pages: Iterable[int]) -> None:
        for page in pages:
            domain = self._domains[page]
            if domain not in self._queues:
                self._queues[domain] = deque()
            self._queues[domain].append((self._count, page))
            self._count += 1
            if len(self._queues[domain]) == 1:
                self._push_entry(domain)

    def update(self, pages: Sequence[int] | None) -> None:
        for domain in {self._domains[page] for page in pages or ()}:
            if self._queues.get(domain):
                self._push_entry(domain)

    def pop(self) -> int | None:
        """Remove and return the page whose turn it is, or return None if no page waits."""
        while self._heap:
            votes, first, domain = heappop(self._heap)
            queue = self._queues[domain]
            # An outdated entry: the domain has got votes, or its first page was popped
            has_first = bool(queue) and queue[0][0] == first
            if not has_first or -votes != self._votes.of_domain(domain):
                continue
            _, page = queue.popleft()
            if queue:
                self._push_entry(domain)
            return page
        return None


class RandomQueue:
    """Each page that waits has the same chance."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._pages = list[int]()

    def add(self, pages: Iterable[int]) -> None:
        self._pages += pages

    def update(self, pages: Sequence[int] | None) -> None:
        """Do nothing: all pages have the same chance."""

    def pop(self) -> int | None:
        if not self._pages:
            return None
        at = self._random.randrange(len(self._pages))
        # The last one takes its place, so no others have to move
        self._pages[at], self._pages[-1] = self._pages[-1], self._pages[at]
        return self._pages.pop()


class FifoQueue:
    """A queue of pages in the order in which they came. `count` says how many wait."""

    __slots__ = ("_pages", "count")

    def __init__(self) -> None:
        self._pages: deque[int] = deque()
        self.count = 0

    def push(self, page: int) -> None:
        self._pages.append(page)
        self.count += 1

    def pop(self) -> int | None:
        if not self.count:
            return None
        self.count -= 1
        return self._pages.popleft()


class LevelQueue:
    """Mercator's front-end: FIFO queues, each drawn `bias` times as often as the next.

    With `moving`, a page goes to a better level as soon as its number says so. Otherwise it stays
    in the level in which it came.
    """

    def __init__(
        self,
        pages: int,
        signal: Signal,
        levels: int,
        bias: float,
        random: Random,
        *,
        moving: bool = True,
    ) -> None:
        """Create the queue of a graph with so many pages; the class describes the rest."""
        self._signal = signal
        self._last = levels - 1
        self._moving = moving
        # They also have entries of pages that have moved to a better level since
        self._queues = [FifoQueue() for _ in range(levels)]
        self._weights = [bias**-level for level in range(levels)]
        self._random = random.random
        self._level = [-1] * pages  # of each page; -1 if it does not wait

    def add(self, pages: Iterable[int]) -> None:
        for page in pages:
            self._push(page, self._signal.level(page, self._last))

    def _push(self, page: int, level: int) -> None:
        self._level[page] = level
        self._queues[level].push(page)

    def update(self, pages: Sequence[int] | None) -> None:
        """Push these pages, or all, to better levels if their numbers say so."""
        # A crawl gives the level when a page is found, and the page stays there
        if not self._moving:
            return
        for page in range(len(self._level)) if pages is None else pages:
            if self._level[page] <= 0:  # it does not wait, or waits at the best level
                continue
            level = self._signal.level(page, self._last)
            if level < self._level[page]:
                self._push(page, level)

    def pop(self) -> int | None:
        while (level := self._draw()) is not None:
            page = self._queues[level].pop()
            if page is not None and self._level[page] == level:
                self._level[page] = -1
                return page
            # else it has moved on to a better level
        return None

    def _draw(self) -> int | None:
        """Return one of the levels that have entries, by their weights; None if there is none."""
        filled = [level for level, queue in enumerate(self._queues) if queue.count]
        if not filled:
            return None
        bounds = [*accumulate(self._weights[level] for level in filled)]
        place = self._random() * bounds[-1]
        return next(level for level, bound in zip(filled, bounds, strict=True) if place <= bound)


class SiftedQueue:
    """A queue whose best pages are chosen and popped first.

    `choose` chooses anew when no chosen page is left.
    """

    def __init__(self, sift: Sift[int]) -> None:
        self._sift = sift
        self._queue = FifoQueue()
        self._chosen = FifoQueue()

    @property
    def count(self) -> int:
        return self._queue.count + self._chosen.count

    def push(self, page: int) -> None:
        self._queue.push(page)

    def choose(self) -> None:
        if not self._chosen.count and self._queue.count > 1:
            self._sift.choose(self._queue, self._chosen)

    def pop(self) -> int | None:
        return self._chosen.pop() if self._chosen.count else self._queue.pop()


class PoliteQueue:
    """The queues of a polite crawl: pages go from a front-end to queues of hosts, which take turns.

    `width` hosts take turns at a time. When one has no pages left, pages leave the front-end until
    another host comes in.
    """

    def __init__(
        self, front: PageQueue, hosts: Sequence[int], width: int, sift: Sift[int] | None
    ) -> None:
        """Create the queues; `hosts` has the host of each page.

        Without a `sift`, pages wait in their hosts' queues in the order in which they came.
        """
        self._front = front
        self._hosts = hosts
        self._width = width
        self._sift = sift
        self._queues: dict[int, FifoQueue | SiftedQueue] = {}
        self._turns: deque[int] = deque()
        self.add = front.add
        self.update = front.update

    def _refill(self) -> bool:
        """Move pages from the front-end to queues of hosts. Return whether a new host came in."""
        if isinstance(self._front, SiftedFrontEnd):
            self._front.choose()
        for _ in range(MOVES_PER_REFILL):
            page = self._front.pop()
            if page is None:
                break
            host = self._hosts[page]
            queue = self._queues.get(host)
            if queue is not None:
                queue.push(page)
                continue
            self._queues[host] = queue = (
                FifoQueue() if self._sift is None else SiftedQueue(self._sift)
            )
            queue.push(page)
            self._turns.append(host)
            return True
        return False

    def pop(self) -> int | None:
        """Remove and return a page of the host whose turn it is, or return None if no page waits."""
        while len(self._turns) < self._width and self._refill():
            pass
        if not self._turns:
            return None
        host = self._turns.popleft()
        queue = self._queues[host]
        if isinstance(queue, SiftedQueue):
            queue.choose()
        page = queue.pop()
        if queue.count:
            self._turns.append(host)
        else:
            del self._queues[host]
        return page


class SiftedFrontEnd:
    """The front-end of a crawl that sifts: pages queue in order, and the best of the next are chosen."""

    def __init__(self, sift: Sift[int]) -> None:
        self._queue = SiftedQueue(sift)
        self.choose = self._queue.choose

    def add(self, pages: Iterable[int]) -> None:
        for page in pages:
            self._queue.push(page)

    def update(self, pages: Sequence[int] | None) -> None:
        """Do nothing: numbers count at the time when pages are chosen."""

    def pop(self) -> int | None:
        return self._queue.pop()
