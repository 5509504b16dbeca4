"""What policies reach that know each page's rate of change: the best one, and the simple ones beside it.

A page that changes as a Poisson process of rate d and is fetched every t is fresh for (1 - exp(-dt)) / (dt) of the
time. The best split of a budget has one multiplier for all pages (Azar, Horvitz, Lubetzky, Peres and Shahaf 2018): each
page is fetched when (w / d) (1 - (1 + dt) exp(-dt)) reaches it, and one with w / d below it never.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_STEPS = 60  # of a bisection: more digits than a float has


def optimum(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """The greatest weighted freshness with so many fetches in the unit of time of the rates."""
    d, w = _changing(rates, weights)
    if not len(d) or budget <= 0:
        return _with_still(0.0, rates, weights) if len(d) else 1.0
    low, high = 0.0, float(np.max(w / d))
    for _ in range(_STEPS):
        level = (low + high) / 2
        if float(np.sum(d / _waits(d, w, level))) > budget:
            low = level
        else:
            high = level
    return _with_still(float(np.sum(w * _fresh(_waits(d, w, high)))), rates, weights)


def uniform(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """The freshness of a crawl that fetches all pages, those that never change as well, equally often."""
    d, w = _changing(rates, weights)
    return _with_still(float(np.sum(w * _fresh(d * (len(rates) / budget)))), rates, weights)


def proportional(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """The freshness of a crawl that fetches each page in proportion to its changes."""
    d, w = _changing(rates, weights)
    return _with_still(float(np.sum(w * _fresh(np.full(len(d), np.sum(d) / budget)))), rates, weights)


def _changing(rates: Sequence[float], weights: Sequence[float]) -> tuple[_Floats, _Floats]:
    d, w = np.asarray(rates, dtype=float), np.asarray(weights, dtype=float)
    return d[d > 0], w[d > 0]


def _with_still(gained: float, rates: Sequence[float], weights: Sequence[float]) -> float:
    """With the pages that never change, which are always fresh; as a share of all weights."""
    still = sum(w for d, w in zip(rates, weights, strict=True) if d <= 0)
    return (gained + still) / sum(weights)


def _fresh(x: _Floats) -> _Floats:
    """By the number of changes between two fetches."""
    return np.where(np.isfinite(x), -np.expm1(-x) / x, 0.0)


def _waits(d: _Floats, w: _Floats, level: float) -> _Floats:
    """Dt for each page, inf for those that are never fetched: the root of 1 - (1 + x) exp(-x) = level d / w."""
    share = level * d / w
    low, high = np.zeros(len(d)), np.full(len(d), 50.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        under = -np.expm1(-middle) - middle * np.exp(-middle) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.where(share < 1, high, np.inf)
