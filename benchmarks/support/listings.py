"""The best that a crawl can do whose hosts have honest listings: it knows all rates, and pays for
what it reads.

A listing that is read every D tells then which pages have changed since, and a reading costs as
much as the fetch of a page. Within a period a page is fetched k times at equal spaces without being
told, and at the reading if it has changed since: k = 0 is a page that is fetched at signals only.
With x = rate * D / (k + 1) it is fresh for (1 - exp(-x)) / x of the time, and costs (k + 1 -
exp(-x)) / D. A fetch of a page that is known to be stale gains weight / rate whenever it is made:
so it is made at once, or never. Or a host's listing is never read, and its pages are fetched as
Azar says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_BLIND = np.array([0, 1, 2, 4, 8], dtype=float)  # k
_WAITS = 60  # that are tried
_STEPS = 25  # of a search for the level


@dataclass(frozen=True, slots=True)
class Told:
    """What is possible with honest listings.

    `readings` is per unit of time. `free` is the freshness if listings cost nothing.
    """

    fresh: float
    free: float
    readings: float
    waits: list[float]  # of each host's listing; inf: it is not read


@dataclass(slots=True)
class _Host:
    rates: _Floats
    weights: _Floats
    waits: _Floats
    gains: _Floats  # of a page, a wait and a number k: weighted freshness
    costs: _Floats  # and fetches per unit of time

    @classmethod
    def make(cls, rates: _Floats, weights: _Floats, waits: _Floats) -> _Host:
        """Return a host with what each wait and each number of fetches gains and costs."""
        x = rates[:, None, None] * waits[None, :, None] / (_BLIND + 1)
        gains = weights[:, None, None] * -np.expm1(-x) / x
        return cls(rates, weights, waits, gains, (_BLIND + 1 - np.exp(-x)) / waits[None, :, None])

    def at(self, level: float) -> tuple[float, float, float]:
        """Return the freshness that is left when fetches are paid at this level.

        With it comes how often the listing is read then, and the wait between two readings.
        """
        left = (
            np.maximum((self.gains - level * self.costs).max(axis=2), 0.0).sum(axis=0)
            - level / self.waits
        )
        best, blind = int(left.argmax()), _blind(self.rates, self.weights, level)
        return (
            (blind, 0.0, np.inf)
            if blind >= left[best]
            else (float(left[best]), 1 / self.waits[best], self.waits[best])
        )


def _blind(rates: _Floats, weights: _Floats, level: float) -> float:
    """Return what is left of freshness of pages that are fetched without being told."""
    share = np.minimum(level * rates / weights, 1.0)
    low, high = np.zeros(len(rates)), np.full(len(rates), 50.0)
    for _ in range(40):
        middle = (low + high) / 2
        below = -np.expm1(-middle) - middle * np.exp(-middle) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return float(
        np.maximum(weights * -np.expm1(-high) / high - level * rates / high, 0.0)[share < 1].sum()
    )


def told(rates: _Floats, weights: _Floats, hosts: npt.NDArray[np.int64], budget: float) -> Told:
    """Return the optimum within so many fetches per unit of time, readings included.

    `hosts` has the number of each page's host.
    """
    whole, still = float(weights.sum()), float(weights[rates <= 0].sum())
    moving = rates > 0
    d, w, of = rates[moving], weights[moving], hosts[moving]
    waits = np.geomspace(0.002, 20.0, _WAITS) * len(d) / budget
    every = [_Host.make(d[of == host], w[of == host], waits) for host in np.unique(of)]

    def bound(level: float) -> float:
        return sum(host.at(level)[0] for host in every) + level * budget

    # No policy of this kind gains more than this at any level, and at the best level one gains so
    # much.
    low, high = np.log((w / d).min() * 1e-6), np.log((w / d).max())
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (
            (low, second)
            if bound(float(np.exp(first))) < bound(float(np.exp(second)))
            else (first, high)
        )
    level = float(np.exp((low + high) / 2))
    chosen = [host.at(level) for host in every]
    return Told(
        (bound(level) + still) / whole,
        (_free(d, w, budget) + still) / whole,
        sum(often for _, often, _ in chosen),
        [wait for _, _, wait in chosen],
    )


def _free(rates: _Floats, weights: _Floats, budget: float) -> float:
    """Return the freshness if changes are known at once and for nothing."""
    order = np.argsort(-weights / rates)
    spent = np.cumsum(rates[order])
    inside = np.clip((budget - spent + rates[order]) / rates[order], 0.0, 1.0)
    return float((weights[order] * inside).sum())
