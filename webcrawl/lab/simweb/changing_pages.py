"""The changing part of a world: when a page changes, which edition is live, and what a request for
it gets.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128
from heapq import merge
from itertools import accumulate
from math import exp, factorial, floor, inf
from statistics import NormalDist
from struct import Struct

from webcrawl.lab.simweb import random_content, site_listings, tree_pages
from webcrawl.lab.simweb.random_content import WORDS, draws
from webcrawl.lab.simweb.web_answers import Ask, Web, WebAnswer

SPREAD = 2.0  # of the rates' logarithms: the standard deviation that crawls of the web have found
_LOOK_BACK = 200  # cells; the chance that so many are empty is nil
_PLACE, _DICE = Struct("<QQQqB"), Struct("<16Q")
# of mean 1, cumulated
_POISSON = tuple(accumulate(exp(-1) / factorial(count) for count in range(13)))
# changes, bursts per cell, and their length in cells
_BURST, _BURST_CHANCE, _BURST_WIDTH = 8, 0.5, 0.02

Dice = Callable[[int], tuple[int, ...]]


def dice_of(seed: int, host: int, page: int) -> Dice:
    """Return the 16 random numbers of each cell of a page."""

    def dice(cell: int) -> tuple[int, ...]:
        return _DICE.unpack(shake_128(_PLACE.pack(seed, host, page, cell, 1)).digest(_DICE.size))

    return dice


def unit(die: int) -> float:
    """Return a number in [0, 1)."""
    return (die >> 11) / 2**53


@dataclass(frozen=True, slots=True)
class ChangeProcess:
    """`rate` is the mean number of changes per day, `at` says where in a cell of `width` days they
    are, in order.
    """

    rate: float
    width: float
    at: Callable[[int], Sequence[float]]

    def last(self, time: float) -> float:
        """Return the last change until this time, -inf if there was none."""
        if self.width == inf:
            return -inf
        start = floor(time / self.width)
        for cell in range(start, start - _LOOK_BACK, -1):
            for place in reversed(self.at(cell)):
                if (moment := (cell + place) * self.width) <= time:
                    return moment
        return -inf

    def between(self, begin: float, end: float) -> Iterator[float]:
        """Return all changes after `begin` until `end`, in order."""
        if self.width == inf or end <= begin:
            return
        for cell in range(floor(begin / self.width), floor(end / self.width) + 1):
            for place in self.at(cell):
                if begin < (moment := (cell + place) * self.width) <= end:
                    yield moment


NEVER = ChangeProcess(0.0, inf, lambda _: ())


def random_rate(median: float, die: int) -> float:
    """Return a log-normal rate: half of all are above the median, a few hundreds of times as high."""
    return median * exp(SPREAD * NormalDist().inv_cdf(min(max(unit(die), 1e-6), 1 - 1e-6)))


def poisson(rate: float, dice: Dice) -> ChangeProcess:
    def at(cell: int) -> list[float]:
        thrown = dice(cell)
        return sorted(map(unit, thrown[1 : 1 + bisect(_POISSON, unit(thrown[0]))]))

    return ChangeProcess(rate, 1 / rate, at)


def regular(period: float, dice: Dice) -> ChangeProcess:
    """Once in each period, at the page's own time, give or take a tenth of the period."""
    # A cell that no time reaches: this die is of the whole life of the page
    phase = unit(dice(-(2**40))[0]) * 0.9
    return ChangeProcess(1 / period, period, lambda cell: (phase + unit(dice(cell)[0]) * 0.1,))


def bursts(rate: float, dice: Dice) -> ChangeProcess:
    """Many changes within a short time, then none for long."""

    def at(cell: int) -> list[float]:
        chance, start, *others = map(unit, dice(cell))
        if chance >= _BURST_CHANCE:
            return []
        return sorted(
            start * (1 - _BURST_WIDTH) + other * _BURST_WIDTH for other in others[:_BURST]
        )

    return ChangeProcess(rate, _BURST * _BURST_CHANCE / rate, at)


FIRST, LAST = 1.0, 10.0  # days: when pages go or move, the first and the last
_CYCLE, _AWAY = 6.0, 2.0  # days of those that come back: from absence to absence, and of an absence


@dataclass(frozen=True, slots=True)
class Life:
    """`status` says what a page's own URL answers at a time: 200 while it is there."""

    status: Callable[[float], int]
    # the moments after one time until another at which that changes
    turns: Callable[[float, float], Iterator[float]]


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


GONE = "gone"
OLDEST = 1_000_000_000  # modification time of what never changes: September 2001
DAY = 86_400.0
_MOVED = "moved=1"
_WHOLE_LIFE = -(2**41)  # the cell whose dice decide about all of a page's time


class ChangingPages:
    """`median` is the rate in changes per day that half of the pages exceed.

    A day takes 86,400 / `scale` seconds.

    Moments are seconds since 1970. `began` is the start of time: from then on pages go and move.
    They have changed before. An edition is the moment of its change, in microseconds since then.
    """

    oldest = OLDEST

    def __init__(self, world: Web, median: float, scale: float, began: float) -> None:
        if not 0 < median <= 10_000:
            raise ValueError(
                f"{median:g} changes per page and day: must be more than 0 and at most 10,000"
            )
        if not 0 < scale <= 10_000_000:
            raise ValueError(f"time scale {scale:g}: must be more than 0 and at most 10,000,000")
        self.world = world
        self.began = began
        self.day = DAY / scale
        self._median = median
        self._of = lru_cache(2**17)(self._made)

    # -- truth

    def kind(self, host: int, page: int) -> str:
        """Return how a page changes."""
        return self.world.kind("change", self.world.first_page(host) + page) or "change_poisson"

    def rate(self, host: int, page: int) -> float:
        """Return a page's mean number of changes per second, over all time."""
        if self.world.kind("odd", host) == "odd_etag_only":
            return 0.0
        return self._of(host, page)[0].rate / self.day

    def edition(self, host: int, page: int, moment: float) -> str:
        """Return the name of what its URL, or the one that it has moved to, serves at a moment.

        `GONE` for nothing.
        """
        if self._status(host, page, moment) in (404, 410):
            return GONE
        return str(self._content(host, page, moment))

    def turns(self, host: int, page: int, begin: float, end: float) -> Iterator[float]:
        """Return the moments after `begin` until `end` at which the edition changes or may change,
        in order.
        """
        process, life = self._of(host, page)
        times = (begin - self.began) / self.day, (end - self.began) / self.day
        return (
            self.began + turn * self.day
            for turn in merge(process.between(*times), life.turns(*times))
        )

    def modified(self, host: int, page: int, moment: float) -> float:
        """Return when the page changed last."""
        last = (
            self.began + self._of(host, page)[0].last((moment - self.began) / self.day) * self.day
        )
        return max(last, float(OLDEST))

    def target(self, host: int, page: int, moment: float) -> str:
        """Return the request target where the page is; "" if it is nowhere."""
        status = self._status(host, page, moment)
        if status in (404, 410):
            return ""
        path = random_content.path(page)
        return moved(path) if status == 301 else path

    def page_at(self, host: int, target: str) -> int | None:
        """Return the page with this URL, past or present."""
        return self.world.page_at(host, original(target))

    # -- answers

    def answer(self, ask: Ask) -> WebAnswer | None:
        """Return the answer to a request for a page, a sitemap or a feed; None for everything else."""
        if ask.host >= self.world.hosts:
            return None
        now = self.world.clock()
        page = self.page_at(ask.host, ask.path)
        return (
            site_listings.listing_answer(self, ask, now)
            if page is None
            else self._page(ask, page, now)
        )

    def robots_lines(self, host: int) -> str:
        named = (
            site_listings.named_in_robots(self.world.kind("sitemap", host))
            if host < self.world.hosts
            else ""
        )
        return f"Sitemap: {self.world.origin(host)}{named}\n" if named else ""

    def feed(self, host: int) -> str:
        """Return the path of the host's feed, "" without one."""
        return site_listings.PATHS.get(self.world.kind("feed", host), "")

    def _page(self, ask: Ask, page: int, now: float) -> WebAnswer | None:
        host, path, status = ask.host, random_content.path(page), self._status(ask.host, page, now)
        odd = self.world.kind("odd", host)
        if odd == "odd_304_always":
            return WebAnswer(304, type="")
        if ask.path != path and status != 301:
            return None  # it has not moved yet
        if ask.path == path and status == 301:
            target = self.world.origin(host) + moved(path)
            return WebAnswer(301, headers=(f"Location: {target}",), location=target)
        if status in (404, 410):
            return WebAnswer(status, b"<title>Gone</title><p>This page is gone.", edition=GONE)
        kind, modified = self.kind(host, page), self.modified(host, page, now)
        aside = (
            f"<aside>Buy {_words(self.world.seed, host, page, now)}!</aside>\n"
            if kind == "change_advert"
            else ""
        )
        content, feed = self._content(host, page, now), self.feed(host) if page == 0 else ""
        answer = WebAnswer(
            body=tree_pages.render(
                self.world, host, page, tree_pages.PageEdition(content, aside, feed)
            ),
            edition=str(content),
        )
        # Each answer has another advert, so no copy is the live edition
        validator = "" if aside else self.world.kind("validator", host)
        return site_listings.of_page(
            answer, ask, validator, odd, self._edition_of(modified), modified, now
        )

    def _status(self, host: int, page: int, moment: float) -> int:
        """Return what the page's own URL answers."""
        return self._of(host, page)[1].status((moment - self.began) / self.day)

    def _content(self, host: int, page: int, moment: float) -> int:
        """Return the edition of the text."""
        only_tag = self.world.kind("odd", host) == "odd_etag_only"
        return self._edition_of(float(OLDEST) if only_tag else self.modified(host, page, moment))

    def _edition_of(self, modified: float) -> int:
        return int((modified - self.began) * 1e6)

    def _made(self, host: int, page: int) -> tuple[ChangeProcess, Life]:
        kind, dice = self.kind(host, page), dice_of(self.world.seed, host, page)
        rate_die, life_die, *_ = dice(_WHOLE_LIFE)
        rate, chance = random_rate(self._median, rate_die), unit(life_die)
        if kind in ("change_never", "change_advert"):
            return NEVER, ALWAYS
        if kind in ("change_daily", "change_weekly"):
            return regular(1.0 if kind == "change_daily" else 7.0, dice), ALWAYS
        if kind == "change_bursts":
            return bursts(rate, dice), ALWAYS
        lives = {
            "change_gone_404": once(404, chance),
            "change_gone_410": once(410, chance),
            "change_moves": once(301, chance),
            "change_returns": returning(chance),
        }
        # Roots neither go nor move: all other pages are found by them
        return poisson(rate, dice), lives.get(kind, ALWAYS) if page else ALWAYS


def moved(path: str) -> str:
    """Return where a page moves to: into the same folder, so that its relative links stay right."""
    return f"{path}{'&' if '?' in path else '?'}{_MOVED}"


def original(target: str) -> str:
    """Return the first URL of what may have moved."""
    return (
        target[: -len(_MOVED) - 1]
        if target.endswith(_MOVED) and target[-len(_MOVED) - 1 :][:1] in "?&"
        else target
    )


def _words(seed: int, host: int, page: int, now: float) -> str:
    """Return three words, others at each moment: too few to make another text."""
    die = draws(seed ^ int(now * 1e6), host, page)[0]
    return " ".join(WORDS[die >> shift & 127] for shift in (0, 8, 16))
