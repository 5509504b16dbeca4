"""Cache policies as loops over a trace: each returns how many of its look-ups are hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

LoopT = TypeVar("LoopT", bound=Callable[..., Any])

try:
    import numba
except ImportError:
    numba = None

FAST = numba is not None


def compiled(loop: LoopT) -> LoopT:
    """Return the loop, compiled if numba is installed.

    Its arrays must come from `vector` or `filled_vector`, so that it runs either way.
    """
    if numba is None:
        return loop
    compiled_loop: LoopT = numba.njit(cache=True, nogil=True)(loop)
    return compiled_loop


def vector(array: Any) -> Any:
    """Return an array of numpy in the form that the loops take.

    That is a list if they are not compiled, because they run four times as fast with one.
    """
    return array if FAST else array.tolist()


Vector = Any  # an array of numpy, or a list
NO_URL = -1


def filled_vector(size: int) -> Vector:
    return vector(np.full(size, NO_URL, np.int64))


# -- LRU


def lru(trace: Vector, urls: int, size: int) -> int:
    """Return the hits of a cache that evicts the URL whose last look-up is longest ago."""
    return int(
        _lru(
            trace,
            size,
            filled_vector(urls + 1),
            filled_vector(urls + 1),
            vector(np.zeros(urls, np.bool_)),
        )
    )


@compiled
def _lru(trace: Vector, size: int, older: Vector, newer: Vector, held: Vector) -> int:
    """Simulate LRU by a ring of the URLs held, which `older` and `newer` link in both directions.

    The ring also passes through `end`, which is no URL: `newer[end]` is the oldest URL, and
    `older[end]` the newest.
    """
    hits = count = 0
    end = len(older) - 1
    older[end] = newer[end] = end
    for url in trace:
        if held[url]:
            hits += 1
            newer[older[url]], older[newer[url]] = newer[url], older[url]
        else:
            if count == size:
                oldest = newer[end]
                held[oldest] = False
                newer[end] = newer[oldest]
                older[newer[oldest]] = end
            else:
                count += 1
            held[url] = True
        latest = older[end]
        older[url], newer[url] = latest, end
        newer[latest] = url
        older[end] = url
    return hits


# -- CLOCK and RANDOM: `items` has the URL in each place of the cache, and `place` is where a URL is


def clock(trace: Vector, urls: int, size: int) -> int:
    """Return the hits of a cache that evicts the first unmarked URL that a moving hand meets."""
    return int(
        _clock(
            trace, size, filled_vector(urls), filled_vector(size), vector(np.zeros(size, np.bool_))
        )
    )


@compiled
def _clock(trace: Vector, size: int, place: Vector, items: Vector, marks: Vector) -> int:
    """Simulate CLOCK. `marks` says which places have been hit since the hand passed."""
    hits = hand = 0
    for url in trace:
        if place[url] >= 0:
            hits += 1
            marks[place[url]] = True
            continue
        # A URL that was looked up since the hand's last visit has a second chance
        while marks[hand]:
            marks[hand] = False
            hand = hand + 1 if hand + 1 < size else 0
        if items[hand] >= 0:
            place[items[hand]] = -1
        items[hand] = url
        place[url] = hand
        hand = hand + 1 if hand + 1 < size else 0
    return hits


def random(trace: Vector, urls: int, size: int, seed: int = 1) -> int:
    """Return the hits of a cache that evicts a URL at random."""
    misses = len(trace)  # at the most: one chance for each
    chances = np.random.default_rng(seed).integers(0, size, min(misses, 1 << 20))
    return int(_random(trace, size, filled_vector(urls), filled_vector(size), vector(chances)))


@compiled
def _random(trace: Vector, size: int, place: Vector, items: Vector, chances: Vector) -> int:
    """Simulate RANDOM. `chances` are the places to evict, repeated if there are more misses."""
    hits = misses = 0
    for url in trace:
        if place[url] >= 0:
            hits += 1
            continue
        at = misses if misses < size else chances[misses % len(chances)]
        misses += 1
        if items[at] >= 0:
            place[items[at]] = -1
        items[at] = url
        place[url] = at
    return hits


# -- STATIC, and no bound at all


def static(trace: Vector, urls: int, size: int, popular: Any) -> int:
    """Return the hits of a cache that always holds the first `size` URLs of `popular`."""
    held = np.zeros(urls, np.bool_)
    held[popular[:size]] = True
    return int(np.count_nonzero(held[np.asarray(trace)]))


def by_popularity(trace: Any, urls: int) -> Any:
    """Return all URLs, those that are looked up most often first.

    Of two that are looked up equally often, the one with the smaller number comes first.
    """
    return np.argsort(-np.bincount(trace, minlength=urls), kind="stable")


# -- MIN: evicts what is wanted again last (Belady 1966)


def clairvoyant(trace: Vector, urls: int, size: int) -> int:
    """Return the hits of the best possible cache: it evicts the URL that is looked up again last."""
    following = vector(next_uses(np.asarray(trace)))
    return int(
        _clairvoyant(
            trace,
            following,
            size,
            filled_vector(urls),
            filled_vector(size + 1),
            filled_vector(size + 1),
        )
    )


def next_uses(trace: Any) -> Any:
    """Return for each look-up the position of the next look-up of the same URL.

    For the last look-up of a URL it is beyond the end of the trace, and different for each URL.
    """
    order = np.argsort(trace, kind="stable")
    following = np.arange(len(trace), 2 * len(trace), dtype=np.int64)
    same = trace[order[1:]] == trace[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


@compiled
def _clairvoyant(
    trace: Vector, following: Vector, size: int, place: Vector, heap: Vector, when: Vector
) -> int:
    """Simulate MIN by a heap of the URLs held, with the one that is looked up again last on top.

    `heap` has the URLs, `when` the position of each one's next look-up, and `place` says where in
    the heap each URL is.
    """
    hits = count = 0
    for position in range(len(trace)):
        url = trace[position]
        then = following[position]
        at = place[url]
        if at >= 0:
            hits += 1
        elif count < size:
            at = count
            count += 1
        else:
            place[heap[0]] = -1
            at = 0
        # A URL that is new, or wanted later than before, may have to go up; one that takes the
        # place of the top may have to go down
        while at > 0 and when[(at - 1) // 2] < then:
            parent = (at - 1) // 2
            heap[at], when[at] = heap[parent], when[parent]
            place[heap[at]] = at
            at = parent
        while True:
            child = 2 * at + 1
            if child + 1 < count and when[child + 1] > when[child]:
                child += 1
            if child >= count or when[child] <= then:
                break
            heap[at], when[at] = heap[child], when[child]
            place[heap[at]] = at
            at = child
        heap[at], when[at] = url, then
        place[url] = at
    return hits
