"""Each policy's loop counts the hits that a plain model of it has, size by size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.policies import LruCache
from webcrawl.lab.studies import cache_policies
from webcrawl.lab.studies.cache_policies import vector

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
def test_no_policy_beats_min(trace, size):
    """None that must hold what was asked for last has more hits than MIN, and none more than an
    infinite one.
    """
    most = hits(cache_policies.clairvoyant, trace, size)
    assert most <= len(trace) - len({*trace})
    for policy in (cache_policies.lru, cache_policies.clock, cache_policies.random):
        assert hits(policy, trace, size) <= most


@given(TRACES)
def test_all_fit(trace):
    """Each policy hits all but first look-ups if there is room for all."""
    for policy in (cache_policies.lru, cache_policies.clock, cache_policies.random):
        assert hits(policy, trace, 13) == len(trace) - len({*trace}), policy


def test_random_depends_on_its_seed_alone():
    """RANDOM can be repeated."""
    trace = vector(np.random.default_rng(2).integers(0, 50, 2000))
    assert cache_policies.random(trace, 50, 10, seed=5) == cache_policies.random(
        trace, 50, 10, seed=5
    )


def test_static():
    """STATIC holds what was popular in its training, and never anything else."""
    trace = np.array([0, 1, 1, 2, 2, 2, 0])
    popular = cache_policies.by_popularity(np.array([2, 2, 1, 1, 0]), 3)
    assert popular.tolist() == [1, 2, 0]
    assert cache_policies.static(trace, 3, 1, popular) == 2
    assert cache_policies.static(trace, 3, 2, popular) == 5
