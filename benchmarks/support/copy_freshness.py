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

# So long after a change the new edition is certainly live: moments since 1970 are no finer
MOMENT_SECONDS = 1e-6
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
    """How fresh a crawl's copies were: weighted means over all pages and the whole time.

    A page counts from its first fetch.
    """

    fresh: float = 0.0  # share of the time in which a copy was fresh
    age: float = 0.0  # seconds since a copy became stale, 0 while it is fresh
    pages: int = 0
    curve: list[float] = field(default_factory=list)  # `fresh` in each of equal parts of the time


def fetches(world: World, hits: Iterable[Hit]) -> dict[tuple[int, int], list[Fetch]]:
    """Return the fetches of each page, in order, by host and page.

    A 304 is no fetch: the copy stays as it is.
    """
    sent: defaultdict[tuple[int, int], list[Fetch]] = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.wall):
        host = world.number(hit.host)
        has_copy = hit.edition and hit.outcome != "left"  # a client that has left has none
        if not has_copy or host is None or world.changing_pages is None:
            continue
        page = world.changing_pages.page_at(host, hit.path)
        if page is not None:
            sent[host, page].append((hit.wall, hit.edition))
    return dict(sent)


def spans(world: World, at: tuple[int, int], sent: Sequence[Fetch], end: float) -> Iterator[Span]:
    """Yield the spans of a page's copy from its first fetch until `end`, in order.

    `at` is the page's host and number, and `sent` its fetches in order.
    """
    if world.changing_pages is None or not sent:
        return
    host, page = at
    first_fetch, _ = sent[0]
    changes = world.changing_pages.change_times(host, page, first_fetch - MOMENT_SECONDS, end)
    turns = iter([*changes, inf])
    turn = next(turns)
    for (begin, copy), (until, _) in pairwise([*sent, (end, "")]):
        now = begin
        stale_since = NEVER_STALE
        # A server that lies has sent another edition, or the page changed in the very moment
        if copy != world.changing_pages.edition(host, page, now):
            stale_since = now
        while turn <= now:
            turn = next(turns)
        while now < until:
            stop = min(turn, until)
            if stop > now:
                yield Span(now, stop, stale_since)
            now = stop
            if turn == stop:
                live = world.changing_pages.edition(host, page, turn + MOMENT_SECONDS)
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
    """Return how fresh the copies really were between two moments.

    `sent` is what `fetches` returns. `weight` returns the weight of a page by its first URL. The
    curve has `parts` points.
    """
    step = (end - begin) / parts
    fresh_seconds = [0.0] * parts
    all_seconds = [0.0] * parts
    age = 0.0
    for (host, page), of_page in sent.items():
        page_weight = weight(world.origin(host) + path(page))
        for span in spans(world, (host, page), of_page, end):
            for part, piece in _pieces(span, begin, step, parts):
                fresh_seconds[part] += page_weight * piece.fresh
                all_seconds[part] += page_weight * (piece.end - piece.begin)
                age += page_weight * piece.age
    total = sum(all_seconds)
    curve = [
        fresh / whole if whole else 0.0
        for fresh, whole in zip(fresh_seconds, all_seconds, strict=True)
    ]
    if not total:
        return Freshness(curve=curve)
    return Freshness(sum(fresh_seconds) / total, age / total, len(sent), curve)


def _pieces(span: Span, begin: float, step: float, parts: int) -> Iterator[tuple[int, Span]]:
    """Yield the piece of a span that lies in each part of the time, with the number of the part."""
    first = max(int((span.begin - begin) // step), 0)
    last = min(int((span.end - begin) // step), parts - 1)
    for part in range(first, last + 1):
        start = max(span.begin, begin + part * step)
        stop = min(span.end, begin + (part + 1) * step)
        if stop > start:
            yield part, Span(start, stop, span.stale_since)


_Floats = npt.NDArray[np.float64]
_BISECTIONS = 60  # more than a float has binary digits


def optimum(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the greatest weighted freshness that any policy reaches with this budget.

    `rates` are the changes of each page and `budget` the fetches of all pages, both in the same
    unit of time.
    """
    # In this and the following functions d is an array of rates of change, and w one of weights,
    # as in Cho and Garcia-Molina
    d, w = _only_changing(rates, weights)
    if not len(d):
        return 1.0
    if budget <= 0:
        return _with_unchanging(0.0, rates, weights)
    # At the optimum one fetch more gains the same for each page that is fetched: this level. Where
    # even the first fetch gains less, because a page changes too fast, it gets none
    low, high = 0.0, float(np.max(w / d))
    for _ in range(_BISECTIONS):
        level = (low + high) / 2
        if float(np.sum(d / _changes_between_fetches(d, w, level))) > budget:
            low = level
        else:
            high = level
    return _with_unchanging(
        float(np.sum(w * _fresh_share(_changes_between_fetches(d, w, high)))), rates, weights
    )


def uniform(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the freshness of a crawl that fetches all pages equally often.

    It spends fetches on pages that never change, too.
    """
    d, w = _only_changing(rates, weights)
    # The time between two fetches is the same for all: pages by fetches
    return _with_unchanging(
        float(np.sum(w * _fresh_share(d * (len(rates) / budget)))), rates, weights
    )


def proportional(rates: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """Return the freshness of a crawl that fetches each page in proportion to its changes."""
    d, w = _only_changing(rates, weights)
    changes = np.full(len(d), np.sum(d) / budget)  # between two fetches of any page
    return _with_unchanging(float(np.sum(w * _fresh_share(changes))), rates, weights)


def _only_changing(rates: Sequence[float], weights: Sequence[float]) -> tuple[_Floats, _Floats]:
    """Return the rates and the weights of the pages that change at all."""
    d, w = np.asarray(rates, dtype=float), np.asarray(weights, dtype=float)
    return d[d > 0], w[d > 0]


def _with_unchanging(gained: float, rates: Sequence[float], weights: Sequence[float]) -> float:
    """Return the freshness of all pages, given the weighted freshness of those that change.

    Pages that never change are always fresh.
    """
    unchanging = sum(w for d, w in zip(rates, weights, strict=True) if d <= 0)
    return (gained + unchanging) / sum(weights)


def _fresh_share(x: _Floats) -> _Floats:
    """Return the share of the time in which copies are fresh.

    `x` is the mean number of changes between two fetches of each page.
    """
    # Of a page that changes at random: (1 - exp(-x)) / x (Cho and Garcia-Molina)
    return np.where(np.isfinite(x), -np.expm1(-x) / x, 0.0)


def _changes_between_fetches(d: _Floats, w: _Floats, level: float) -> _Floats:
    """Return the mean number of changes between two fetches of each page; inf if it is never fetched.

    At that number one fetch more gains `level` for each page. It is the root x of
    1 - (1 + x) exp(-x) = level d / w.
    """
    share = level * d / w
    # exp(-50) is below the last digit of a float beside 1
    low, high = np.zeros(len(d)), np.full(len(d), 50.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        under = -np.expm1(-middle) - middle * np.exp(-middle) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.where(share < 1, high, np.inf)
