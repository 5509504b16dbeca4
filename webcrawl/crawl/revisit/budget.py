"""How many pages are fetched again, by REVISIT_RATE or REVISIT_SHARE, and may be due.

The operator is told of a budget that is larger than can be used. Pages that are due wait in the
frontier, counted by host: a host that cannot keep up holds up no others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import exp

from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of

logger = logging.getLogger(__name__)

COUNTING_SPAN = 30.0  # seconds over which new pages are counted; older ones fade
IDLE_SPAN = 10.0  # seconds for which a slot that nobody wanted says that there is room
UNBOUNDED_RATE = 1000.0  # revisits per second where only due times are to bound them
# seconds for which unused tokens are kept: a crawl that was busy does not rush afterwards
TOKENS_KEPT_SECONDS = 5.0

EVERY = 60.0  # seconds between two looks
HOUR = 3600.0  # between two warnings


class Split:
    """Splits fetches between new pages and revisits: `rate` is the budget of revisits."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: the crawl's clock, in seconds."""
        self._now = now
        self.pages: Callable[[], int] = int  # how many pages are fetched again, in all
        # whether pages may be fetched before they are due, so that the budget is used
        self.early = True
        self.part: Callable[[], float] = _all  # of what a hive fetches, how much this drone does
        self._age = 86_400.0  # REVISIT_AGE, in seconds
        self._fixed = 0.0  # REVISIT_RATE, in pages per second; 0: REVISIT_SHARE counts
        self._share = 0.5  # REVISIT_SHARE
        self._began = now()
        self._new = 0.0  # new pages as of `_at`, those long ago counting less
        self._at = self._began
        self._idle_at = -IDLE_SPAN  # when nothing could be fetched, the last time
        self._rests = 0.0  # until then there is room though nobody says so, unless new pages come

    def change(self, *, age: float, rate: float, share: float) -> None:
        """Take other values of REVISIT_AGE, REVISIT_RATE and REVISIT_SHARE."""
        self._age = age
        self._fixed = rate
        self._share = share

    @property
    def is_fixed(self) -> bool:
        """Return whether REVISIT_RATE says how many, and not a share of all fetches."""
        return self._fixed > 0.0

    @property
    def age(self) -> float:
        """REVISIT_AGE."""
        return self._age

    def known(self) -> int:
        """Return the number of pages that are fetched again, in all."""
        return self.pages()

    def fetched_new(self, now: float) -> None:
        """Count a page that was handed out and was never fetched before."""
        self._new = self._faded(now) + 1.0
        self._at = now
        self._rests = 0.0

    def idle(self, now: float) -> None:
        """Note that nothing can be fetched now."""
        self._idle_at = now

    def rests_until(self, now: float, at: float) -> None:
        """Note that `idle` may not be called before the time `at`: room now is room until then."""
        if now - self._idle_at <= IDLE_SPAN:
            self._rests = at

    def rate(self) -> float:
        """Return the pages per second that may be fetched again.

        Beside new pages revisits have their share of all fetches. Where slots are idle, each page
        is fetched again once in REVISIT_AGE on average, or, with a policy that is never early, when
        due.
        """
        if self._fixed:
            return self._fixed * self.part()
        now = self._now()
        # At the start of a run fewer seconds than COUNTING_SPAN have been counted.
        seconds = COUNTING_SPAN * (1.0 - exp(-max(now - self._began, 1.0) / COUNTING_SPAN))
        # So many beside the new pages that they are their share of both.
        beside = self._faded(now) / seconds * self._share / (1.0 - self._share)
        has_room = now - self._idle_at <= IDLE_SPAN or now <= self._rests
        if not has_room:
            return beside
        alone = self.pages() / self._age if self.early else UNBOUNDED_RATE
        return max(beside, alone)

    def useful_rate(self) -> float:
        """Return the rate that is of use: without early fetches, each page once in REVISIT_AGE."""
        return self.rate() if self.early else min(self.rate(), self.pages() / self._age)

    def _faded(self, now: float) -> float:
        """Return the count of new pages as of now: it fades by COUNTING_SPAN."""
        return self._new * exp(min(self._at - now, 0.0) / COUNTING_SPAN)


def _all() -> float:
    return 1.0


class Tokens:
    """Allows one fetch again per token. The rate may differ at each call.

    More may be spent than there is: what is owed comes out of later tokens.
    """

    def __init__(self, rate: Callable[[], float]) -> None:
        """`rate`: per second."""
        self._rate = rate
        self._left = 1.0  # tokens as of `_at`; negative if more were spent
        self._at: float | None = None  # None: not asked yet

    def whole(self, now: float) -> int:
        """Return the number of pages that may be taken now."""
        rate = max(self._rate(), 0.0)
        most = max(1.0, rate * TOKENS_KEPT_SECONDS)
        since = self._at if self._at is not None else now
        passed = max(now - since, 0.0)
        # more than is saved at this rate: it wavers, so they are not forgotten at once
        if self._left > most:
            self._left = most + (self._left - most) * exp(-passed / TOKENS_KEPT_SECONDS)
        else:
            self._left = min(self._left + passed * rate, most)
        self._at = max(now, since)
        return max(int(self._left), 0)

    def spend(self, count: int) -> None:
        self._left -= count

    def next(self, now: float) -> float | None:
        """Return the time at which there is a token, or None if nothing is allowed at present."""
        if self.whole(now):
            return now
        rate = self._rate()
        return now + (1.0 - self._left) / rate if rate > 0.0 else None


class Unused:
    """Looks at REVISIT_RATE alone: a share of all fetches is never more than there is."""

    def __init__(self, split: Split, pages: Callable[[], int], floor: Callable[[], float]) -> None:
        """`floor`: seconds between two fetches of a page at least."""
        self._split = split
        self._pages = pages
        self._floor = floor
        self._next: float | None = None  # time of the next look; None: there was none yet

    def look(self, now: float) -> None:
        """Warn if REVISIT_RATE allows more than can be used; at most once per hour.

        Call it often.
        """
        # the first call, or the clock was set back
        if self._next is None or now + 2 * HOUR < self._next:
            self._next = now + EVERY
        if now < self._next:
            return
        self._next = now + EVERY
        pages = self._pages()
        split = self._split
        # Revisits per second if each page is fetched again as soon as it may be.
        most = pages / (self._floor() if split.early else split.age)
        is_too_much = split.is_fixed and pages > 0 and split.rate() > most
        if not is_too_much:
            return
        self._next = now + HOUR
        if split.early:
            limit = f"within {self._floor():g} s"
        else:
            limit = (
                f"before it is as old as REVISIT_AGE, {split.age:g} s, unless a change is announced"
            )
        logger.warning(
            "REVISIT_RATE allows %g revisits per second, but only %g can be used: there are %s, "
            "and none is fetched again %s",
            split.rate(),
            round(most, 4),
            count(pages, "page"),
            limit,
        )


# -- what waits for hosts

MAX_WAITING = 10_000  # pages: what waits in the frontier comes in no better order any more
# pages of one host that count for this: what it has beyond waits for that host alone. Else a host
# that is slow, or away, would in the end have all 10,000, and all others' revisits would come at
# its pace: ten hosts that were to come every 100 seconds came every 261 to 273 seconds, and come
# every 97 to 100.
COUNTED_OF_HOST = 10
MAX_OF_HOST = 1_000  # pages of one host, of which no more are taken before they are due


class DueByHost:
    """Counts pages that are due, by host.

    `total` and `hosts` are of the last checkpoint, which has no number of hosts with a few pages.
    """

    def __init__(self, total: int = 0, hosts: Mapping[str, int] | None = None) -> None:
        self.total = total
        self._hosts = Counter(hosts or {})
        # pages of all hosts beyond COUNTED_OF_HOST each: they are in `total`, and take no room
        self._beyond = sum(max(number - COUNTED_OF_HOST, 0) for number in self._hosts.values())

    @property
    def room(self) -> int:
        """Return how many pages may still become due."""
        return MAX_WAITING - max(self.total - self._beyond, 0)

    def add(self, urls: Iterable[str]) -> None:
        """Count pages that go into the frontier."""
        if len(self._hosts) > 2 * MAX_WAITING:  # of pages that went to other drones
            self._forget()
        for host in map(host_of, urls):
            self._hosts[host] += 1
            self._beyond += self._hosts[host] > COUNTED_OF_HOST
            self.total += 1

    def drop(self, url: str) -> None:
        """Count a page less: it has ended."""
        self.total = max(self.total - 1, 0)
        host = host_of(url)
        # 0 for a host that the last checkpoint did not have, or that was forgotten since.
        number = self._hosts[host]
        if number:
            self._beyond -= number > COUNTED_OF_HOST
            self._hosts[host] = number - 1
        if number <= 1:
            del self._hosts[host]

    def at_most(self, number: int) -> None:
        """Count no more pages than the frontier has URLs: some may have gone to other drones."""
        self.total = min(self.total, number)
        if self._beyond > self.total:
            self._forget()

    def is_full(self, host: str) -> bool:
        """Return whether this host has more to do than it can for a while."""
        return self._hosts[host] >= MAX_OF_HOST

    def hosts(self) -> dict[str, int]:
        """Return the hosts whose pages do not all count, for a checkpoint."""
        return {host: number for host, number in self._hosts.items() if number > COUNTED_OF_HOST}

    def _forget(self) -> None:
        """Forget which hosts the pages are of; all of `total` then take room."""
        self._hosts.clear()
        self._beyond = 0
