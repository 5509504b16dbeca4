"""W-TinyLFU (Einziger, Friedman, Manes 2017): whoever leaves a small LRU stays if it was asked for more often than who
would have to go.
"""

from __future__ import annotations

from typing import Any

from webcrawl.lab.studies.cache_policies import compiled, filled

Vector = Any  # an array of numpy, or a list
WINDOW, PROBATION, PROTECTED = 1, 2, 3
ROWS, MOST = 4, 15  # of the counters
FACTOR, STEP = 2654435761, 81006  # of the hashes: an odd number for each row


def wtinylfu(trace: Vector, urls: int, size: int) -> int:
    """A hundredth is the window, four fifths of the rest are protected; counters are halved from time to time."""
    window = max(size // 100, 1)
    shares = window, (size - window) * 4 // 5
    bits = max((8 * size).bit_length(), 6)
    rings = filled(urls + 3), filled(urls + 3)
    return int(_wtinylfu(trace, size, *shares, *rings, filled(urls, 0), filled(ROWS << bits, 0), bits))


@compiled
def _wtinylfu(
    trace: Vector,
    size: int,
    window: int,
    protected: int,
    older: Vector,
    newer: Vector,
    place: Vector,
    counters: Vector,
    bits: int,
) -> int:
    """Three LRU rings; `place` says which one a URL is in, 0 none."""
    hits = counted = in_window = on_probation = in_protected = 0
    end = len(older) - 4  # the end of a ring is at `end` and its number
    for ring in range(WINDOW, PROTECTED + 1):
        older[end + ring] = newer[end + ring] = end + ring
    for url in trace:
        counted = _count(counters, bits, url, counted, 10 * size)
        if place[url]:
            hits += 1
            _unlink(older, newer, url)
            if place[url] == PROBATION:
                on_probation -= 1
                in_protected += 1
                place[url] = PROTECTED
        else:
            in_window += 1
            place[url] = WINDOW
        _link(older, newer, url, end + place[url])
        if in_protected > protected:
            moved = newer[end + PROTECTED]
            in_protected -= 1
        elif in_window > window:
            moved = newer[end + WINDOW]
            in_window -= 1
        else:
            continue
        comes = place[moved] == WINDOW
        on_probation += 1
        place[moved] = PROBATION
        _unlink(older, newer, moved)
        _link(older, newer, moved, end + PROBATION)
        if comes and in_window + on_probation + in_protected > size:
            victim = newer[end + PROBATION] if on_probation > 1 or not in_protected else newer[end + PROTECTED]
            goes = victim if _asked(counters, bits, moved) > _asked(counters, bits, victim) else moved
            _unlink(older, newer, goes)
            if place[goes] == PROTECTED:
                in_protected -= 1
            else:
                on_probation -= 1
            place[goes] = 0
    return hits


@compiled
def _link(older: Vector, newer: Vector, url: int, end: int) -> None:
    """Makes it the newest of the ring that ends there."""
    latest = older[end]
    older[url], newer[url] = latest, end
    newer[latest] = url
    older[end] = url


@compiled
def _unlink(older: Vector, newer: Vector, url: int) -> None:
    newer[older[url]], older[newer[url]] = newer[url], older[url]


@compiled
def _at(bits: int, url: int, row: int) -> int:
    return (row << bits) + (((url + 1) * (FACTOR + STEP * row) & 0xFFFFFFFF) >> (32 - bits))


@compiled
def _asked(counters: Vector, bits: int, url: int) -> int:
    """Return how often it was asked for, as far as that is still known; rather too often than not often enough."""
    least = MOST
    for row in range(ROWS):
        least = min(least, counters[_at(bits, url, row)])
    return least


@compiled
def _count(counters: Vector, bits: int, url: int, counted: int, period: int) -> int:
    """Counts a look-up; returns how many there were since the counters were halved, which this may do."""
    for row in range(ROWS):
        at = _at(bits, url, row)
        if counters[at] < MOST:
            counters[at] += 1
    if counted + 1 < period:
        return counted + 1
    for at in range(len(counters)):
        counters[at] //= 2
    return period // 2
