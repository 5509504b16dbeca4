"""What links give to URLs, in a fixed number of cells."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.popularity import CELL, Popularity

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
    assert total(table) + taken + table.forgotten == pytest.approx(sum(amount for _, amount in gifts))


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
    """Beside twenty times as many URLs as there are cells, those that each tenth link leads to are known."""
    chance, table = Random(1), Popularity(KEY, 256 * CELL)
    for _ in range(20_000):
        table.add([url(chance.randrange(5) if chance.random() < 0.5 else chance.randrange(5000))], 1.0)
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
    assert len(Popularity(KEY, 1000 * CELL)._owners) == 512


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
