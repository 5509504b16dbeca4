"""Random walks on graphs, through the frontier of walks under a simulated clock, or by the walkers
alone.
"""

from collections import Counter, defaultdict
from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np

from webcrawl.base.model import Link, Outcome, pack_found
from webcrawl.base.url_text import host_of
from webcrawl.frontier.allowances.unlimited import Unlimited
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Hooks, Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.lab.studies.link_graph import pagerank
from webcrawl.lab.walks.spider import WalkFrontier
from webcrawl.lab.walks.walkers import Walkers, WalkRules

KEY = bytes(16)


class Line(NamedTuple):
    """A line of walk.log."""

    time: float
    walker: int
    step: int
    url: str
    how: str
    degree: int
    status: int


def lines(written):
    """Return the lines that these bytes of a log have."""
    rows = (line.split("\t") for line in b"".join(written).decode().splitlines())
    kinds = (float, int, int, str, str, int, int)
    return [Line(*(kind(value) for kind, value in zip(kinds, row, strict=True))) for row in rows]


class Walk:
    """A walk on a graph under a simulated clock.

    `links` has the URLs to which each URL links, and `statuses` those of URLs that do not answer
    200. A host waits a second after each download, which takes a tenth.
    """

    def __init__(self, db, rules, links, statuses=None, *, seeds=None, seed=1, now=0.0, **hooks):
        """Open the walk as of the last checkpoint of its database."""
        self.db, self.links, self.statuses, self.now = db, links, statuses or {}, now
        self.log = []
        self.requested = []  # (time, URL)
        known = db.get("walk") is not None
        self.walkers = Walkers(db, rules, Random(seed), KEY, self.log.append, lambda: self.now)
        self.frontier = open_frontier(
            db,
            Shape(3, 2.0, 1 << 20),
            Rules(
                ByDepth(3),
                Mercator(10, 1, 300),
                Limits(queues=50, max_queues=100, patience=0),
                str,
                Unlimited(),
            ),
            Hooks(**hooks),
            random=Random(seed),
            now=now,
            kind=lambda *args, **more: WalkFrontier(*args, **more, walkers=self.walkers),
        )
        if not known:
            self.frontier.add(
                [Link(url, seed=url).pack() for url in (links if seeds is None else seeds)]
            )

    def take(self):
        """Return the next link as soon as there is one, or None if there never will be."""
        while (link := self.frontier.take(self.now)) is None:
            ready = self.frontier.next_ready()
            if ready is None:
                return None
            self.now = max(self.now + 1e-6, ready)
        self.requested.append((self.now, link.url))
        return link

    def answer(self, link):
        """End the download of a link."""
        status = self.statuses.get(link.url, 200)
        found = self.links.get(link.url, ()) if 200 <= status < 400 else ()
        redirect = 300 <= status < 400
        if found:
            records = pack_found(link, found, "R" if redirect else "L")
            self.frontier.found(link, records, redirect=redirect)
        self.frontier.done(link, Outcome(status, 0.1), self.now + 0.1)

    def run(self, visits):
        """Fetch until the log has so many lines, and return them."""
        while len(self.log) < visits and (link := self.take()) is not None:
            self.answer(link)
        return lines(self.log)

    @property
    def places(self):
        """Return how many walkers are somewhere, or about to be placed."""
        return (
            self.frontier.queued
            + self.frontier.in_flight
            + len(self.walkers._waiting)
            + len(self.walkers._finished)
        )


def impolite(requested, wait=1.1):
    """Return requests to one host that are closer to each other than `wait` seconds."""
    last = {}
    found = []
    for at, url in requested:
        host = host_of(url)
        if at - last.get(host, -1e9) < wait - 1e-6:
            found.append((last[host], at, url))
        last[host] = at
    return found


def walked(db, links, visits, *, walkers=100, restart=1 / 7, jump="seeds", seed=1):
    """Return the log of walkers who get every page at once."""
    log = []
    rules = WalkRules(walkers, restart, jump, visits)
    walk = Walkers(db, rules, Random(seed), KEY, log.append, lambda: 0.0)
    walk.starts.add(links)
    records = {url: pack_found(Link(url), found, "L") for url, found in links.items()}
    at = []
    while not walk.has_ended():
        at = at or [*walk.place_waiting(0.0)]
        link = at.pop(0)
        walk.choose_link(link, records.get(link.url, ()), redirect=False)
        following = walk.leave(link, 200)
        at += [following] if following is not None else walk.place_waiting(0.0)
    return log


def ends_of_lives(found):
    """Return the pages from which walkers restarted.

    Whether one does is decided anew at each page, so lives are independent, of geometric length.
    And the last page of a life that begins at a uniformly random page is distributed exactly as
    PageRank.
    """
    by_walker = defaultdict(list)
    for line in found:
        by_walker[line.walker].append(line)
    return [
        before.url
        for some in by_walker.values()
        for before, after in pairwise(some)
        if after.how == "restart"
    ]


def ranks(links, restart=1 / 7):
    """Return the PageRank of each page, by power iteration."""
    numbers = {url: number for number, url in enumerate(links)}
    heads = np.array([numbers[url] for url, found in links.items() for _ in found], np.int64)
    tails = np.array([numbers[link] for found in links.values() for link in found], np.int64)
    return dict(zip(numbers, pagerank(heads, tails, len(numbers), 1 - restart), strict=True))


def variation(pages, expected):
    """Return the total-variation distance of these pages' shares from the expected ones."""
    counts = Counter(pages)
    return sum(abs(counts[page] / len(pages) - share) for page, share in expected.items()) / 2


def bound(draws, expected):
    """Return what `variation` of so many independent draws exceeds once in a thousand times at
    most.

    Its mean is bounded by the standard deviation of each share, and McDiarmid's inequality bounds
    what is beyond.
    """
    mean = sum((share * (1 - share) / draws) ** 0.5 for share in expected.values()) / 2
    return mean + (np.log(1000) / (2 * draws)) ** 0.5


def chi_square(pages, expected, least=10):
    """Return how many standard deviations chi-square is above its mean.

    This is Wilson and Hilferty's approximation. Pages of which fewer are expected than `least` are
    put together, by their ranks.
    """
    counts = Counter(pages)
    total = degrees = 0.0
    seen = hoped = 0.0
    for page, share in sorted(expected.items(), key=lambda one: one[1]):
        seen += counts[page]
        hoped += share * len(pages)
        if hoped >= least:
            total += (seen - hoped) ** 2 / hoped
            degrees += 1
            seen = hoped = 0.0
    degrees -= 1  # what is left over is less than one group, and left out
    return ((total / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / (2 / (9 * degrees)) ** 0.5


def copied(pages, degree=5, seed=1):
    """Return a graph like the web.

    Half of the links of a page are those of an earlier page, the others are random.
    """
    random = Random(seed)
    found = [[] for _ in range(pages)]
    for page in range(pages):
        for place in range(random.randrange(2 * degree) if page > degree else degree):
            model = found[random.randrange(page)] if page else []
            is_copied = place < len(model) and random.random() < 0.5
            found[page].append(model[place] if is_copied else random.randrange(pages))
    return {
        f"http://h/{page}": [f"http://h/{link}" for link in dict.fromkeys(some)]
        for page, some in enumerate(found)
    }
