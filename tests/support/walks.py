"""Random walks on graphs that tests make, through the frontier of walks, under a simulated clock."""

from collections import Counter
from random import Random
from typing import NamedTuple

from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.parts import Hooks, Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.frontier.walk import WalkFrontier
from webcrawl.frontier.walkers import Walkers
from webcrawl.model import Link, Outcome, pack_found
from webcrawl.urls.hosts import host_of

KEY = bytes(16)


class Line(NamedTuple):
    """One of walk.log."""

    time: float
    walker: int
    step: int
    url: str
    how: str
    degree: int
    status: int


def lines(written):
    """What these bytes of a log say."""
    rows = (line.split("\t") for line in b"".join(written).decode().splitlines())
    kinds = (float, int, int, str, str, int, int)
    return [Line(*(kind(value) for kind, value in zip(kinds, row, strict=True))) for row in rows]


class Walk:
    """Walkers on `links`, a mapping of URLs to those that they link to; `statuses` are of others than 200.

    A host waits a second after each download, which takes a tenth.
    """

    def __init__(self, db, rules, links, statuses=None, *, seeds=None, seed=1, now=0.0, **hooks):
        self.db, self.links, self.statuses, self.now = db, links, statuses or {}, now
        self.log = []
        self.asked = []  # (time, URL)
        known = db.get("walk") is not None
        self.walkers = Walkers(db, rules, Random(seed), KEY, self.log.append, lambda: self.now)
        self.frontier = open_frontier(
            db,
            Shape(3, 2.0, 1 << 20),
            Rules(ByDepth(3), Mercator(10, 1, 300), Limits(queues=50, max_queues=100, patience=0), str, Unlimited()),
            Hooks(**hooks),
            random=Random(seed),
            now=now,
            kind=lambda *args, **more: WalkFrontier(*args, **more, walkers=self.walkers),
        )
        if not known:
            self.frontier.add([Link(url, seed=url).pack() for url in (links if seeds is None else seeds)])

    def take(self):
        """The next link, as soon as there is one; None if there never will be."""
        while (link := self.frontier.take(self.now)) is None:
            ready = self.frontier.next_ready()
            if ready is None:
                return None
            self.now = max(self.now + 1e-6, ready)
        self.asked.append((self.now, link.url))
        return link

    def answer(self, link):
        """The download of a link ends."""
        status = self.statuses.get(link.url, 200)
        found = self.links.get(link.url, ()) if 200 <= status < 400 else ()
        redirect = 300 <= status < 400
        if found:
            records = pack_found(link, [(url, "R" if redirect else "L") for url in found])
            self.frontier.found(link, records, redirect=redirect)
        self.frontier.done(link, Outcome(status, 0.1), self.now + 0.1)

    def run(self, visits):
        """Fetches until there are so many lines; returns them."""
        while len(self.log) < visits and (link := self.take()) is not None:
            self.answer(link)
        return lines(self.log)

    @property
    def places(self):
        """How many walkers are somewhere, or about to be placed."""
        return self.frontier.queued + self.frontier.in_flight + len(self.walkers._idle)


def impolite(asked, wait=1.1):
    """Pairs of requests to one host that are closer to each other than this."""
    last = {}
    found = []
    for at, url in asked:
        host = host_of(url)
        if at - last.get(host, -1e9) < wait - 1e-6:
            found.append((last[host], at, url))
        last[host] = at
    return found


def shares(found):
    """The part of each page in the visits that these lines tell of."""
    counts = Counter(line.url for line in found if line.status == 200)
    total = sum(counts.values())
    return {url: count / total for url, count in counts.items()}
