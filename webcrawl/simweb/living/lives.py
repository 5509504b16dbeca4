"""Pages that go for good, go and come back, or move to another URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import floor

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
