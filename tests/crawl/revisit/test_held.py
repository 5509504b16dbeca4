"""Records whose owners say until when they hold: none is taken before, and none stays behind the
queue afterwards.
"""

from contextlib import closing

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from tests.support.saving import prepared
from webcrawl.crawl.revisit.buckets import COUNT, HELD, SORTED, TIME
from webcrawl.crawl.revisit.revisits import FREED
from webcrawl.store.crawldb import CrawlDB

HOUR = 3600


def kept(db, holds, *, due=-1.0, early=True, rate=1.0, others=0):
    """Revisits with a page for each promise, in seconds from now, that are due at once, and others
    due after them.
    """
    policy = Told(early=early)
    revisits = made(db, policy, rate=rate)
    for number, seconds in enumerate(holds):
        policy.when[page(number).url] = NOW + due
        revisits.keep(page(number, holds=int(NOW + seconds)), NOW)
    for number in range(1000, 1000 + others):
        policy.when[page(number).url] = NOW + due + number
        revisits.keep(page(number), NOW)
    return revisits, policy


def held(db):
    """How many records are put aside, as of a checkpoint that is taken now."""
    prepared(db)
    db.checkpoint()
    saved = db.get(HELD + SORTED)
    return int.from_bytes(saved[TIME : TIME + COUNT], "big")


def taken(revisits, now, most=1000):
    return [int(record.url.rpartition("/")[2]) for record in revisits.pop_due(now, most)]


@pytest.mark.parametrize("early", [True, False])
def test_nobody_comes_before(db, early):
    """A page is taken when its promise is over, and `next_due` says when that is."""
    revisits, _ = kept(db, [HOUR, 10, 2 * HOUR], early=early)
    assert taken(revisits, NOW) == []
    assert revisits.next_due(NOW + 1) == NOW + 10
    assert taken(revisits, NOW + 9) == []
    assert taken(revisits, NOW + 10) == [1]
    assert revisits.next_due(NOW + 11) == NOW + HOUR
    assert taken(revisits, NOW + HOUR) == [0]
    assert taken(revisits, NOW + 2 * HOUR) == [2]
    assert len(revisits) == 0


def test_who_was_passed_over_is_next(db):
    """Its turn had come before: it goes before all others."""
    revisits, _ = kept(db, [30], due=DAY, others=200, rate=1.0)
    before = [one for second in range(30) for one in taken(revisits, NOW + second)]
    assert 0 not in before
    assert 28 <= len(before) <= 32
    assert 0 in taken(revisits, NOW + 31) + taken(revisits, NOW + 32)


def test_an_absurd_promise(db):
    """A page that holds for more than a day by a clock that was wrong is taken in its turn."""
    revisits, _ = kept(db, [3 * DAY])
    assert taken(revisits, NOW) == [0]


def test_few_go_back_at_once(db):
    """After a month of rest many promises are over; a call puts a bounded number of pages back."""
    revisits, _ = kept(db, [HOUR] * (3 * FREED), rate=0.001)
    for step in range(20):
        taken(revisits, NOW + step / 100)
    before = held(db)
    assert before > 2 * FREED
    taken(revisits, NOW + 30 * DAY)
    assert held(db) == before - FREED


def test_a_drone_that_leaves_gives_all_away(db):
    """Records that were put aside go with the others."""
    revisits, _ = kept(db, [HOUR] * 10, others=5, rate=0.01)
    assert taken(revisits, NOW, 1) == [1000]
    found = [record.url for record in revisits.release(3)] + [
        record.url for record in revisits.release(100)
    ]
    assert len(found) == len(set(found)) == 14
    assert len(revisits) == 0


def test_it_is_part_of_the_checkpoint(tmp_path):
    """What was put aside by then is so after a kill, and what came back since is put aside again."""
    with closing(CrawlDB(tmp_path)) as db:
        revisits, _ = kept(db, [HOUR, 10])
        assert taken(revisits, NOW) == []
        for _ in db.prepare():
            pass
        db.checkpoint()
        assert taken(revisits, NOW + 10) == [1]
    with closing(CrawlDB(tmp_path)) as db:
        revisits = made(db, Told(), rate=1.0)
        assert (len(revisits), held(db)) == (2, 2)
        assert taken(revisits, NOW + 10) == [1]
        assert taken(revisits, NOW + HOUR) == [0]
