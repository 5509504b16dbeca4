"""Each policy's loop counts the hits that a plain model of it has, size by size."""

from collections import Counter, deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.lru import LruCache
from webcrawl.lab.studies import cache_policies
from webcrawl.lab.studies.cache_policies import vector
from webcrawl.lab.studies.tinylfu import wtinylfu

TRACES = st.lists(st.integers(0, 12), max_size=80)
SIZES = st.integers(1, 14)


def hits(policy, trace, size):
    found = np.array(trace, np.int64)
    return policy(vector(found), 13, size)


def shipped(cache, trace):
    return len(trace) - len(cache.misses(trace))


@given(TRACES, SIZES)
def test_clock(trace, size):
    """CLOCK is the one that crawls use."""
    assert hits(cache_policies.clock, trace, size) == shipped(ClockCache(size), trace)


@given(TRACES, SIZES)
def test_lru(trace, size):
    """LRU is the one that crawls can use."""
    assert hits(cache_policies.lru, trace, size) == shipped(LruCache(size), trace)


@given(TRACES, SIZES)
def test_min(trace, size):
    """MIN evicts what is wanted again last; among those that never are it does not matter which."""
    held, found = set(), 0
    for at, url in enumerate(trace):
        if url in held:
            found += 1
            continue
        if len(held) == size:
            rest = trace[at:]
            held.remove(max(held, key=lambda one: rest.index(one) if one in rest else len(trace)))
        held.add(url)
    assert hits(cache_policies.clairvoyant, trace, size) == found


def best(trace, size):
    """The most hits that any choice of what to evict can have, by trying all."""
    reached = {frozenset(): 0}
    for url in trace:
        following = {}
        for held, found in reached.items():
            if url in held:
                choices = [(held, found + 1)]
            elif len(held) < size:
                choices = [(held | {url}, found)]
            else:
                choices = [(held - {gone} | {url}, found) for gone in held]
            for after, count in choices:
                following[after] = max(following.get(after, -1), count)
        reached = following
    return max(reached.values())


@given(st.lists(st.integers(0, 5), max_size=16), st.integers(1, 4))
def test_min_is_best(trace, size):
    """No choice of what to evict has more hits than MIN."""
    assert hits(cache_policies.clairvoyant, trace, size) == best(trace, size)


@given(TRACES, SIZES)
def test_sieve(trace, size):
    """SIEVE keeps the order of arrival; its hand goes from old to new, and spares what was asked for since."""
    queue, asked, hand, found = [], set(), None, 0  # the newest first
    for url in trace:
        if url in queue:
            found += 1
            asked.add(url)
            continue
        if len(queue) == size:
            at = queue.index(hand) if hand is not None else len(queue) - 1
            while queue[at] in asked:
                asked.remove(queue[at])
                at = at - 1 if at else len(queue) - 1
            hand = queue[at - 1] if at else None
            del queue[at]
        queue.insert(0, url)
    assert hits(cache_policies.sieve, trace, size) == found


@given(TRACES, SIZES)
def test_s3fifo(trace, size):
    """S3-FIFO: as its paper's Algorithm 1 says, with a tenth for the small queue."""
    target, small, main, uses, ghosts, found = max(size // 10, 1), deque(), deque(), Counter(), [], 0
    for url in trace:
        if url in small or url in main:
            found += 1
            uses[url] = min(uses[url] + 1, 3)
            continue
        while len(small) + len(main) >= size:
            if len(small) >= target or not main:
                oldest = small.pop()
                if uses[oldest] > 1:
                    uses[oldest] = 0
                    main.appendleft(oldest)
                else:
                    ghosts.append(oldest)
            else:
                oldest = main.pop()
                if uses[oldest]:
                    uses[oldest] -= 1
                    main.appendleft(oldest)
        known = url in ghosts[max(len(ghosts) - (size - target), 0) :]
        ghosts = [None if one == url else one for one in ghosts]
        uses[url] = 0
        (main if known else small).appendleft(url)
    assert hits(cache_policies.s3fifo, trace, size) == found


@given(TRACES)
def test_wtinylfu_of_one(trace):
    """A W-TinyLFU of one entry has nothing but its window."""
    assert hits(wtinylfu, trace, 1) == shipped(LruCache(1), trace)


@given(TRACES, SIZES)
def test_no_policy_beats_min(trace, size):
    """None that must hold what was asked for last has more hits than MIN, and none more than an infinite one."""
    most = hits(cache_policies.clairvoyant, trace, size)
    assert most <= len(trace) - len({*trace})
    for policy in (
        cache_policies.lru,
        cache_policies.clock,
        cache_policies.random,
        cache_policies.sieve,
        cache_policies.s3fifo,
    ):
        assert hits(policy, trace, size) <= most
    assert hits(wtinylfu, trace, size) <= len(trace) - len({*trace})


@given(TRACES)
def test_all_fit(trace):
    """Each policy hits all but first look-ups if there is room for all, W-TinyLFU too."""
    for policy in (
        cache_policies.lru,
        cache_policies.clock,
        cache_policies.random,
        cache_policies.sieve,
        cache_policies.s3fifo,
        wtinylfu,
    ):
        assert hits(policy, trace, 13) == len(trace) - len({*trace}), policy


def test_wtinylfu_keeps_what_is_popular():
    """URLs that come once do not drive out those that come again and again."""
    popular = [url for _ in range(40) for url in range(10)]
    trace = np.array([one for at, url in enumerate(popular) for one in (url, 100 + 2 * at, 101 + 2 * at)], np.int64)
    assert wtinylfu(vector(trace), 1000, 12) > 300
    assert cache_policies.lru(vector(trace), 1000, 12) == 0


def test_random_depends_on_its_seed_alone():
    """RANDOM can be repeated."""
    trace = vector(np.random.default_rng(2).integers(0, 50, 2000))
    assert cache_policies.random(trace, 50, 10, seed=5) == cache_policies.random(trace, 50, 10, seed=5)


def test_static():
    """STATIC holds what was popular in its training, and never anything else."""
    trace = np.array([0, 1, 1, 2, 2, 2, 0])
    popular = cache_policies.by_popularity(np.array([2, 2, 1, 1, 0]), 3)
    assert popular.tolist() == [1, 2, 0]
    assert cache_policies.static(trace, 3, 1, popular) == 2
    assert cache_policies.static(trace, 3, 2, popular) == 5
