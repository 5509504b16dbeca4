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
from webcrawl.lab.simweb.web_answers import Web, WebAnswer, WebRequest

# The standard deviation of the rates' logarithms, as crawls of the web have found it
SPREAD = 2.0
_MAX_CELLS_BACK = 200  # the chance that so many cells in a row are empty is nil
_CELL_KEY = Struct("<QQQqB")
_DICE = Struct("<16Q")
# the chances of 0, of at most 1, … and of at most 12 changes in a cell, which has 1 on average
_POISSON = tuple(accumulate(exp(-1) / factorial(count) for count in range(13)))
_BURST_CHANGES = 8
_BURST_CHANCE = 0.5  # that a cell has a burst
_BURST_WIDTH = 0.02  # of a cell

Dice = Callable[[int], tuple[int, ...]]
"""The 16 random numbers of 64 bits that belong to a cell, which is a stretch of time of a page."""


def dice_of(seed: int, host: int, page: int) -> Dice:
    """Return the dice of a page: the same seed and page have the same numbers in each cell."""

    def dice(cell: int) -> tuple[int, ...]:
        return _DICE.unpack(shake_128(_CELL_KEY.pack(seed, host, page, cell, 1)).digest(_DICE.size))

    return dice


def unit(die: int) -> float:
    """Return a random number of 64 bits as a fraction in [0, 1)."""
    return (die >> 11) / 2**53


@dataclass(frozen=True, slots=True)
class ChangeProcess:
    """When a page changes. Times are in days, and divided into cells of equal width."""

    rate: float  # mean number of changes per day
    width: float  # days of a cell; infinite if the page never changes
    # returns the places of the changes in the cell with this number, in order, as parts of the cell
    at: Callable[[int], Sequence[float]]

    def last(self, time: float) -> float:
        """Return the time of the last change until this time, or -inf if there was none."""
        if self.width == inf:
            return -inf
        start = floor(time / self.width)
        for cell in range(start, start - _MAX_CELLS_BACK, -1):
            for place in reversed(self.at(cell)):
                moment = (cell + place) * self.width
                if moment <= time:
                    return moment
        return -inf

    def between(self, begin: float, end: float) -> Iterator[float]:
        """Yield the times of all changes after `begin` until `end`, in order."""
        if self.width == inf or end <= begin:
            return
        for cell in range(floor(begin / self.width), floor(end / self.width) + 1):
            for place in self.at(cell):
                moment = (cell + place) * self.width
                if begin < moment <= end:
                    yield moment


NEVER = ChangeProcess(0.0, inf, lambda _: ())


def random_rate(median: float, die: int) -> float:
    """Return a log-normal rate of changes per day, drawn by this random number.

    Half of all rates are above the median, a few of them hundreds of times as high.
    """
    chance = min(max(unit(die), 1e-6), 1 - 1e-6)  # without the ends, where the rate has no bound
    return median * exp(SPREAD * NormalDist().inv_cdf(chance))


def poisson(rate: float, dice: Dice) -> ChangeProcess:
    """Return changes at random, independent of each other. A cell has one on average."""

    def at(cell: int) -> list[float]:
        count_die, *place_dice = dice(cell)
        count = bisect(_POISSON, unit(count_die))
        return sorted(map(unit, place_dice[:count]))

    return ChangeProcess(rate, 1 / rate, at)


def regular(period: float, dice: Dice) -> ChangeProcess:
    """Return a change in each period of so many days, at the page's own time within it.

    It varies by a tenth of the period.
    """
    # A cell that no time reaches: this die holds for all of the page's time
    phase = unit(dice(-(2**40))[0]) * 0.9
    return ChangeProcess(1 / period, period, lambda cell: (phase + unit(dice(cell)[0]) * 0.1,))


def bursts(rate: float, dice: Dice) -> ChangeProcess:
    """Return changes that come in bursts: many within a short time, then none for a long time."""

    def at(cell: int) -> list[float]:
        chance, start, *others = map(unit, dice(cell))
        if chance >= _BURST_CHANCE:
            return []
        first = start * (1 - _BURST_WIDTH)
        return sorted(first + other * _BURST_WIDTH for other in others[:_BURST_CHANGES])

    return ChangeProcess(rate, _BURST_CHANGES * _BURST_CHANCE / rate, at)


FIRST_DAY, LAST_DAY = 1.0, 10.0  # between these days pages go or move
_CYCLE_DAYS = 6.0  # of pages that come back, from absence to absence
_ABSENCE_DAYS = 2.0


@dataclass(frozen=True, slots=True)
class Presence:
    """When a page is at its own URL. Times are in days since the world began."""

    status: Callable[[float], int]  # returns what the URL answers at a time: 200 while it is there
    # yields the times after the first one until the second one at which the status changes
    change_times: Callable[[float, float], Iterator[float]]


ALWAYS = Presence(lambda _: 200, lambda _, __: iter(()))


def changes_once(status: int, chance: float) -> Presence:
    """Return the presence of a page whose URL has another status from some day on.

    `chance` in [0, 1) decides the day.
    """
    day = FIRST_DAY + (LAST_DAY - FIRST_DAY) * chance
    return Presence(
        lambda time: status if time >= day else 200,
        lambda begin, end: iter([day] if begin < day <= end else []),
    )


def comes_and_goes(chance: float) -> Presence:
    """Return the presence of a page that is absent for two days of each six, but not at the start.

    `chance` in [0, 1) decides which two days.
    """
    leaves = FIRST_DAY + (_CYCLE_DAYS - _ABSENCE_DAYS - FIRST_DAY) * chance
    returns = leaves + _ABSENCE_DAYS

    def status(time: float) -> int:
        is_absent = time > 0 and leaves <= time % _CYCLE_DAYS < returns
        return 404 if is_absent else 200

    def change_times(begin: float, end: float) -> Iterator[float]:
        first = max(floor(begin / _CYCLE_DAYS), 0)
        last = floor(max(end, 0) / _CYCLE_DAYS)
        for cycle in range(first, last + 1):
            for day in (leaves, returns):
                moment = cycle * _CYCLE_DAYS + day
                if begin < moment <= end:
                    yield moment

    return Presence(status, change_times)


GONE = "gone"
OLDEST = 1_000_000_000  # modification time of what never changes: September 2001
DAY = 86_400.0
_MOVED_MARK = "moved=1"
_WHOLE_LIFE = -(2**41)  # the cell whose dice decide about all of a page's time


class ChangingPages:
    """The pages of a world that change with time, and their answers.

    Moments are seconds since 1970. `began` is the moment from which on pages go and move; they have
    changed before. An edition of a page is named by the moment of its change, in microseconds since
    `began`.
    """

    oldest = OLDEST

    def __init__(self, world: Web, median: float, scale: float, began: float) -> None:
        """Create the pages of a world. Raise ValueError if `median` or `scale` is impossible.

        `median` is the rate in changes per day that half of the pages exceed. A day takes 86,400 /
        `scale` seconds.
        """
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
        # A history takes some 50 microseconds to make, and each answer needs its page's
        self._history_of = lru_cache(2**17)(self._new_history)

    # -- truth

    def kind(self, host: int, page: int) -> str:
        """Return the kind of change that a page has, such as "change_poisson"."""
        return self.world.kind("change", self.world.first_page(host) + page) or "change_poisson"

    def rate(self, host: int, page: int) -> float:
        """Return a page's mean number of changes per second, over all time."""
        if self.world.kind("odd", host) == "odd_etag_only":
            return 0.0
        return self._history_of(host, page)[0].rate / self.day

    def edition(self, host: int, page: int, moment: float) -> str:
        """Return the name of the edition that a page has at a moment, or `GONE` if it is not there.

        A page that has moved keeps its editions.
        """
        if self._status(host, page, moment) in (404, 410):
            return GONE
        return str(self._content(host, page, moment))

    def change_times(self, host: int, page: int, begin: float, end: float) -> Iterator[float]:
        """Return all moments after `begin` until `end` at which the edition may change, in order."""
        process, presence = self._history_of(host, page)
        times = self._days_since_began(begin), self._days_since_began(end)
        return (
            self.began + day * self.day
            for day in merge(process.between(*times), presence.change_times(*times))
        )

    def modified(self, host: int, page: int, moment: float) -> float:
        """Return the moment at which the page changed last before, or OLDEST if it never has."""
        process, _ = self._history_of(host, page)
        last = self.began + process.last(self._days_since_began(moment)) * self.day
        return max(last, float(OLDEST))

    def target(self, host: int, page: int, moment: float) -> str:
        """Return the request target where the page is at a moment; "" if it is nowhere."""
        status = self._status(host, page, moment)
        if status in (404, 410):
            return ""
        path = random_content.path(page)
        return moved_path(path) if status == 301 else path

    def page_at(self, host: int, target: str) -> int | None:
        """Return the number of the page that has, had or will have this target, or None."""
        return self.world.page_at(host, original_path(target))

    # -- answers

    def answer(self, request: WebRequest) -> WebAnswer | None:
        """Return the answer to a request for a page, a sitemap or a feed, or None for any other."""
        if request.host >= self.world.hosts:  # traps and large sites do not change
            return None
        now = self.world.clock()
        page = self.page_at(request.host, request.path)
        if page is None:
            return site_listings.listing_answer(self, request, now)
        return self._page_answer(request, page, now)

    def robots_lines(self, host: int) -> str:
        """Return the lines that a host adds to its robots.txt: its sitemap, if it is named there."""
        if host >= self.world.hosts:
            return ""
        path = site_listings.named_in_robots(self.world.kind("sitemap", host))
        return f"Sitemap: {self.world.origin(host)}{path}\n" if path else ""

    def feed(self, host: int) -> str:
        """Return the path of the host's feed, "" without one."""
        return site_listings.PATHS.get(self.world.kind("feed", host), "")

    def _page_answer(self, request: WebRequest, page: int, now: float) -> WebAnswer | None:
        """Return the answer to a request for a page at its first or at its later URL.

        Return None for the later URL before the page has moved there.
        """
        host = request.host
        path = random_content.path(page)
        status = self._status(host, page, now)
        odd = self.world.kind("odd", host)
        has_moved = status == 301
        if odd == "odd_304_always":
            return WebAnswer(304, type="")
        if request.path != path and not has_moved:
            return None
        if request.path == path and has_moved:
            target = self.world.origin(host) + moved_path(path)
            return WebAnswer(301, headers=(f"Location: {target}",), location=target)
        if status in (404, 410):
            return WebAnswer(status, b"<title>Gone</title><p>This page is gone.", edition=GONE)
        edition = self._content(host, page, now)
        aside = ""
        validator = self.world.kind("validator", host)
        if self.kind(host, page) == "change_advert":
            aside = f"<aside>Buy {_advert_words(self.world.seed, host, page, now)}!</aside>\n"
            validator = ""  # each answer has another advert, so no copy is the live edition
        feed = self.feed(host) if page == 0 else ""
        state = tree_pages.PageEdition(edition, aside, feed)
        answer = WebAnswer(
            body=tree_pages.render(self.world, host, page, state), edition=str(edition)
        )
        modified = self.modified(host, page, now)
        return site_listings.conditional_page(
            answer, request, validator, odd, self._edition_of(modified), modified, now
        )

    def _days_since_began(self, moment: float) -> float:
        return (moment - self.began) / self.day

    def _status(self, host: int, page: int, moment: float) -> int:
        """Return the status that the page's first URL has at a moment."""
        _, presence = self._history_of(host, page)
        return presence.status(self._days_since_began(moment))

    def _content(self, host: int, page: int, moment: float) -> int:
        """Return the edition of the text at a moment."""
        if self.world.kind("odd", host) == "odd_etag_only":  # its ETag changes, and its text never
            return self._edition_of(float(OLDEST))
        return self._edition_of(self.modified(host, page, moment))

    def _edition_of(self, modified: float) -> int:
        return int((modified - self.began) * 1e6)

    def _new_history(self, host: int, page: int) -> tuple[ChangeProcess, Presence]:
        """Return when a page changes and when it is there, by its kind and its dice."""
        kind = self.kind(host, page)
        dice = dice_of(self.world.seed, host, page)
        rate_die, presence_die, *_ = dice(_WHOLE_LIFE)
        rate = random_rate(self._median, rate_die)
        chance = unit(presence_die)
        if kind in ("change_never", "change_advert"):
            return NEVER, ALWAYS
        if kind in ("change_daily", "change_weekly"):
            return regular(1.0 if kind == "change_daily" else 7.0, dice), ALWAYS
        if kind == "change_bursts":
            return bursts(rate, dice), ALWAYS
        presences = {
            "change_gone_404": changes_once(404, chance),
            "change_gone_410": changes_once(410, chance),
            "change_moves": changes_once(301, chance),
            "change_returns": comes_and_goes(chance),
        }
        # Roots neither go nor move: all other pages are found by them
        presence = presences.get(kind, ALWAYS) if page else ALWAYS
        return poisson(rate, dice), presence


def moved_path(path: str) -> str:
    """Return the target to which a page with this one moves.

    It is in the same folder, so that the page's relative links stay right.
    """
    return f"{path}{'&' if '?' in path else '?'}{_MOVED_MARK}"


def original_path(target: str) -> str:
    """Return the target that a page had first; it is `target` itself if the page has not moved."""
    for separator in "?&":
        mark = separator + _MOVED_MARK
        if target.endswith(mark):
            return target.removesuffix(mark)
    return target


def _advert_words(seed: int, host: int, page: int, now: float) -> str:
    """Return three words that differ at each moment: too few to make another text of the page."""
    die = draws(seed ^ int(now * 1e6), host, page)[0]
    return " ".join(WORDS[die >> shift & 127] for shift in (0, 8, 16))
