"""Hosts that never answer, or slowly: their cost is bounded, for the host and for the crawl.

Time is simulated.
"""

import heapq
from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest

from tests.support.frontiers import make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB

PAGE, TIMEOUT = 0.3, 30.0  # seconds per page, and DOWNLOAD_TIMEOUT
RETRY_WAIT, FAILURES = 60.0, 5  # HOST_RETRY_WAIT, HOST_MAX_FAILURES
LOOK = 1.0  # seconds between two looks for downloads to be cancelled


@dataclass
class Running:
    link: Link
    seconds: float
    number: int  # of its visit
    received: int = 0


class Fetchers:
    """So many slots, a frontier, and a clock; `visits` has when each request began and ends, and
    its host.

    `lasts` says how long a host takes for a page, where that is not PAGE; of those in `dead` there
    is no answer.
    """

    def __init__(self, db, slots, dead, lasts=None):
        limits = Limits(3 * slots, 30_000, slots, host_failures=FAILURES, retry_wait=RETRY_WAIT)
        self.frontier = make(db, limits, memory=16 << 20)
        self.slots, self.dead, self.visits, self.flying = slots, dead, [], []
        self.lasts = {**dict.fromkeys(dead, TIMEOUT), **(lasts or {})}
        self.ended, self.look = Counter(), 0.0

    def cancel_slow(self, now):
        """Looks for downloads to be cancelled, once a second."""
        self.look, flying = now + LOOK, self.flying
        running = [
            Running(link, now - self.visits[number][0], number) for _, number, link in flying
        ]
        full = len(flying) == self.slots
        found = self.frontier.demand.overstaying(running, full=full)
        for one in found[: self.frontier.demand.starved(now, full=full)] if found else []:
            flying[:] = [entry for entry in flying if entry[2] is not one.link]
            begun, _, host = self.visits[one.number]
            self.visits[one.number] = begun, now, host
            self.frontier.cancelled(one.link, one.seconds, now)
        heapq.heapify(flying)

    def run(self, seconds, begin=0.0):
        now, flying = begin, self.flying
        while now < seconds:
            while len(flying) < self.slots and (link := self.frontier.take(now)) is not None:
                host = link.url.split("/")[2]
                end = now + min(self.lasts.get(host, PAGE), TIMEOUT)
                heapq.heappush(flying, (end, len(self.visits), link))
                self.visits.append((now, end, host))
            times = [flying[0][0], self.look] if flying else []
            if len(flying) < self.slots and (ready := self.frontier.next_ready()) is not None:
                times.append(ready)
            if not times:
                return
            now = max(now, min(times))
            while flying and flying[0][0] <= now:
                end, _, link = heapq.heappop(flying)
                host = link.url.split("/")[2]
                outcome = Outcome(
                    Status.TIMEOUT if host in self.dead else 200, self.lasts.get(host, PAGE)
                )
                self.ended[host] += self.frontier.done(link, outcome, end)
            if now >= self.look and flying:
                self.cancel_slow(now)

    def pages(self):
        return sum(host not in self.dead for _, _, host in self.visits)


def add(frontier, hosts, pages):
    for page in range(pages):
        frontier.add([Link(f"http://{host}/{page}").pack() for host in hosts])


def test_a_host_that_only_times_out_costs_so_much_and_no_more(db):
    """It holds one slot at a time, a dozen times within HOST_PATIENCE, with doubled waits; then all
    its URLs end.
    """
    fetchers = Fetchers(db, 20, {"dead.test"})
    add(fetchers.frontier, ["dead.test"], 500)

    fetchers.run(1e6)

    gaps = [
        second[0] - first[1]
        for first, second in zip(fetchers.visits, fetchers.visits[1:], strict=False)
    ]
    assert len(fetchers.visits) < 16
    assert all(gap >= min(RETRY_WAIT * 2**number, 86_400) for number, gap in enumerate(gaps))
    assert len(fetchers.frontier) == 0


@pytest.mark.campaign
@pytest.mark.parametrize("slots", [50, 25])
def test_dead_hosts_cost_a_crawl_less_than_a_seventh(tmp_path, slots):
    """With nine live hosts per dead one, and as many or twice as many dead ones as slots, 85 % of
    the pages remain.
    """
    live = [f"live{number}.test" for number in range(450)]
    dead = [f"dead{number}.test" for number in range(50)]
    found = {}
    for name, hosts in (("without", live), ("with", [*live, *dead])):
        Random(1).shuffle(hosts)
        db = CrawlDB(tmp_path / name)
        fetchers = Fetchers(db, slots, set(dead))
        add(fetchers.frontier, hosts, 130)
        fetchers.run(400)
        found[name] = fetchers.pages()
        db.close()

    assert found["with"] > 0.85 * found["without"]


def test_dead_hosts_hold_their_share_once_live_ones_are_known(db):
    """Once enough hosts have answered to use all slots, dead ones hold two of sixteen: one new, one
    requested before.
    """
    live = [f"live{number}.test" for number in range(300)]
    dead = [f"dead{number}.test" for number in range(200)]
    fetchers = Fetchers(db, 16, set(dead))
    add(fetchers.frontier, live, 3)
    fetchers.run(10)
    add(fetchers.frontier, dead, 1)
    add(fetchers.frontier, live, 50)
    fetchers.run(200, begin=10)

    silent = [(begin, end) for begin, end, host in fetchers.visits if host in fetchers.dead]
    assert len(silent) > 6
    assert all(
        third[0] >= min(first[1], second[1])
        for first, second, third in zip(silent, silent[1:], silent[2:], strict=False)
    )


def test_new_hosts_have_every_slot(db):
    """A crawl in which every page is on a different, live host leaves no slot idle."""
    fetchers = Fetchers(db, 20, set())
    add(fetchers.frontier, [f"new{number}.test" for number in range(2000)], 1)

    fetchers.run(1e6)

    assert max(end for _, end, _ in fetchers.visits) == pytest.approx(2000 / 20 * PAGE)


def test_hosts_that_drip_beside_good_ones(tmp_path):
    """Among 500 hosts that never end an answer, 60 good ones give 80 % of the pages that they give
    alone.
    """
    good, bad = (
        [f"good{number}.test" for number in range(60)],
        [f"bad{number}.test" for number in range(500)],
    )
    found = {}
    for name, hosts in (("without", good), ("with", [*good, *bad])):
        Random(1).shuffle(hosts)
        db = CrawlDB(tmp_path / name)
        fetchers = Fetchers(db, 100, set(bad))
        add(fetchers.frontier, hosts, 100)
        fetchers.run(300)
        found[name] = sum(fetchers.ended[host] for host in good)
        db.close()

    assert found["with"] > 0.8 * found["without"]


def test_hosts_that_are_slow_every_other_time(tmp_path):
    """Hosts that answer once and then drip, again and again, leave good ones 80 % of their pages."""
    good, bad = (
        [f"good{number}.test" for number in range(30)],
        [f"bad{number}.test" for number in range(100)],
    )

    class Alternating(dict):
        def get(self, host, usual):
            self[host] = super().get(host, 0) + 1
            return TIMEOUT if host in bad and self[host] % 2 == 0 else usual

    found = {}
    for name, hosts in (("without", good), ("with", [*good, *bad])):
        Random(1).shuffle(hosts)
        db = CrawlDB(tmp_path / name)
        fetchers = Fetchers(db, 10, set())
        fetchers.lasts = Alternating()
        add(fetchers.frontier, hosts, 200)
        fetchers.run(300)
        found[name] = sum(fetchers.ended[host] for host in good)
        db.close()

    assert found["with"] > 0.8 * found["without"]


def test_honest_hosts_that_are_slow_are_fetched_in_the_end(db):
    """Beside hosts that use every slot, each page of a host that takes 20 seconds comes, after at
    most three cancellations.
    """
    quick = [f"quick{number}.test" for number in range(300)]
    slow = {f"slow{number}.test": 20.0 for number in range(10)}
    fetchers = Fetchers(db, 10, set(), slow)
    add(fetchers.frontier, [*quick, *slow], 5)

    fetchers.run(1e6)

    assert all(fetchers.ended[host] == 5 for host in [*quick, *slow])
    assert 0 < fetchers.frontier.counters["cut"] <= 3 * len(slow)


@pytest.mark.parametrize("seconds", [20.0, 29.0])
def test_a_crawl_in_which_all_hosts_are_very_slow_ends(db, seconds):
    """Where nothing is known but that new hosts wait, a download may be cancelled after 15 seconds;
    every page comes.
    """
    hosts = {f"slow{number}.test": seconds for number in range(500)}
    fetchers = Fetchers(db, 50, set(), hosts)
    add(fetchers.frontier, hosts, 1)

    fetchers.run(1e6)

    assert all(fetchers.ended[host] == 1 for host in hosts)
    assert max(end for _, end, _ in fetchers.visits) < 2.5 * 500 / 50 * seconds


@pytest.mark.parametrize("seconds", [8.0, 14.0])
def test_a_crawl_in_which_all_hosts_are_slow_is_not_cancelled(db, seconds):
    """Where every answer takes long, nobody is cancelled for it, and the crawl takes hardly longer
    than without shares.
    """
    hosts = {f"slow{number}.test": seconds for number in range(500)}
    fetchers = Fetchers(db, 50, set(), hosts)
    add(fetchers.frontier, hosts, 1)

    fetchers.run(1e6)

    assert all(fetchers.ended[host] == 1 for host in hosts)
    assert len(fetchers.visits) <= 550
    assert max(end for _, end, _ in fetchers.visits) < 1.5 * 500 / 50 * seconds


def test_a_crawl_in_which_no_host_answers_ends(db):
    """Where nobody answers, every URL ends all the same, with an outcome."""
    dropped = []
    dead = [f"dead{number}.test" for number in range(100)]
    fetchers = Fetchers(db, 10, set(dead))
    fetchers.frontier.core.dropped.append(lambda link, _: dropped.append(link.url))
    add(fetchers.frontier, dead, 10)

    fetchers.run(1e9)

    assert len(fetchers.frontier) == 0
    assert len(dropped) + sum(fetchers.ended.values()) == 1000
