"""The queue of deferred hosts: in the order of their turns, never early, in constant memory."""

from random import Random

import pytest

from webcrawl.frontier.deferred_hosts import MOST, STEP, DeferredHostQueue
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.store.crawldb import CrawlDB


@pytest.fixture(name="pool")
def _pool(tmp_path):
    db = CrawlDB(tmp_path)
    yield Pool(Blocks(db), 1 << 16)
    db.close()


def test_a_wait_of_weeks_is_limited_to_a_day(pool):
    """Its host looks again after a day, so that a few queues are enough."""
    queue = DeferredHostQueue(pool.fifo, ())
    assert MOST <= queue.push("a", 30 * MOST, 0.0) <= STEP * MOST


def test_there_are_few_queues_whatever_the_waits(pool):
    """Memory does not depend on the number of hosts."""
    random, queue = Random(3), DeferredHostQueue(pool.fifo, ())
    for number in range(20_000):
        queue.push(f"h{number}", random.uniform(0, 2 * MOST), 0.0)
    assert len(queue.save()) < 150
    assert len(queue) == 20_000
