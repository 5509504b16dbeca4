"""The URL caches: what all policies have in common, and each against a naive implementation."""

from collections import OrderedDict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.snippets import load
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.policies import LruCache, RandomCache, StaticCache

REQUESTS = st.lists(st.lists(st.integers(0, 12), max_size=20), max_size=10)
SIZES = st.integers(1, 8)
POLICIES = {
    "clock": ClockCache,
    "lru": LruCache,
    "random": RandomCache,
    "static": lambda size: StaticCache(size, [3, 1, 2, 1]),
    "static, of nothing": StaticCache,
    "that of docs/policies.md": load("docs/policies.md", "FifoCache"),
}


def one_by_one(ask, batches):
    """The misses of each batch, by a naive cache that looks up one key at a time."""
    return [[at for at, key in enumerate(batch) if not ask(key)] for batch in batches]


class PaperClock:
    """Section 3.4, sentence by sentence; the handle moves past a location that was just filled."""

    def __init__(self, size):
        self.items, self.marks, self.handle = [None] * size, [False] * size, 0

    def holds(self, item):
        if item in self.items:
            self.marks[self.items.index(item)] = True
            return True
        if None in self.items:
            self.items[self.items.index(None)] = item
            return False
        while self.marks[self.handle]:
            self.marks[self.handle] = False
            self.handle = (self.handle + 1) % len(self.items)
        self.items[self.handle] = item
        self.handle = (self.handle + 1) % len(self.items)
        return False


class PlainLru:
    def __init__(self, size):
        self.size, self.items = size, OrderedDict()

    def holds(self, item):
        held = item in self.items
        self.items[item] = True
        self.items.move_to_end(item)
        if len(self.items) > self.size:
            self.items.popitem(last=False)
        return held


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
class TestEveryPolicy:
    @given(batches=REQUESTS, size=SIZES)
    def test_a_key_never_met_is_a_miss(self, make, batches, size):
        """A key never requested before is a miss: otherwise its URL would be lost."""
        cache, met = make(size), set()
        for batch in batches:
            missed = list(cache.misses(batch))
            first = [at for at, key in enumerate(batch) if key not in met and key not in batch[:at]]
            assert set(first) <= set(missed)
            met.update(batch)

    @given(batches=REQUESTS, size=SIZES)
    def test_it_holds_no_more_than_its_size(self, make, batches, size):
        """A cache never holds more keys than its size."""
        cache = make(size)
        for batch in batches:
            cache.misses(batch)
            assert len(cache) <= size

    @given(batches=REQUESTS, size=SIZES)
    def test_positions_are_ascending(self, make, batches, size):
        """The misses of a batch are reported in order, each once."""
        cache = make(size)
        for batch in batches:
            missed = list(cache.misses(batch))
            assert missed == sorted(set(missed))
            assert all(0 <= at < len(batch) for at in missed)

    @given(batches=REQUESTS, size=SIZES)
    def test_batches_make_no_difference(self, make, batches, size):
        """A batch gives the same result as its keys one by one."""
        together, alone = make(size), make(size)

        assert [list(together.misses(batch)) for batch in batches] == one_by_one(
            lambda key: not alone.misses([key]), batches
        )

    def test_its_repr_says_how_many_it_holds(self, make):
        """The repr shows the number of keys held."""
        cache = make(5)
        cache.misses([1, 2, 3])

        assert str(len(cache)) in repr(cache)


class TestClock:
    @given(batches=REQUESTS, size=SIZES)
    def test_it_does_what_the_paper_says(self, batches, size):
        """Hits, marks and the handle's walk are as in section 3.4."""
        clock, twin = ClockCache(size), PaperClock(size)

        assert [clock.misses(batch) for batch in batches] == one_by_one(twin.holds, batches)

    def test_a_marked_item_gets_a_second_chance(self):
        """The handle passes an item that was requested again, and evicts the next."""
        clock = ClockCache(2)
        clock.misses([1, 2, 1, 3])

        assert clock.misses([1, 2]) == [1]


class TestLru:
    @given(batches=REQUESTS, size=SIZES)
    def test_it_evicts_what_was_not_asked_for_longest(self, batches, size):
        """Hits are those of a list ordered by last request."""
        lru, twin = LruCache(size), PlainLru(size)

        assert [lru.misses(batch) for batch in batches] == one_by_one(twin.holds, batches)


class TestRandom:
    def test_the_same_chance_makes_the_same_run(self):
        """A run can be repeated from its seed."""
        batch = [Random(1).randrange(50) for _ in range(500)]

        assert RandomCache(9, Random(4)).misses(batch) == RandomCache(9, Random(4)).misses(batch)

    def test_every_item_may_be_evicted(self):
        """The evicted item is drawn from all, each time anew."""
        gone = set()
        for seed in range(60):
            cache = RandomCache(4, Random(seed))
            cache.misses([0, 1, 2, 3, 9])
            evicted, *_ = cache.misses([0, 1, 2, 3])  # 9 came in place of one of them
            gone.add(evicted)

        assert gone == {0, 1, 2, 3}


class TestStatic:
    def test_it_never_changes(self):
        """Only the given keys are hits, and always."""
        cache = StaticCache(2, [5, 6, 7])

        assert [list(cache.misses([5, 6, 7, 8])) for _ in range(3)] == [
            [0, 1, 2, 3],
            [2, 3],
            [2, 3],
        ]

    def test_without_keys_it_learns(self):
        """Without keys it holds the most popular of the first requests, 16 for each place."""
        cache = StaticCache(2)
        requests = [7, 8, 7, 8, 7, 8, 7, 8, *range(100, 124)]

        assert [list(cache.misses([key])) for key in requests] == [[0]] * 32
        assert cache.misses([7, 8, 9]) == [2]

    @given(st.lists(st.integers(0, 400), min_size=16 * 4, max_size=16 * 4), st.integers(500, 503))
    def test_it_learns_what_is_frequent(self, some, popular):
        """What is requested half of the time is learned, whatever comes between, though few keys
        are counted.
        """
        cache = StaticCache(4)
        for key in some[: 16 * 2]:
            cache.misses([key, popular])

        assert cache.misses([popular]) == []
        assert len(cache) <= 4


@pytest.mark.parametrize("make", [ClockCache, LruCache, RandomCache])
def test_a_cache_has_room(make):
    """A policy that stores every miss needs a size of at least one."""
    with pytest.raises(ValueError, match="at least 1 entry, not 0"):
        make(0)
