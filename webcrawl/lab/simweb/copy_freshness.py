"""The freshness of a crawl's copies, and the best that policies reach that know each page's rate of
change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

import numpy as np
import numpy.typing as npt

from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.request_log import Hit
from webcrawl.lab.simweb.world import World

# seconds after a turn at which the new edition is live: moments since 1970 are no finer
AFTER = 1e-6
NEVER_STALE = inf

Fetch = tuple[float, str]
"""When a page was fetched, and the edition that was sent."""
Weight = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a copy was either fresh, or stale since some moment."""

    begin: float
    end: float
    stale_since: float = NEVER_STALE

    @property
    def fresh(self) -> float:
        """Return the seconds for which it was fresh."""
        return self.end - self.begin if self.stale_since == NEVER_STALE else 0.0

    @property
    def age(self) -> float:
        """Return the integral of its age: the seconds since it became stale."""
        if self.stale_since == NEVER_STALE:
            return 0.0
        # The age grows by a second per second, so this is a trapezium
        return ((self.end - self.stale_since) ** 2 - (self.begin - self.stale_since) ** 2) / 2


@dataclass(slots=True)
class Freshness:
    """The weighted mean over all pages and the whole time, and of each of the equal parts of the
    time.

    A page counts from its first fetch. `age` is in seconds: how long the live edition has been
    another one.
    """

    fresh: float = 0.0
    age: float = 0.0
    pages: int = 0
    curve: list[float] = field(default_factory=list)


def fetches(world: World, hits: Iterable[Hit]) -> dict[tuple[int, int], list[Fetch]]:
    """Return what was sent of each page, by host and page, in order.

    A 304 sends nothing: the copy stays as it is.
    """
    sent: defaultdict[tuple[int, int], list[Fetch]] = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.wall):
        host = world.number(hit.host)
        # A client that has left has no copy
        if not hit.edition or host is None or world.changing_pages is None or hit.outcome == "left":
            continue
        page = world.changing_pages.page_at(host, hit.path)
        if page is not None:
            sent[host, page].append((hit.wall, hit.edition))
    return dict(sent)


def spans(world: World, at: tuple[int, int], sent: Sequence[Fetch], end: float) -> Iterator[Span]:
    """Yield the life of a page's copy from its first fetch until `end`."""
    if world.changing_pages is None or not sent:
        return
    host, page = at
    turns = iter([*world.changing_pages.change_times(host, page, sent[0][0] - AFTER, end), inf])
    turn, live = next(turns), ""
    for (begin, copy), (until, _) in pairwise([*sent, (end, "")]):
        now, stale_since = begin, NEVER_STALE
        live = world.changing_pages.edition(host, page, now)
        if copy != live:  # it was sent by a server that lies, or changed in the very moment
            stale_since = now
        while turn <= now:
            turn = next(turns)
        while now < until:
            stop = min(turn, until)
            if stop > now:
                yield Span(now, stop, stale_since)
            now = stop
            if turn == stop:
                live = world.changing_pages.edition(host, page, turn + AFTER)
                if live == copy:
                    stale_since = NEVER_STALE
                elif stale_since == NEVER_STALE:
                    stale_since = turn
                turn = next(turns)


def freshness(
    world: World,
    sent: dict[tuple[int, int], list[Fetch]],
    begin: float,
    end: float,
    *,
    weight: Weight = lambda _: 1.0,
    parts: int = 20,
) -> Freshness:
    """Return the truth about the copies between two moments.

    `sent` is from `fetches`, `weight` is of a page's first URL.
    """
    step = (end - begin) / parts
    fresh, whole, age = [0.0] * parts, [0.0] * parts, 0.0
    for (host, page), of_page in sent.items():
        w = weight(world.origin(host) + path(page))
        for span in spans(world, (host, page), of_page, end):
            for part, piece in _cut(span, begin, step, parts):
                fresh[part] += w * piece.fresh
                whole[part] += w * (piece.end - piece.begin)
                age += w * piece.age
    total = sum(whole)
    curve = [good / all_ if all_ else 0.0 for good, all_ in zip(fresh, whole, strict=True)]
    return (
        Freshness(sum(fresh) / total, age / total, len(sent), curve)
        if total
        else Freshness(curve=curve)
    )


def _cut(span: Span, begin: float, step: float, parts: int) -> Iterator[tuple[int, Span]]:
    """Yield the pieces of a span in each part of the time."""
    first, last = (
        max(int((span.begin - begin) // step), 0),
        min(int((span.end - begin) // step), parts - 1),
    )
    for part in range(first, last + 1):
        start, stop = max(span.begin, begin + part * step), min(span.end, begin + (part + 1) * step)
        if stop > start:
            yield part, Span(start, stop, span.stale_since)


_Floats = npt.NDArray[np.float64]
_STEPS = 60  # of a bisection: more digits than a float has


def optimum(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the greatest weighted freshness with so many fetches in the unit of time of the rates."""
    d, w = _changing(rates, weights)
    if not len(d) or budget <= 0:
        return _with_still(0.0, rates, weights) if len(d) else 1.0
    # At the optimum one fetch more gains the same for each page that is fetched: this level. Where
    # even the first fetch gains less, because a page changes too fast, it gets none
    low, high = 0.0, float(np.max(w / d))
    for _ in range(_STEPS):
        level = (low + high) / 2
        if float(np.sum(d / _waits(d, w, level))) > budget:
            low = level
        else:
            high = level
    return _with_still(float(np.sum(w * _fresh(_waits(d, w, high)))), rates, weights)


def uniform(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the freshness of a crawl that fetches all pages, those that never change as well,
    equally often.
    """
    d, w = _changing(rates, weights)
    # The time between two fetches is the same for all: pages by fetches
    return _with_still(float(np.sum(w * _fresh(d * (len(rates) / budget)))), rates, weights)


def proportional(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the freshness of a crawl that fetches each page in proportion to its changes."""
    d, w = _changing(rates, weights)
    return _with_still(
        float(np.sum(w * _fresh(np.full(len(d), np.sum(d) / budget)))), rates, weights
    )


def _changing(rates: Sequence[float], weights: Sequence[float]) -> tuple[_Floats, _Floats]:
    d, w = np.asarray(rates, dtype=float), np.asarray(weights, dtype=float)
    return d[d > 0], w[d > 0]


def _with_still(gained: float, rates: Sequence[float], weights: Sequence[float]) -> float:
    """Return the freshness with the pages that never change, which are always fresh, as a share of
    all weights.
    """
    still = sum(w for d, w in zip(rates, weights, strict=True) if d <= 0)
    return (gained + still) / sum(weights)


def _fresh(x: _Floats) -> _Floats:
    """Return the share of the time in which a copy is fresh, by the number of changes between two
    fetches.
    """
    # Of a page that changes at random: (1 - exp(-x)) / x (Cho and Garcia-Molina)
    return np.where(np.isfinite(x), -np.expm1(-x) / x, 0.0)


def _waits(d: _Floats, w: _Floats, level: float) -> _Floats:
    """Return the changes between two fetches of each page, inf for those that are never fetched:
    the root of 1 - (1 + x) exp(-x) = level d / w.
    """
    share = level * d / w
    # exp(-50) is below the last digit of a float beside 1
    low, high = np.zeros(len(d)), np.full(len(d), 50.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        under = -np.expm1(-middle) - middle * np.exp(-middle) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.where(share < 1, high, np.inf)
