"""Buckets by time: order, bounds, and what they do with times that are not spread."""

from contextlib import closing
from itertools import pairwise
from random import Random

import msgpack
import pytest

from webcrawl.crawl.revisit import buckets as module
from webcrawl.crawl.revisit.buckets import (
    BEFORE,
    LAST,
    TICKS_PER_SECOND,
    Buckets,
    seconds_of,
    stamp,
    stamped,
    ticks,
)
from webcrawl.frontier.fifo import BLOCK, Blocks, Fifo, Pool
from webcrawl.store.crawldb import CrawlDB

DAY = 86_400
NOW = 1.8e9


@pytest.fixture(name="db")
def _db(tmp_path):
    with closing(CrawlDB(tmp_path)) as db:
        db.need("revisit")
        yield db


def made(db, memory=1 << 20):
    return Buckets(db, Pool(Blocks(db, "revisit"), memory, inline=BLOCK))


def push(buckets, seconds, what=b""):
    buckets.push(stamp(ticks(seconds)) + what)


def number_of(db, buckets):
    """The queues that a checkpoint has now; while one is divided it counts too."""
    buckets.save()
    return len(db.named(module.BUCKET)) + len(msgpack.unpackb(db.get(module.DIVIDED)))


def popped(buckets):
    return [seconds_of(stamped(record)) for record in iter(buckets.pop, None)]


def test_times_are_kept_to_a_256th_of_a_second():
    """A time comes back as it was, as far as ticks tell; one that is too early or late is the first
    or last.
    """
    assert seconds_of(ticks(NOW + 1 / TICKS_PER_SECOND)) == NOW + 1 / TICKS_PER_SECOND
    assert seconds_of(ticks(-DAY)) == -DAY
    assert ticks(-2.0 * BEFORE) == ticks(float("-inf")) == 0
    assert ticks(1e300) == ticks(float("inf")) == LAST


def test_dividing_takes_a_little_time_at_each_step(db, monkeypatch):
    """While a large bucket is divided, a push moves a few of its records, and so does a pop of what
    is sorted.
    """
    moved = 0
    put = Fifo.push

    def counted(self, record):
        nonlocal moved
        moved += 1
        put(self, record)

    monkeypatch.setattr(Fifo, "push", counted)
    random, buckets, most = Random(4), made(db), []
    for _ in range(50_000):
        moved = 0
        push(buckets, NOW + random.random() * 20 * DAY)
        most.append(moved)
    assert max(most) <= 1 + module.MOVES
    steps = []
    for _ in range(50_000):
        moved = 0
        assert buckets.pop()
        steps.append(moved)
    assert max(steps) <= 4 * module.SLICE
    assert sum(steps) + sum(most) <= 5 * 50_000  # each record is moved once for each width at most


def test_there_are_few_buckets_whatever_the_times(db):
    """The number of queues, and so their memory, does not grow with that of records or with the
    span of times.
    """
    random, buckets, most = Random(5), made(db), 0
    for _ in range(100_000):
        push(buckets, NOW + random.expovariate(1 / (60 * DAY)))
    for number in range(100_000):
        at = seconds_of(stamped(buckets.pop()))
        push(buckets, at + random.choice([-DAY, 0, 1, 3600, 400 * DAY]) * random.random())
        most = max(most, number_of(db, buckets)) if number % 1000 == 0 else most
    assert most <= 350
    assert len(buckets) == 100_000


def test_the_number_of_buckets_has_a_limit(db, monkeypatch):
    """With as many buckets as there may be, records go to the nearest one: all still come, nearly
    in order.
    """
    monkeypatch.setattr(module, "MOST_BUCKETS", 20)
    random, buckets = Random(6), made(db)
    for _ in range(20_000):
        push(buckets, NOW + random.random() * 3000 * DAY)
    assert number_of(db, buckets) == 20
    found = popped(buckets)
    assert len(found) == 20_000
    backwards = sum(later < earlier for earlier, later in pairwise(found))
    assert backwards < 200
