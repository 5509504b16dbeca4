"""Folded URLs of small sites are fetched while other hosts fail or drip; time is simulated."""

from collections import Counter
from heapq import heappop, heappush
from itertools import count

import pytest

from benchmarks.support import zoo
from tests.support.frontiers import make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier import budgets
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.politeness.mercator import Mercator

PAGES = 400  # of a good host
SMALL = 300  # of which so many are fetched, although their like brought nothing new
REFUSED, DRIPPING = Outcome(Status.CONNECT_FAILED, 0.01), Outcome(Status.TIMEOUT, 180.0)


class Crawl:
    """Good hosts whose pages differ in a number only, and bad ones; downloads last as long as their
    outcomes say.
    """

    def __init__(self, db, bad, slots=16):
        limits = Limits(queues=3 * slots, max_queues=1000, fetchers=slots)
        self.frontier = make(
            db,
            limits,
            domain=zoo.domain_of,
            memory=64 << 20,
            politeness=Mercator(0, 0.02, 300),
            allowance=ByReputation(1000),
            folds=True,
        )
        self.bad, self.slots, self.now, self.pages = bad, slots, 0.0, 0
        self.turns, self.running, self.seen = count(), [], set()

    def add(self, *urls, via=""):
        """Add these as seeds, or as links of the page `via`."""
        fresh = [url for url in urls if url not in self.seen]
        self.seen.update(fresh)
        self.frontier.add(
            [(Link(url, "L", via) if via else Link(url, seed=url)).pack() for url in fresh]
        )

    def run(self, until):
        """Fetch until this time, or to the end."""
        while self.now < until:
            while (
                len(self.running) < self.slots
                and (link := self.frontier.take(self.now)) is not None
            ):
                outcome = self.bad if host_of(link.url).startswith("bad") else Outcome(200, 0.02)
                heappush(
                    self.running, (self.now + outcome.seconds, next(self.turns), link, outcome)
                )
            ready = self.frontier.next_ready() if len(self.running) < self.slots else None
            ends = [self.running[0][0]] if self.running else []
            times = [*ends, *([max(ready, self.now)] if ready is not None else [])]
            if not times or (not self.running and len(self.frontier) == self.frontier.over_budget):
                return
            self.now = min(times)
            while self.running and self.running[0][0] <= self.now:
                _, _, link, outcome = heappop(self.running)
                self.answer(link, outcome)

    def answer(self, link, outcome):
        if outcome.status == 200:
            self.pages += 1
            page = f"<p>page {zoo.number_in(link.url.rpartition('/')[2])}</p>"
            at = zoo.number_in(link.url.rpartition("/")[2])
            home = link.url.rpartition("/")[0]
            links = [
                f"{home}/p{further}"
                for further in (at + 1, 2 * at + 1, 3 * at + 1)
                if further < PAGES
            ]
            self.frontier.domains.new_body(link, page.encode())
            self.frontier.domains.heard(link.url, links)
            self.frontier.done(link, outcome, self.now)
            self.add(*links, via=link.url)
        else:
            self.frontier.done(link, outcome, self.now)


@pytest.mark.parametrize("bad", [REFUSED, DRIPPING], ids=["refused", "dripping"])
def test_one_bad_host_holds_up_no_small_site(db, bad):
    """Small sites are fetched whole while one host waits, is refused or drips.

    Their folded URLs were looked at only when no host at all was active: three good sites stood
    still for ten minutes.
    """
    crawl = Crawl(db, bad)
    crawl.add("http://bad.test/", *(f"http://www.good{at}.test/" for at in range(3)))

    crawl.run(until=170.0)

    assert crawl.pages >= 3 * SMALL


@pytest.mark.parametrize("bad", [REFUSED, DRIPPING], ids=["refused", "dripping"])
def test_a_bad_host_of_their_own_domain(db, bad):
    """A site is fetched while another host of its domain fails."""
    crawl = Crawl(db, bad)
    crawl.add("http://bad.good0.test/", "http://www.good0.test/")

    crawl.run(until=170.0)

    assert crawl.pages >= SMALL


def test_hundreds_of_dripping_hosts(db):
    """However many hosts drip, good hosts have their pages."""
    crawl = Crawl(db, DRIPPING, slots=64)
    crawl.add(*(f"http://www.good{at}.test/" for at in range(20)))
    crawl.run(until=0.1)
    bad = [f"http://bad.drip{at}.test/{page}" for at in range(400) for page in ("p0", "p1", "p2")]
    crawl.add(*bad, via="http://www.good0.test/")

    crawl.run(until=170.0)

    assert crawl.pages >= 20 * SMALL


def test_folded_urls_wait_while_their_site_has_others(db):
    """A site that has other URLs is not looked at for its folded ones, although its fetcher waits
    for politeness.
    """
    crawl = Crawl(db, REFUSED)
    crawl.add("http://www.good0.test/")
    crawl.add(
        *(f"http://www.good0.test/p{at}" for at in range(PAGES)), via="http://www.good0.test/"
    )

    crawl.run(until=5.0)

    waiting = crawl.frontier.core.queues.budgets
    assert crawl.frontier.core.back.active
    assert waiting.table.folded.urls > 0
    assert not waiting.listed


def test_looks_at_budgets_are_few(db, monkeypatch):
    """While a host is active budgets are looked at once per second, in a few steps, however often
    fetchers starve.
    """
    looks = []
    look = budgets.Budgets.look
    monkeypatch.setattr(
        budgets.Budgets,
        "look",
        lambda self, *args: looks.append(int(crawl.now)) or look(self, *args),
    )
    crawl = Crawl(db, DRIPPING)
    crawl.add("http://bad.test/", *(f"http://www.good{at}.test/" for at in range(3)))

    crawl.run(until=170.0)

    assert max(Counter(looks).values()) <= 8


def test_a_site_that_goes_on_is_not_idle(db):
    """A site whose last host left for a moment has none of its tries spent on folded URLs."""
    waiting = Crawl(db, REFUSED).frontier.core.queues.budgets
    waiting.postponed.add("good0.test")
    waiting.left("good0.test")

    waiting.try_idle_domains(lambda name: name == "good0.test")

    assert (waiting.postponed, waiting.idle) == ({"good0.test"}, [])
