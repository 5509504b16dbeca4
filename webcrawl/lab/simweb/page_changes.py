"""When a page changes, and whether it is there: pure functions of its dice and the time."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from itertools import accumulate
from math import exp, factorial, floor, inf
from statistics import NormalDist
from struct import Struct

SPREAD = 2.0  # of the rates' logarithms: the standard deviation that crawls of the web have found
_LOOK_BACK = 200  # cells; the chance that so many are empty is nil
_PLACE, _DICE = Struct("<QQQqB"), Struct("<16Q")
_POISSON = tuple(accumulate(exp(-1) / factorial(count) for count in range(13)))  # of mean 1, cumulated
_BURST, _BURST_CHANCE, _BURST_WIDTH = 8, 0.5, 0.02  # changes, bursts per cell, and their length in cells

Dice = Callable[[int], tuple[int, ...]]


def dice_of(seed: int, host: int, page: int) -> Dice:
    """The 16 random numbers of each cell of a page."""

    def dice(cell: int) -> tuple[int, ...]:
        return _DICE.unpack(shake_128(_PLACE.pack(seed, host, page, cell, 1)).digest(_DICE.size))

    return dice


def unit(die: int) -> float:
    """A number in [0, 1)."""
    return (die >> 11) / 2**53


@dataclass(frozen=True, slots=True)
class Process:
    """`rate` is the mean number of changes per day, `at` says where in a cell of `width` days they are, in order."""

    rate: float
    width: float
    at: Callable[[int], Sequence[float]]

    def last(self, time: float) -> float:
        """The last change until this time, -inf if there was none."""
        if self.width == inf:
            return -inf
        start = floor(time / self.width)
        for cell in range(start, start - _LOOK_BACK, -1):
            for place in reversed(self.at(cell)):
                if (moment := (cell + place) * self.width) <= time:
                    return moment
        return -inf

    def between(self, begin: float, end: float) -> Iterator[float]:
        """All changes after `begin` until `end`, in order."""
        if self.width == inf or end <= begin:
            return
        for cell in range(floor(begin / self.width), floor(end / self.width) + 1):
            for place in self.at(cell):
                if begin < (moment := (cell + place) * self.width) <= end:
                    yield moment


NEVER = Process(0.0, inf, lambda _: ())


def random_rate(median: float, die: int) -> float:
    """A log-normal rate: half of all are above the median, a few hundreds of times as high."""
    return median * exp(SPREAD * NormalDist().inv_cdf(min(max(unit(die), 1e-6), 1 - 1e-6)))


def poisson(rate: float, dice: Dice) -> Process:
    def at(cell: int) -> list[float]:
        thrown = dice(cell)
        return sorted(map(unit, thrown[1 : 1 + bisect(_POISSON, unit(thrown[0]))]))

    return Process(rate, 1 / rate, at)


def regular(period: float, dice: Dice) -> Process:
    """Once in each period, at the page's own time, give or take a tenth of the period."""
    phase = unit(dice(-(2**40))[0]) * 0.9
    return Process(1 / period, period, lambda cell: (phase + unit(dice(cell)[0]) * 0.1,))


def bursts(rate: float, dice: Dice) -> Process:
    """Many changes within a short time, then none for long."""

    def at(cell: int) -> list[float]:
        chance, start, *others = map(unit, dice(cell))
        if chance >= _BURST_CHANCE:
            return []
        return sorted(start * (1 - _BURST_WIDTH) + other * _BURST_WIDTH for other in others[:_BURST])

    return Process(rate, _BURST * _BURST_CHANCE / rate, at)


FIRST, LAST = 1.0, 10.0  # days: when pages go or move, the first and the last
_CYCLE, _AWAY = 6.0, 2.0  # days of those that come back: from absence to absence, and of an absence


@dataclass(frozen=True, slots=True)
class Life:
    """`status` says what a page's own URL answers at a time: 200 while it is there."""

    status: Callable[[float], int]
    turns: Callable[[float, float], Iterator[float]]  # the moments after one time until another at which that changes


ALWAYS = Life(lambda _: 200, lambda _, __: iter(()))


def once(status: int, chance: float) -> Life:
    """From some day on the URL has another status."""
    moment = FIRST + (LAST - FIRST) * chance
    return Life(
        lambda time: status if time >= moment else 200,
        lambda begin, end: iter([moment] if begin < moment <= end else []),
    )


def returning(chance: float) -> Life:
    """Absent for two days of each six, but not at the start."""
    away = FIRST + (_CYCLE - _AWAY - FIRST) * chance

    def status(time: float) -> int:
        return 404 if time > 0 and away <= time % _CYCLE < away + _AWAY else 200

    def turns(begin: float, end: float) -> Iterator[float]:
        for cycle in range(max(floor(begin / _CYCLE), 0), floor(max(end, 0) / _CYCLE) + 1):
            for moment in (cycle * _CYCLE + away, cycle * _CYCLE + away + _AWAY):
                if begin < moment <= end:
                    yield moment

    return Life(status, turns)
