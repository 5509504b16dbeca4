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
    """What the sitemaps of one host have brought, and their share of its turns.

    It is kept with the host's record. A page is *listed* if a sitemap names it, and *linked* if it
    was found on a page. `tried` and `new` have two numbers each: that of linked pages, then that of
    listed ones.
    """

    urls: int = 0  # that they have brought
    full: bool = False  # some were left out: no more sitemaps are requested
    credit: float = 0.0  # parts of turns that listed URLs are owed; at 1 they have one
    tried: list[int] = field(default_factory=lambda: [0, 0])  # pages that were fetched
    new: list[int] = field(default_factory=lambda: [0, 0])  # of these, those with a new body

    def save(self) -> list[object]:
        """Return the fields as the host's row has them, in the order in which they are restored."""
        return [self.urls, self.full, self.credit, self.tried, self.new]

    def grant_urls(self, urls: int, most: int) -> int:
        """Return how many of its `urls` a sitemap may bring, and count them.

        `most`: as many as all sitemaps of the host may bring together.
        """
        taken = max(min(urls, most - self.urls), 0)
        self.urls += taken
        self.full = taken < urls
        return taken

    def share(self) -> float:
        """Return the part of the turns that listed URLs have while others wait, too."""
        if min(self.tried) < MIN_TRIED:
            return 0.5
        # By the part of each kind's pages that were new, with one new and one known page counted
        # in. Squares: of a list with three dead URLs in four, a share like its news would cost a
        # sixth of all turns.
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

    def record_page(self, *, listed: bool, new: bool) -> None:
        """Count a page that is done, and halve its kind's counts after WINDOW of them."""
        self.tried[listed] += 1
        self.new[listed] += new
        if self.tried[listed] >= WINDOW:
            self.tried[listed] //= 2
            self.new[listed] //= 2


# A host with lanes stays one host with one queue and one record. As several hosts (`name#1`,
# `name#2`), budgets, shares, robots.txt and each log would have to know that they are one.
@dataclass(slots=True, eq=False)
class Lanes:
    """The requests that a host with several at once has in flight, and the waits after others.

    At most `most` of both together: a lane is taken by a request, and then by the wait after it. So
    each lane is as polite as a host without any. A host that fails has one lane.
    """

    most: int
    # packed links by URL: none is requested twice at once
    flights: dict[str, Packed] = field(default_factory=dict)
    # the times at which waits are over, ascending; some that are over may still be in it
    rests: list[float] = field(default_factory=list)
    # a request is in flight, or is the next one, beside which there must be no other
    alone: bool = False
    # URLs that were in flight when the host failed: their failures tell nothing new of it
    echoes: set[str] = field(default_factory=set)

    def is_full(self, failures: int) -> bool:
        """Return whether no request may begin before one in flight has ended.

        `failures`: those of the host in a row.
        """
        if not self.flights:
            return False
        return self.alone or len(self.flights) >= self._width(failures)

    def free_at(self, failures: int) -> float:
        """Return the time at which one more request may begin, as far as the waits go.

        0.0 if a lane is free now, or if only requests in flight take the lanes.
        """
        # Only the sum of requests and waits is bounded. So no lane has to be remembered, and `most`
        # may change at any time.
        too_many = len(self.rests) + len(self.flights) - self._width(failures)
        if too_many < 0 or not self.rests:
            return 0.0
        # A lane is free when the waits up to this one, one more than `too_many`, are over.
        return self.rests[min(too_many, len(self.rests) - 1)]

    def begin(self, link: Link) -> None:
        """Note that a link is in flight: a robots.txt without others beside it."""
        self.flights[link.url] = link.pack()
        self.echoes.discard(link.url)
        self.alone = link.is_prerequisite

    def end(self, link: Link) -> None:
        """End the flight of a link. Raise ValueError if it is not in flight."""
        if self.flights.pop(link.url, None) is None:
            raise ValueError(f"this URL was not handed out: {link.url}")
        self.alone = self.alone and bool(self.flights)

    def begin_wait(self, until: float, now: float) -> None:
        """Begin the wait after a request that has ended, and forget the waits that are over."""
        self.rests = [at for at in self.rests if at > now]
        insort(self.rests, until)

    def failed(self) -> None:
        """Note that the host has failed: all that is in flight had begun before."""
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
        """Return the rules of HOST_CONNECTIONS, as a setting or a sheet gives it.

        A number, which only a sheet has, is for all of its hosts. None stands for one request per
        host.
        """
        if isinstance(value, int):
            return cls(others=value)
        return cls(value) if value else None

    def of(self, host: str) -> int:
        """Return how many requests this host may have at once."""
        for name in names_above(host):
            found = self.rules.get(name)
            if found is not None:
                return found
        return self.others


# Queues on each side of 0, whatever priorities a spider thinks of; each is an object of some 150
# bytes in memory.
MAX_PRIORITIES = 16
MAX_PRIORITY = 1 << 31  # priorities beyond are all one
# The priority of URLs that go before the host's queue because they are worth more (front_end.py)
CHOSEN = 1
# In place of a priority, below all others, so that these two queues are the last ones: of pages that
# are fetched again, and of sitemaps and what they name. They take turns with the other queues.
REVISITS = -MAX_PRIORITY - 1
LISTED = -MAX_PRIORITY - 2


class PriorityQueues:
    """The queues of one host's URLs that have a priority, the highest first, as in Scrapy's own
    scheduler.

    None of them is empty for longer than it takes to push a record.
    """

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: list[tuple[int, Fifo]] = []  # by falling priority

    @property
    def count(self) -> int:
        """The number of URLs in all of them."""
        return sum(queue.count for _, queue in self.queues)

    def before(self) -> bool:
        """Return whether the first URL here goes before those without a priority."""
        return bool(self.queues) and self.queues[0][0] > 0

    def queue(self, priority: int, make: Callable[[], Fifo]) -> Fifo:
        """Return the queue of this priority, made by `make` if it is missing.

        If there are MAX_PRIORITIES on its side of 0 already, return that with the nearest priority.
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
        """Return the index of the queue of REVISITS or LISTED, counted from the end: -1 or -2.

        0 if there is none.
        """
        # Only the last two queues are looked at, the last one first.
        for at, (priority, _) in enumerate(self.queues[:-3:-1], 1):
            if priority == kind:
                return -at
        return 0

    def pop(self, at: int = 0) -> bytes | None:
        """Remove and return the oldest record of the queue with this index; 0: the first queue.

        There must be a queue. One that is empty then is closed.
        """
        queue = self.queues[at][1]
        record = queue.pop()
        if not queue.count:
            del self.queues[at]
            queue.close()
        return record

    def save(self) -> list[tuple[int, bytes]]:
        """Return the queues as a host's row has them."""
        return [(priority, queue.save()) for priority, queue in self.queues]


def _side(priority: int) -> int:
    """Return the same number for priorities that may share a queue: 1 above 0, 0 below it.

    REVISITS and LISTED have a queue each.
    """
    return priority if priority <= REVISITS else int(priority > 0)
