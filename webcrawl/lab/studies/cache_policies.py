"""Cache policies as loops over a trace: each returns how many of its look-ups are hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

try:
    import numba
except ImportError:
    numba = None

FAST = numba is not None


def compiled(loop: F) -> F:
    """Return the loop, compiled if numba is there.

    It gets its arrays from `vector` and `whole`, so that it runs either way.
    """
    if numba is None:
        return loop
    made: F = numba.njit(cache=True, nogil=True)(loop)
    return made


def vector(array: Any) -> Any:
    """Return an array of numpy as the loops want one.

    A list is four times faster where they are not compiled.
    """
    return array if FAST else array.tolist()


Vector = Any  # an array of numpy, or a list
NOWHERE = -1


def filled(size: int, value: int = NOWHERE) -> Vector:
    return vector(np.full(size, value, np.int64))


# -- LRU


def lru(trace: Vector, urls: int, size: int) -> int:
    return int(
        _lru(trace, size, filled(urls + 1), filled(urls + 1), vector(np.zeros(urls, np.bool_)))
    )


@compiled
def _lru(trace: Vector, size: int, older: Vector, newer: Vector, held: Vector) -> int:
    """Simulate LRU by a ring of URLs through a place of its own, `end`, whose `newer` is the oldest."""
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


# -- CLOCK and RANDOM: places with one URL each


def clock(trace: Vector, urls: int, size: int) -> int:
    return int(_clock(trace, size, filled(urls), filled(size), vector(np.zeros(size, np.bool_))))


@compiled
def _clock(trace: Vector, size: int, place: Vector, items: Vector, marks: Vector) -> int:
    hits = hand = 0
    for url in trace:
        if place[url] >= 0:
            hits += 1
            marks[place[url]] = True
            continue
        # What was asked for since the hand's last visit has a second chance
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
    misses = len(trace)  # at the most: one chance for each
    chances = np.random.default_rng(seed).integers(0, size, min(misses, 1 << 20))
    return int(_random(trace, size, filled(urls), filled(size), vector(chances)))


@compiled
def _random(trace: Vector, size: int, place: Vector, items: Vector, chances: Vector) -> int:
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
    """Hold the first `size` of `popular`, whatever is asked."""
    held = np.zeros(urls, np.bool_)
    held[popular[:size]] = True
    return int(np.count_nonzero(held[np.asarray(trace)]))


def by_popularity(trace: Any, urls: int) -> Any:
    """Return the URLs that are looked up most often first.

    Of two that are looked up as often, the one that came first goes first.
    """
    return np.argsort(-np.bincount(trace, minlength=urls), kind="stable")


# -- MIN: evicts what is wanted again last (Belady 1966)


def clairvoyant(trace: Vector, urls: int, size: int) -> int:
    following = vector(next_uses(np.asarray(trace)))
    return int(
        _clairvoyant(trace, following, size, filled(urls), filled(size + 1), filled(size + 1))
    )


def next_uses(trace: Any) -> Any:
    """Return for each look-up the position of the next one of the same URL.

    Without one it is beyond the end; these are all different.
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
    """Return a heap of the URLs held, the one wanted last on top.

    `place` says where in the heap each is.
    """
    hits = count = 0
    for position in range(len(trace)):
        url, then = trace[position], following[position]
        at = place[url]
        if at >= 0:
            hits += 1
        elif count < size:
            at = count
            count += 1
        else:
            place[heap[0]] = -1
            at = 0
        # what is new, or wanted later than before, may have to go up; what takes the top's place
        # may have to go down
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
