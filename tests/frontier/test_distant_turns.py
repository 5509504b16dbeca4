"""The queue of hosts that are set aside: in the order of their turns, never early, in constant memory."""

import shutil
from contextlib import closing
from random import Random

import pytest

from tests.support.frontiers import OK, add, drain, make
from webcrawl.base.model import Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.hosts_set_aside import MOST, STEP, AsideHosts
from webcrawl.store.crawldb import CrawlDB

LIMITS = Limits(2, 10, host_failures=1)
REFUSED = Outcome(Status.CONNECT_FAILED)


@pytest.fixture(name="pool")
def _pool(tmp_path):
    db = CrawlDB(tmp_path)
    yield Pool(Blocks(db), 1 << 16)
    db.close()


def emptied(aside, now=0.0):
    """All entries, in order."""
    found = []
    while (due := aside.next_due()) is not None:
        now = max(now, due)
        found.append(aside.pop(now))
    return found


def test_nobody_comes_back_early_or_much_too_late(pool):
    """Each host comes back after its wait, which is at most a tenth longer than it has to be."""
    random, aside = Random(1), AsideHosts(pool.fifo, ())
    waits = {f"h{number}": random.uniform(1, MOST) for number in range(500)}
    for name, wait in waits.items():
        aside.push(name, 100 + wait, 100)
    for at, name in emptied(aside):
        assert waits[name] - 1e-3 <= at - 100 <= STEP * waits[name] + 1e-3


def test_they_come_in_the_order_of_their_turns(pool):
    """Whoever is due first comes first, whenever each was put aside."""
    random, aside = Random(2), AsideHosts(pool.fifo, ())
    for now in range(1000):
        aside.push(f"h{now}", now + random.choice([5, 60, 960, 5000, 86_400]), now)
    times = [at for at, _ in emptied(aside)]
    assert len(times) == 1000
    assert times == sorted(times)


def test_a_wait_of_weeks_is_cut_to_a_day(pool):
    """Its host looks again after a day, so that a few queues are enough."""
    aside = AsideHosts(pool.fifo, ())
    assert MOST <= aside.push("a", 30 * MOST, 0.0) <= STEP * MOST


def test_there_are_few_queues_whatever_the_waits(pool):
    """Memory does not depend on the number of hosts."""
    random, aside = Random(3), AsideHosts(pool.fifo, ())
    for number in range(20_000):
        aside.push(f"h{number}", random.uniform(0, 2 * MOST), 0.0)
    assert len(aside._queues) < 150
    assert len(aside) == 20_000


def test_it_is_saved(pool):
    """What is restored gives the same entries in the same order."""
    random, aside = Random(4), AsideHosts(pool.fifo, ())
    for number in range(300):
        aside.push(f"h{number}", random.uniform(0, MOST), 0.0)
    saved = aside.save()
    assert emptied(AsideHosts(pool.fifo, saved)) == emptied(aside)


def test_hosts_set_aside_outlive_a_crash(tmp_path):
    """Whenever a checkpoint is taken, the crawl that goes on from there has all URLs and their times."""
    names = [f"h{number}" for number in range(6)]
    with closing(CrawlDB(tmp_path / "db")) as db:
        frontier, now = make(db, LIMITS), 0.0
        add(frontier, *(f"http://{name}/{number}" for number in range(3) for name in names))
        for step in range(30):
            while (link := frontier.take(now)) is None:
                now = max(now, frontier.next_ready())
            frontier.done(link, REFUSED, now)
            db.checkpoint()
            shutil.rmtree(tmp_path / "copy", ignore_errors=True)
            shutil.copytree(tmp_path / "db", tmp_path / "copy")
            (tmp_path / "copy/lock").unlink()
            with closing(CrawlDB(tmp_path / "copy")) as copy:
                again = make(copy, LIMITS)
                assert (again.core.aside.urls, again.core.aside.hosts) == (
                    frontier.core.aside.urls,
                    frontier.core.aside.hosts,
                )
                assert again.core.aside.next_return() == frontier.core.aside.next_return()
                if not step % 10:
                    assert len(drain(again, now, OK)) == 18


def test_a_host_that_was_brought_back_comes_once(tmp_path):
    """The entry that it leaves in the queue is passed over, also when the host is set aside a second time."""
    with closing(CrawlDB(tmp_path)) as db:
        frontier = make(db, LIMITS)
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), REFUSED, 0)
        host = frontier.core.hosts.get("a")
        host.ready_at, host.failures, host.row = 0.0, 0, None
        frontier._states.recall(host)
        frontier.core.hosts.put_away(host)
        assert (frontier.core.aside.urls, frontier.core.aside.hosts) == (0, 0)
        frontier.done(frontier.take(1), REFUSED, 1)
        assert (frontier.core.aside.urls, frontier.core.aside.hosts) == (2, 1)
        taken = drain(frontier, 1, OK)
        assert [now > 60 for now, _ in taken] == [True, True]
        assert len(frontier.core.aside._queue) == 0
