"""The queue of hosts that are set aside: in the order of their turns, never early, in constant
memory.
"""

from random import Random

import pytest

from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.hosts_set_aside import MOST, STEP, AsideHosts
from webcrawl.store.crawldb import CrawlDB


@pytest.fixture(name="pool")
def _pool(tmp_path):
    db = CrawlDB(tmp_path)
    yield Pool(Blocks(db), 1 << 16)
    db.close()


def test_a_wait_of_weeks_is_cut_to_a_day(pool):
    """Its host looks again after a day, so that a few queues are enough."""
    aside = AsideHosts(pool.fifo, ())
    assert MOST <= aside.push("a", 30 * MOST, 0.0) <= STEP * MOST


def test_there_are_few_queues_whatever_the_waits(pool):
    """Memory does not depend on the number of hosts."""
    random, aside = Random(3), AsideHosts(pool.fifo, ())
    for number in range(20_000):
        aside.push(f"h{number}", random.uniform(0, 2 * MOST), 0.0)
    assert len(aside.save()) < 150
    assert len(aside) == 20_000
