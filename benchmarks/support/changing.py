"""A web whose pages change by known Poisson processes, and the best that anybody could do who knew
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DAY = 86400.0
Array = Any  # of float64
# Cho & Garcia-Molina 2000, 720,000 pages watched daily for four months: average days between two
# changes
BINS = {
    (1 / 24, 1): 0.23,
    (1, 7): 0.15,
    (7, 30): 0.16,
    (30, 120): 0.16,
    (120, 1200): 0.30,
}


def lognormal(random: np.random.Generator, pages: int) -> Array:
    """Return changes per second: a page in the middle changes once in 30 days.

    Two thirds of the pages are within a factor of 7.4.
    """
    return np.exp(2 * random.standard_normal(pages)) / (30 * DAY)


def observed(random: np.random.Generator, pages: int) -> Array:
    """Return changes per second as in the study of 2000.

    Within a bin all orders of magnitude are equally likely.
    """
    bins = np.log(list(BINS))[random.choice(len(BINS), pages, p=list(BINS.values()))]
    return np.exp(-random.uniform(bins[:, 0], bins[:, 1])) / DAY


def gamma(random: np.random.Generator, pages: int) -> Array:
    """Return changes per second by a gamma distribution: once in 30 days on average.

    Many pages hardly ever change.
    """
    return random.gamma(0.5, 2 / (30 * DAY), pages)


def mixed(random: np.random.Generator, pages: int) -> Array:
    """Return changes per second: of a tenth of the pages some a day, of the others one in 300
    days.
    """
    often = random.random(pages) < 0.1
    return (
        np.where(
            often,
            np.exp(0.5 * random.standard_normal(pages)) * 4,
            np.exp(0.7 * random.standard_normal(pages)) / 300,
        )
        / DAY
    )


_X = np.geomspace(1e-3, 40.0, 20_000)  # from where a square is as good to where all is reached
_LOG_X = np.log(np.concatenate(([1e-12], _X)))
_LOG_RISES = np.log(np.concatenate(([1e-24 / 2], -np.expm1(-_X) - _X * np.exp(-_X))))

RATES = {"lognormal": lognormal, "observed": observed, "gamma": gamma, "mixed": mixed}


@dataclass
class World:
    """Pages with their rates of change and their weights."""

    rates: Array
    weights: Array  # their sum is 1
    random: np.random.Generator

    @classmethod
    def make(cls, pages: int, rates: str = "lognormal", seed: int = 1, zipf: float = 0.8) -> World:
        """Return a world of so many pages; `rates` is one of RATES, and `zipf` the exponent of the
        weights.
        """
        random = np.random.default_rng(seed)
        weights = 1 / np.arange(1, pages + 1) ** zipf
        random.shuffle(weights)
        return cls(RATES[rates](random, pages), weights / weights.sum(), random)

    def __len__(self) -> int:
        return len(self.rates)


def rises(x: Array) -> Array:
    """Return Azar's index of a page of rate and weight 1."""
    return 1 - (1 + x) * np.exp(-x)


def _inverse(y: Array) -> Array:
    """Return the x that `rises` maps to y, right within a millionth."""
    return np.exp(np.interp(np.log(y), _LOG_RISES, _LOG_X))


@dataclass
class Best:
    """What is possible if all rates are known."""

    freshness: float
    visits: Array  # per second, of each page
    level: float  # what a visit is worth
    never: float  # share of pages


def best(world: World, budget: float, told: Array | None = None) -> Best:
    """Return the optimum within so many visits per second.

    Pages in `told` say when they change, and are fetched then.
    """
    low, high = -60.0, 60.0
    for _ in range(70):
        middle = (low + high) / 2
        found = _at(world, float(np.exp(middle)), told)
        low, high = (middle, high) if found.visits.sum() > budget else (low, middle)
    return found


def _at(world: World, level: float, told: Array | None) -> Best:
    """Return what comes of a level: pages whose index reaches it are visited at that moment.

    Pages in `told` are visited at each change, if that is worth it.
    """
    part = level * world.rates / world.weights
    worth = part < 1
    x = np.full(len(world), np.inf)
    x[worth] = _inverse(part[worth])
    visits = np.where(worth, world.rates / x, 0.0)
    fresh = np.where(worth, -np.expm1(-x) / x, 0.0)
    if told is not None:
        visits = np.where(told, worth * world.rates, visits)
        fresh = np.where(told, worth * 1.0, fresh)
    return Best(float((world.weights * fresh).sum()), visits, level, 1 - float(worth.mean()))


def at_rates(world: World, visits: Array) -> float:
    """Return the freshness if each page is visited at equal intervals, at these rates."""
    x = world.rates / np.maximum(visits, 1e-300)
    return float((world.weights * -np.expm1(-x) / x).sum())
