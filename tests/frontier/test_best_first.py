"""URLs that are worth more go first while they wait, by what a table of bounded size knows of them."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.frontiers import OK, add, drain, make
from webcrawl.base.model import Link
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.front_end import AT_ONCE, ONE_IN, Sift
from webcrawl.frontier.prioritizers import CELL, Popularity
from webcrawl.frontier.prioritizers.depth import ByChance, ByDepth
from webcrawl.frontier.prioritizers.links import ByIndegree, ByOpic
from webcrawl.lab.studies.page_queues import FifoQueue
from webcrawl.store.crawldb import CrawlDB


def queue_of(items):
    queue = FifoQueue()
    for item in items:
        queue.push(item)
    return queue


def all_of(queue):
    return [queue.pop() for _ in range(queue.count)]


class TestSift:
    def test_the_best_of_the_next_are_chosen(self):
        """Of the first 64 the best 8 go over, the best first; the others go to the end, in their
        order.
        """
        queue, chosen = queue_of(range(100)), FifoQueue()
        Sift(lambda item: item % 10).choose(queue, chosen)
        best = [9, 19, 29, 39, 49, 59, 8, 18]
        assert all_of(chosen) == best
        assert all_of(queue) == [*range(64, 100), *(item for item in range(64) if item not in best)]

    def test_of_equals_the_older_ones(self):
        """Where nothing is known, those that came first are chosen."""
        queue, chosen = queue_of(range(AT_ONCE)), FifoQueue()
        Sift(lambda _: 0).choose(queue, chosen)
        assert all_of(chosen) == [*range(AT_ONCE // ONE_IN)]

    @given(st.lists(st.floats(0, 9), min_size=1, max_size=200))
    def test_nothing_gets_lost(self, worth):
        """Each record is in one of the two queues, at least one was chosen, and none that was seen
        was better.
        """
        queue, chosen = queue_of(range(len(worth))), FifoQueue()
        Sift(worth.__getitem__).choose(queue, chosen)
        best, rest = all_of(chosen), all_of(queue)
        assert sorted(best + rest) == [*range(len(worth))]
        assert min(worth[at] for at in best) >= max(
            (worth[at] for at in rest if at < AT_ONCE), default=0
        )


def urls(count, host="a"):
    return [f"http://{host}/{number}" for number in range(count)]


class TestFrontier:
    def test_what_many_link_to_is_fetched_soon(self, db):
        """A host's URL to which links were found while it waited goes before those that came
        earlier.
        """
        frontier = make(db, prioritizer=ByIndegree(3))
        add(frontier, *urls(60))
        link = frontier.take(0)
        frontier.domains.heard(link.url, urls(60)[40:42])
        frontier.domains.heard("http://b/", urls(60)[41:42])
        frontier.done(link, OK, 1)
        order = [link.url for _, link in drain(frontier, 1, most=20)]
        assert {"http://a/40", "http://a/41"} <= {*order}
        assert order.index("http://a/41") < order.index("http://a/40")

    def test_hosts_of_popular_pages_come_in_soon(self, db):
        """Of many new hosts those enter first whose pages many link to."""
        limits = Limits(queues=2, max_queues=2)
        frontier = make(db, limits, prioritizer=ByIndegree(8), levels=8)
        frontier.domains.heard("http://z/", ["http://h50/"])
        add(frontier, *(f"http://h{number}/" for number in range(60)))
        assert "http://h50/" in [link.url for _, link in drain(frontier, 0, most=4)]

    @pytest.mark.parametrize("made", [ByChance, ByIndegree, ByOpic])
    @pytest.mark.parametrize("levels", [1, 2, 8])
    def test_each_url_comes_once(self, db, made, levels):
        """Whatever is heard meanwhile, all URLs come out, each of them once."""
        frontier = make(db, prioritizer=made(levels), levels=levels)
        found = [*urls(150), *urls(70, "b"), *(f"http://h{number}/" for number in range(90))]
        add(frontier, *found[::2])
        first = drain(frontier, 0, most=50)
        if frontier.domains.heard is not None:
            for number, (_, link) in enumerate(first):
                frontier.domains.heard(link.url, found[number : number + 30])
        add(frontier, *found[1::2])
        taken = Counter(link.url for _, link in first + drain(frontier, 1000))
        assert taken == Counter(found)

    @pytest.mark.parametrize("saved", [True, False])
    def test_resumed(self, tmp_path, saved):
        """What was chosen and what was learnt is part of the checkpoint; without one all is as it
        was before.
        """
        db = CrawlDB(tmp_path)
        frontier = make(db, prioritizer=ByIndegree(3))
        add(frontier, *urls(100))
        frontier.domains.heard("http://b/", urls(100)[90:91])
        db.checkpoint()
        done = [link.url for _, link in drain(frontier, 0, most=30)]
        assert len(done) == 30
        frontier.domains.heard("http://c/", urls(100)[90:92])
        if saved:
            db.checkpoint()
        db.close()

        db = CrawlDB(tmp_path)
        prioritizer = ByIndegree(3)
        frontier = make(db, prioritizer=prioritizer)

        assert prioritizer.worth("http://a/91") == saved
        left = {*urls(100)} - {*done} if saved else {*urls(100)}
        assert Counter(link.url for _, link in drain(frontier, 1000)) == Counter(left)
        db.close()

    def test_another_prioritizer_goes_on(self, tmp_path):
        """What was chosen is fetched also if the crawl goes on in another order, and the other way
        round.
        """
        found = urls(100)
        for at, made in enumerate((ByDepth, ByIndegree, ByDepth, ByChance)):
            db = CrawlDB(tmp_path)
            frontier = make(db, prioritizer=made(3))
            add(frontier, *(found if at == 0 else []))
            for _, link in drain(frontier, 1000.0 * at, most=1000 if at == 3 else 20):
                found.remove(link.url)
            db.checkpoint()
            db.close()
        assert found == []

    def test_priorities_of_requests_are_kept(self, db):
        """A user's request goes before all that is chosen, and one below 0 after all."""
        frontier = make(db, prioritizer=ByIndegree(3))
        add(frontier, *urls(40))
        frontier.domains.heard("http://b/", urls(40))
        first = drain(frontier, 0, most=5)
        frontier.add(
            [
                Link("http://a/low", request="-2.x").pack(),
                Link("http://a/high", request="5.x").pack(),
            ]
        )
        order = [link.url for _, link in drain(frontier, 100)]
        assert len(first) + len(order) == 42
        assert order[0] == "http://a/high" or order[1] == "http://a/high"
        assert order[-1] == "http://a/low"

    def test_others_pay_nothing(self, db):
        """Without such a prioritizer nobody hears links, and no queue is sifted."""
        frontier = make(db)
        assert frontier.domains.heard is None
        assert frontier.core.queues.front.sift is None


GIFTS = st.lists(st.tuples(st.integers(0, 60), st.floats(0.01, 10)), max_size=200)
KEY = bytes(range(16))


def url(number):
    return f"http://h/{number}"


def table_of(gifts, cells=16):
    table = Popularity(KEY, cells * CELL)
    for number, amount in gifts:
        table.add([url(number)], amount)
    return table


def total(table):
    return sum(amount for _, amount in table)


@given(GIFTS)
def test_nothing_gets_lost(gifts):
    """What was given is there, or was taken, or is said to be forgotten."""
    table = table_of(gifts)
    taken = table.take(url(7))
    assert table.of(url(7)) == 0
    assert total(table) + taken + table.forgotten == pytest.approx(
        sum(amount for _, amount in gifts)
    )


@given(GIFTS)
def test_no_amount_is_too_large(gifts):
    """Of what a URL was given some may be forgotten, but none of it is another's."""
    table = table_of(gifts)
    given = {number: sum(amount for one, amount in gifts if one == number) for number in range(61)}
    assert all(table.of(url(number)) <= given[number] + 1e-9 for number in range(61))


def test_with_room_for_all_nothing_is_forgotten():
    """As long as no two URLs share a cell, amounts are exact."""
    table = table_of([(number, number + 1) for number in range(50)], cells=1 << 20)
    assert [table.of(url(number)) for number in range(50)] == [number + 1 for number in range(50)]
    assert table.forgotten == 0


def test_what_is_popular_stays():
    """Beside twenty times as many URLs as there are cells, those that each tenth link leads to are
    known.
    """
    chance, table = Random(1), Popularity(KEY, 256 * CELL)
    for _ in range(20_000):
        table.add(
            [url(chance.randrange(5) if chance.random() < 0.5 else chance.randrange(5000))], 1.0
        )
    known = sorted(range(5000), key=lambda number: table.of(url(number)), reverse=True)
    assert {*known[:4]} <= {*range(5)}


@given(GIFTS)
def test_saved_and_restored(gifts):
    """A restored table is the same."""
    table, again = table_of(gifts), Popularity(KEY, 16 * CELL)
    again.restore(table.save())
    assert ({*again}, again.forgotten) == ({*table}, pytest.approx(table.forgotten))


@given(GIFTS, st.sampled_from((16, 32, 256)))
def test_restored_with_other_memory(gifts, cells):
    """With fewer cells the largest amounts stay, with more all of them; the rest is forgotten."""
    table, again = table_of(gifts, 64), Popularity(KEY, cells * CELL)
    again.restore(table.save())
    assert {*again} <= {*table}
    assert total(again) + again.forgotten == pytest.approx(total(table) + table.forgotten)
    largest = max((amount for _, amount in table), default=0)
    assert max((amount for _, amount in again), default=0) == largest


def test_memory_is_bounded():
    """It has as many cells as fit, a power of two."""
    table = Popularity(KEY, 1000 * CELL)
    table.add((f"http://x/{number}" for number in range(10_000)), 1.0)
    assert len([*table]) == 512


@given(GIFTS)
def test_what_was_fetched_gets_nothing(gifts):
    """A page that was fetched takes no cell from those that wait, also after a restart."""
    table, again = Popularity(KEY, 1 << 16), Popularity(KEY, 1 << 16)
    table.take(url(7))
    again.restore(table.save())
    for one in (table, again):
        for number, amount in gifts:
            one.add([url(number)], amount)
        assert one.of(url(7)) == 0
        assert total(one) + one.forgotten == pytest.approx(sum(amount for _, amount in gifts))


def test_popular_pages_are_remembered_for_longest():
    """Of fetched pages that share a cell those stay to which links still lead."""
    table = Popularity(KEY, 16 * CELL)
    table.take(url(0))
    for number in range(1, 400):
        table.add([url(0)], 1.0)
        table.take(url(number))
    assert table.of(url(0)) == 0
    table.add([url(0)], 1.0)
    assert table.of(url(0)) == 0
