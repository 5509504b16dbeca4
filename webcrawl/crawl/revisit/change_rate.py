"""How fast pages change: each by its visits at irregular times, and all by a sample.

A record has what its visits alone say of the rate d, as d**shape * exp(-span * d). What is believed
of a page of which nothing is known is in no record: a Gamma distribution of rates, whose mean is
learned from all pages. From the sample the freshness of all pages is estimated, and policies find
the pace of their visits by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappush, heapreplace
from math import exp, expm1, log1p
from struct import Struct
from typing import Protocol

from siphashc import siphash

from webcrawl.crawl.revisit.record import PageRecord

# A page that was quiet for ten years and then changes daily is known for it after some 75 visits.
# the shape of what visits say, from which on other pages tell nothing of a page, and from which on
# what was seen so far counts less with each change
KNOWN = 8.0
FADE = 0.9  # so much of what it did, for a page may become another
MIN_SECONDS = 1.0  # between two visits; a clock that is set back says less than nothing
MAX_VISITS = 250  # visits that are counted
SHAPE = 0.5  # of the rates of all pages: they differ by several powers of ten
MEAN = 1 / (30 * 86_400.0)  # changes per second: what is believed before anything is known
PRIOR_PAGES = 10.0  # pages as which that counts in the mean of all
NARROW = 1e-6  # a shape as near to 1 as this is 1

Rate = tuple[float, float]
"""The Gamma distribution that is believed of a page's rate: shape, and span in seconds."""


class Visited(Protocol):
    """A page, by what its visits have found."""

    weight: float
    shape: float
    span: float
    visits: int
    changes: int


class Prior:
    """What is believed of a page before it was visited."""

    def __init__(self) -> None:
        self.mean = MEAN

    def given(self, page: Visited) -> Rate:
        """Return what is believed of a page by its visits, and by what other pages are like.

        The more a page is known by its own visits, the less others count: of these visits only some
        changes count, too.
        """
        # the shape that other pages add, down to nothing for a page that is KNOWN
        others = max(1.0 - page.shape / KNOWN, 0.0) * SHAPE
        return page.shape + others, max(page.span + others / self.mean, MIN_SECONDS)

    def fit(self, pages: Iterable[Visited]) -> None:
        """Take the mean rate from these pages as believed: a step of expectation maximization."""
        rates = [shape / span for shape, span in map(self.given, pages)]
        self.mean = (sum(rates) + PRIOR_PAGES * MEAN) / (len(rates) + PRIOR_PAGES)


def observe(page: Visited, seconds: float, prior: Prior, *, changed: bool) -> None:
    """Update what is known of a page's rate of change by a visit, `seconds` after the last.

    That it has not changed is taken in exactly. That it has changed makes the Gamma distribution a
    difference of two, for which the one with the same mean and variance is taken.
    """
    seconds = max(seconds, MIN_SECONDS)
    if changed:
        believed_shape, believed_span = prior.given(page)
        new_shape, new_span = _after_change(believed_shape, believed_span, seconds)
        # Only the difference is the page's own: the rest of what is believed is of other pages.
        shape = max(page.shape + new_shape - believed_shape, 0.0)
        span = max(page.span + new_span - believed_span, 0.0)
        kept = FADE if shape > KNOWN else 1.0
        page.shape = shape * kept
        page.span = span * kept
    else:
        page.span += seconds
    count(page, changed=changed)


def count(page: Visited, *, changed: bool) -> None:
    """Count a visit; of many, half are forgotten, so that what a page was like long ago fades."""
    if page.visits >= MAX_VISITS:
        page.visits //= 2
        page.changes //= 2
    page.visits += 1
    page.changes += changed


def _after_change(shape: float, span: float, seconds: float) -> Rate:
    """Return what is believed of a rate after a change within so many seconds.

    That is the Gamma distribution with the mean and variance of what is believed exactly: a density
    like that of Gamma(shape, span), times 1 - exp(-rate * seconds).
    """
    stay = -log1p(seconds / span)
    # The integral of that density; and of its products with the rate and with its square, beside
    # those of Gamma(shape, span) itself.
    whole = -expm1(shape * stay)
    first = -expm1((shape + 1) * stay)
    second = -expm1((shape + 2) * stay)
    mean = shape / span * first / whole
    spread = (shape + 1) / shape * second * whole / (first * first) - 1  # variance / mean ** 2
    new_shape = 1 / max(spread, 1e-9)
    return new_shape, new_shape / mean


def freshness(rate: Rate, seconds: float) -> float:
    """Return the probability that a page has not changed for so long."""
    shape, span = rate
    return exp(-shape * log1p(seconds / span))


def fresh_time(rate: Rate, seconds: float) -> float:
    """Return for how many of these seconds a copy of a page was as the page, on average."""
    shape, span = rate
    power = shape - 1 if abs(shape - 1) > NARROW else NARROW
    return span * -expm1(-power * log1p(seconds / span)) / power


# -- the sample

MAX_SAMPLED = 4096  # pages; a mean of what they have is then right within a few percent
ALL = (1 << 64) - 1
_HEAD = Struct("<Qd")
_ROW = Struct("<Qd4f2H")


@dataclass(slots=True)
class SampledPage:
    """A page as its last fetch left it."""

    fetched: float  # seconds since 1970
    weight: float = 1.0
    interval: float = 0.0  # seconds between its last two fetches; 0: there was only one
    shape: float = 0.0  # of what its visits say (change_rate.py)
    span: float = 0.0
    visits: int = 0
    changes: int = 0


class Sample:
    """The pages whose URLs have the smallest hashes: any page is as likely to be in it.

    The hash is keyed, so that no site can choose its URLs to be sampled.
    """

    def __init__(self, key: bytes = bytes(16), most: int = MAX_SAMPLED) -> None:
        self.prior = Prior()
        self._key = key
        self._most = most
        self._bar = ALL  # the largest hash that belongs to the sample
        self._pages: dict[int, SampledPage] = {}  # by hash
        self._largest: list[int] = []  # a heap of the negated hashes

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[SampledPage]:
        return iter(self._pages.values())

    def put(self, record: PageRecord, interval: float) -> None:
        """Take a page as a fetch has left it, so many seconds after the one before."""
        number = siphash(self._key, record.url)
        if number > self._bar:
            return
        known = number in self._pages
        self._pages[number] = SampledPage(
            record.fetched,
            record.weight,
            interval,
            record.shape,
            record.span,
            record.visits,
            record.changes,
        )
        if known:
            return
        # A new page takes the place of the one with the largest hash, if all places are taken.
        if len(self._pages) <= self._most:
            heappush(self._largest, -number)
        else:
            del self._pages[-heapreplace(self._largest, -number)]
        if len(self._pages) == self._most:
            self._bar = -self._largest[0]

    def find(self, url: str) -> SampledPage | None:
        """Return this page, or None if it is not in the sample."""
        return self._pages.get(siphash(self._key, url))

    def drop(self, url: str) -> None:
        """Forget a page that is not fetched again.

        Its place goes to the next one with as small a hash.
        """
        number = siphash(self._key, url)
        if self._pages.pop(number, None) is not None:
            self._largest.remove(-number)  # rare enough for a search and a sort
            self._largest.sort()

    def save(self) -> bytes:
        """Return the state for a checkpoint."""
        rows = (
            _ROW.pack(
                number,
                page.fetched,
                page.weight,
                page.interval,
                page.shape,
                page.span,
                page.visits,
                page.changes,
            )
            for number, page in self._pages.items()
        )
        return _HEAD.pack(self._bar, self.prior.mean) + b"".join(rows)

    def restore(self, data: bytes) -> None:
        """Go on from a state."""
        self._bar, self.prior.mean = _HEAD.unpack_from(data)
        self._pages = {
            row[0]: SampledPage(*row[1:]) for row in _ROW.iter_unpack(data[_HEAD.size :])
        }
        self._largest = sorted(-number for number in self._pages)
