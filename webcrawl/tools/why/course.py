"""How hosts share the pace of a crawl that is short of slots, from now on: turns of each host by time.

A fluid in place of URLs: all hosts that have URLs get the same share, but for those whose own delay is longer. What is
new enters as the crawl lets it (`crawl/feeding.py`): a slice at a time, when no host in turn has anything to fetch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from webcrawl.crawl.feeding import SLICE

Floats = npt.NDArray[np.float64]
STEPS, GROWTH = 400, 1.02  # of time; the first is a quarter of a round
HALVINGS = 25
AT_ONCE = 1e9  # turns per second where nobody waits for anybody else


def course(
    queued: Floats, coming: Floats, turns: Floats, there: npt.NDArray[np.int64], rate: float, behind: float
) -> tuple[Floats, Floats]:
    """Times, and how many turns a host has had by then that always has URLs and no delay of its own.

    Of each host: URLs in its queue, those on their way there, and seconds between two turns; `there`: the number of its
    address, if hosts at one wait for each other, or its own. `rate`: URLs per second. `behind`: URLs of hosts that take
    the places of those that are done.
    """
    most = _limits(queued > 0, turns, there)
    step, at, had, in_turn = max(len(queued) / rate / 4, 0.05), 0.0, 0.0, int((queued > 0).sum())
    times, shares = [0.0], [0.0]
    for _ in range(STEPS):
        waiting = coming.sum()
        if waiting >= 1 and most[queued > 0].sum() < rate:
            moved = coming * min(max(SLICE, rate * step) / waiting, 1.0)
            queued, coming = queued + moved, coming - moved
        full = queued > 0
        most = _limits(full, turns, there)
        new = max(in_turn - int(full.sum()), 0) if behind > 0 else 0
        limits = np.concatenate((most[full], np.full(new, 1 / turns.mean())))
        if not len(limits):
            break
        share = _level(limits, rate)
        queued = np.maximum(queued - np.minimum(most, share) * step, 0.0)
        behind -= float(np.minimum(limits[-new:], share).sum()) * step if new else 0.0
        at, had, step = at + step, had + share * step, step * GROWTH
        times.append(at)
        shares.append(had)
    return np.array(times), np.array(shares)


def _limits(full: npt.NDArray[np.bool_], turns: Floats, there: npt.NDArray[np.int64]) -> Floats:
    """Of each host that has URLs, how many per second its delay and those of the others at its address allow."""
    taken = np.bincount(there, weights=turns * full)[there]
    return np.divide(1.0, taken, out=np.zeros(len(turns)), where=full)


def _level(limits: Floats, rate: float) -> float:
    """The share of each, of at most its limit, by which all together have this rate; any if the limits allow less."""
    low, high = 0.0, float(limits.max())
    if limits.sum() <= rate:
        return AT_ONCE
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(limits, middle).sum() > rate else (middle, high)
    return high
