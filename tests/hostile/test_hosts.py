"""Hosts that never answer: their cost is bounded, for the host and for the crawl. Time is simulated."""

import heapq
from itertools import pairwise
from random import Random

import pytest

from tests.support.frontiers import make
from webcrawl.frontier.booking import Limits
from webcrawl.model import Link, Outcome, Status
from webcrawl.store.crawldb import CrawlDB

PAGE, TIMEOUT = 0.3, 30.0  # seconds per page, and DOWNLOAD_TIMEOUT
RETRY_WAIT, FAILURES = 60.0, 5  # HOST_RETRY_WAIT, HOST_MAX_FAILURES


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


class Fetchers:
    """So many slots, a frontier, and a clock; `visits` has when each request began and ended, and its host."""

    def __init__(self, db, slots, dead):
        limits = Limits(3 * slots, 30_000, slots, host_failures=FAILURES, retry_wait=RETRY_WAIT)
        self.frontier = make(db, limits, memory=16 << 20)
        self.slots, self.dead, self.visits, self.flying = slots, dead, [], []

    def run(self, seconds, begin=0.0):
        now, flying = begin, self.flying
        while now < seconds:
            while len(flying) < self.slots and (link := self.frontier.take(now)) is not None:
                host = link.url.split("/")[2]
                end = now + (TIMEOUT if host in self.dead else PAGE)
                heapq.heappush(flying, (end, len(self.visits), link))
                self.visits.append((now, end, host))
            times = [flying[0][0]] if flying else []
            if len(flying) < self.slots and (ready := self.frontier.next_ready()) is not None:
                times.append(ready)
            if not times:
                return
            now = max(now, min(times))
            while flying and flying[0][0] <= now:
                end, _, link = heapq.heappop(flying)
                silent = link.url.split("/")[2] in self.dead
                outcome = Outcome(Status.TIMEOUT, TIMEOUT) if silent else Outcome(200, PAGE)
                self.frontier.done(link, outcome, end)

    def pages(self):
        return sum(host not in self.dead for _, _, host in self.visits)


def add(frontier, hosts, pages):
    for page in range(pages):
        frontier.add([Link(f"http://{host}/{page}").pack() for host in hosts])


def test_a_host_that_only_times_out_costs_so_much_and_no_more(db):
    """It holds one slot at a time, HOST_MAX_FAILURES times, with doubled waits; then all its URLs end."""
    fetchers = Fetchers(db, 20, {"dead.test"})
    add(fetchers.frontier, ["dead.test"], 500)

    fetchers.run(1e6)

    gaps = [second[0] - first[1] for first, second in zip(fetchers.visits, fetchers.visits[1:], strict=False)]
    assert len(fetchers.visits) == FAILURES
    assert all(gap >= RETRY_WAIT * 2**number for number, gap in enumerate(gaps))
    assert len(fetchers.frontier) == 0


@pytest.mark.parametrize("slots", [50, 25])
def test_dead_hosts_cost_a_crawl_less_than_a_seventh(tmp_path, slots):
    """With nine live hosts per dead one, and as many or twice as many dead ones as slots, 85 % of the pages remain."""
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
    """Once enough hosts have answered to use all slots, dead ones hold at most one slot in sixteen."""
    live = [f"live{number}.test" for number in range(300)]
    dead = [f"dead{number}.test" for number in range(200)]
    fetchers = Fetchers(db, 16, set(dead))
    add(fetchers.frontier, live, 3)
    fetchers.run(10)
    add(fetchers.frontier, dead, 1)
    add(fetchers.frontier, live, 50)
    fetchers.run(200, begin=10)

    silent = [(begin, end) for begin, end, host in fetchers.visits if host in fetchers.dead]
    assert len(silent) == 6
    assert all(second[0] >= first[1] for first, second in pairwise(silent))


def test_new_hosts_have_every_slot(db):
    """A crawl in which every page is on a different, live host leaves no slot idle."""
    fetchers = Fetchers(db, 20, set())
    add(fetchers.frontier, [f"new{number}.test" for number in range(2000)], 1)

    fetchers.run(1e6)

    assert max(end for _, end, _ in fetchers.visits) == pytest.approx(2000 / 20 * PAGE)
