"""Hosts that never answer: what they may cost is bounded, for the host and for the crawl. Time is simulated."""

import heapq

import pytest

from tests.frontiers import make
from webcrawl.frontier.booking import Limits
from webcrawl.model import Link, Outcome, Status
from webcrawl.store.crawldb import CrawlDB

PAGE, TIMEOUT = 0.3, 30.0  # seconds of a page, and DOWNLOAD_TIMEOUT
RETRY_WAIT, FAILURES = 60.0, 5  # HOST_RETRY_WAIT, HOST_MAX_FAILURES


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


class Fetchers:
    """So many slots, a frontier, and a clock; `visits` has when each request began and ended, and its host."""

    def __init__(self, db, slots, dead):
        limits = Limits(3 * slots, 30_000, host_failures=FAILURES, retry_wait=RETRY_WAIT)
        self.frontier = make(db, limits, memory=16 << 20)
        self.slots, self.dead, self.visits = slots, dead, []

    def run(self, seconds):
        now, flying = 0.0, []
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
    """It holds one slot at a time, HOST_MAX_FAILURES times, twice as long after each; then all its URLs end."""
    fetchers = Fetchers(db, 20, {"dead.test"})
    add(fetchers.frontier, ["dead.test"], 500)

    fetchers.run(1e6)

    gaps = [second[0] - first[1] for first, second in zip(fetchers.visits, fetchers.visits[1:], strict=False)]
    assert len(fetchers.visits) == FAILURES
    assert all(gap >= RETRY_WAIT * 2**number for number, gap in enumerate(gaps))
    assert len(fetchers.frontier) == 0


def test_dead_hosts_cost_a_crawl_less_than_a_seventh(tmp_path):
    """With a dead host to nine live ones, as many as slots, a crawl has more than 85 % of the pages it has without."""
    live = [f"live{number}.test" for number in range(450)]
    dead = [f"dead{number}.test" for number in range(50)]
    pages = {}
    for name, hosts in (("without", live), ("with", [*live, *dead])):
        db = CrawlDB(tmp_path / name)
        fetchers = Fetchers(db, 50, set(dead))
        add(fetchers.frontier, sorted(hosts, key=lambda host: host[4:]), 130)
        fetchers.run(400)
        pages[name] = fetchers.pages()
        db.close()

    assert pages["with"] > 0.85 * pages["without"]
