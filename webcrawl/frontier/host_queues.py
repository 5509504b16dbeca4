"""The parts that a host's record may have: queues by priority, turns of sitemaps, and lanes.

What a host's sitemaps bring and what its pages link to have the same share of the host's turns
until one of them proves better at finding new pages. Lanes limit how many requests a host may have
at once (HOST_CONNECTIONS). docs/frontier-inside.md has the rules.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from webcrawl.base.model import Link, Packed
from webcrawl.frontier.fifo import Fifo
from webcrawl.urls.host_names import names_above

# URLs from a host's sitemaps, for each domain that links to its own: as many as sitemaps.org lets
# one file have.
MAX_LISTED = 50_000
MIN_TRIED = 4  # pages of each kind, from which on their news decide
WINDOW = 64  # pages of one kind, after which the older ones count half
MIN_TURNS = 1 / 16  # of the turns, for either: nothing starves, and who gets better is noticed


@dataclass(slots=True)
class SitemapQuota:
    """The sitemaps of one host: kept with its record.

    Of the two numbers one is of linked pages, one of listed ones.
    """

    urls: int = 0  # that they have brought
    full: bool = False  # some were left out: no more sitemaps are asked for
    credit: float = 0.0  # turns that they are owed
    tried: list[int] = field(default_factory=lambda: [0, 0])  # pages
    new: list[int] = field(default_factory=lambda: [0, 0])  # of these, those that were

    def save(self) -> list[object]:
        """Return it as the host's row has it."""
        return [self.urls, self.full, self.credit, self.tried, self.new]

    def take(self, urls: int, most: int) -> int:
        """Return how many of its URLs a sitemap may bring if all may bring `most`."""
        taken = max(min(urls, most - self.urls), 0)
        self.urls += taken
        self.full = taken < urls
        return taken

    def share(self) -> float:
        """Return the part of the turns that listed URLs have while others wait, too."""
        if min(self.tried) < MIN_TRIED:
            return 0.5
        # Squares: of a list with three dead URLs in four, a share like its news would cost a sixth
        # of all turns.
        linked, listed = (
            ((new + 1) / (tried + 2)) ** 2 for new, tried in zip(self.new, self.tried, strict=True)
        )
        return min(max(listed / (linked + listed), MIN_TURNS), 1 - MIN_TURNS)

    def has_turn(self) -> bool:
        """Return whether the next turn is a listed URL's, and count it."""
        self.credit += self.share()
        if self.credit < 1.0:
            return False
        self.credit -= 1.0
        return True

    def learn(self, *, listed: bool, new: bool) -> None:
        """Count a page that is done."""
        self.tried[listed] += 1
        self.new[listed] += new
        if self.tried[listed] >= WINDOW:
            self.tried[listed] //= 2
            self.new[listed] //= 2


# A host with lanes stays one host with one queue and one record. As several hosts (`name#1`,
# `name#2`), budgets, shares, robots.txt and each log would have to know that they are one.
@dataclass(slots=True, eq=False)
class Lanes:
    """At any time at most `most` requests are in flight or were and have their wait not over.

    So each of as many lanes is as polite as a host without any. While the host fails it has one of
    them.
    """

    most: int
    # by URL: none is asked for twice at once
    flights: dict[str, Packed] = field(default_factory=dict)
    # when the waits are over, in order; those that are may be missing
    rests: list[float] = field(default_factory=list)
    alone: bool = False  # one is in flight, or is to be the next, that has no others beside it
    # were in flight when the host failed: they tell nothing new of it
    echoes: set[str] = field(default_factory=set)

    def is_full(self, failures: int) -> bool:
        """Return whether none may begin before another one has ended."""
        if not self.flights:
            return False
        return self.alone or len(self.flights) >= self._width(failures)

    def free_at(self, failures: int) -> float:
        """Return the time at which one more may begin, as far as the waits go."""
        # all rests up to this one must be over
        # Only the sum is bounded. So no lane has to be remembered, and `most` may change at any
        # time.
        more = len(self.rests) + len(self.flights) - self._width(failures)
        if more < 0 or not self.rests:
            return 0.0
        return self.rests[min(more, len(self.rests) - 1)]

    def begin(self, link: Link) -> None:
        self.flights[link.url] = link.pack()
        self.echoes.discard(link.url)
        self.alone = link.is_prerequisite

    def end(self, link: Link) -> None:
        """ValueError if the link is not in flight."""
        if self.flights.pop(link.url, None) is None:
            raise ValueError(f"this URL was not handed out: {link.url}")
        self.alone = self.alone and bool(self.flights)

    def rest(self, until: float, now: float) -> None:
        """Begin the wait of a request that has ended."""
        self.rests = [at for at in self.rests if at > now]
        insort(self.rests, until)

    def failed(self) -> None:
        """Note that the host has failed: what is in flight had begun before."""
        self.echoes = set(self.flights)

    def is_news(self, link: Link) -> bool:
        """Return whether a failure of this link says something of the host that the last one did
        not.
        """
        return link.url not in self.echoes

    def _width(self, failures: int) -> int:
        return 1 if failures else self.most


@dataclass(frozen=True, slots=True)
class Connections:
    """A rule is for a name and all names below it; of several the most specific one holds."""

    rules: Mapping[str, int] = field(default_factory=dict)
    others: int = 1  # of hosts without a rule

    @classmethod
    def given(cls, value: Mapping[str, int] | int) -> Connections | None:
        """By the setting, or by what a sheet has of it: a number for all of its hosts.

        None: one for every host.
        """
        if isinstance(value, int):
            return cls(others=value)
        return cls(value) if value else None

    def of(self, host: str) -> int:
        """So many for this host."""
        for name in names_above(host):
            found = self.rules.get(name)
            if found is not None:
                return found
        return self.others


# Queues on each side of 0, whatever priorities a spider thinks of; each is an object of some 150
# bytes in memory.
MAX_PRIORITIES = 16
MAX_PRIORITY = 1 << 31  # priorities beyond are all one
CHOSEN = 1  # of what goes before the host's queue because it is worth more (front_end.py)
# of the queue of what is fetched again, which has no priority: the two take turns
REVISITS = -MAX_PRIORITY - 1
LISTED = -MAX_PRIORITY - 2  # likewise of sitemaps and what they name


class PriorityQueues:
    """The queues of one host's URLs that have a priority, the highest first, as in Scrapy's own
    scheduler.

    None of them is empty for longer than it takes to push a record.
    """

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: list[tuple[int, Fifo]] = []

    @property
    def count(self) -> int:
        return sum(queue.count for _, queue in self.queues)

    def before(self) -> bool:
        """Return whether the first URL here goes before those without a priority."""
        return bool(self.queues) and self.queues[0][0] > 0

    def queue(self, priority: int, make: Callable[[], Fifo]) -> Fifo:
        """Return the queue of this priority, made if it is missing.

        If there are MOST of them, it is the nearest one.
        """
        if priority > REVISITS:
            priority = max(min(priority, MAX_PRIORITY), -MAX_PRIORITY)
        side = [one for one in self.queues if _side(one[0]) == _side(priority)]
        nearest = min(side, key=lambda one: abs(one[0] - priority), default=None)
        is_full = len(side) >= MAX_PRIORITIES
        if nearest is not None and (is_full or nearest[0] == priority):
            return nearest[1]
        queue = make()
        self.queues.append((priority, queue))
        self.queues.sort(key=itemgetter(0), reverse=True)
        return queue

    def place(self, kind: int) -> int:
        """Return the place of the queue of REVISITS or LISTED, counted from the end.

        0 if there is none.
        """
        for at, (priority, _) in enumerate(self.queues[:-3:-1], 1):
            if priority == kind:
                return -at
        return 0

    def pop(self, at: int = 0) -> bytes | None:
        """Return the oldest record of the highest priority, or of the queue at another place."""
        queue = self.queues[at][1]
        record = queue.pop()
        if not queue.count:
            del self.queues[at]
            queue.close()
        return record

    def save(self) -> list[tuple[int, bytes]]:
        """Return it as a host's row has it."""
        return [(priority, queue.save()) for priority, queue in self.queues]


def _side(priority: int) -> int:
    """Above 0, below, or one of its own."""
    return priority if priority <= REVISITS else int(priority > 0)
