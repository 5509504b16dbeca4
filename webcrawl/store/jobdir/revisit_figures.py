"""The figures of a crawl that fetches pages again; docs/revisits.md explains each figure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import expm1, inf, log1p
from typing import Any, NamedTuple, Self

from webcrawl.base.quantities import count

MINUTE, HOUR, DAY = 60, 3600, 86400
# Where the bins of both histograms end, in seconds; the last bin has what is longer.
EDGES = (
    *(MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR),
    *(DAY, 3 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY),
)
BINS = len(EDGES) + 1
STALE = 0.05  # probability of being fresh below which a page is as good as out of date
NARROW = 1e-6  # an exponent as near to 0 as this is 0


class Sampled(NamedTuple):
    """One page of the sample by which the whole is judged."""

    fetched: float  # seconds since 1970
    shape: float  # a of the Gamma(a, b) posterior of its change rate
    span: float  # b, in seconds
    weight: float = 1.0
    interval: float = 0.0  # seconds between its last two fetches; 0: there was only one


@dataclass(slots=True)
class RevisitFigures:
    """Numbers since the crawl began, over all its runs, but for those that say that they are of now."""

    records: int = 0  # pages that are fetched again, now
    let_go: int = 0  # of these, estimated: out of date as good as certainly, for they change too fast for the budget
    waiting: int = 0  # of these: taken to be fetched, and not yet fetched, now
    taken: int = 0  # fetches of known pages, whatever came of them
    unchanged_304: int = 0  # the server said that the page was not modified
    unchanged_digest: int = 0  # the same bytes came
    changed_digest: int = 0  # other bytes with the same visible text, as far as its fingerprint tells
    changed_text: int = 0
    gone: int = 0  # answered 404 or 410
    forgotten: int = 0  # gone for so long that they are not asked for any more
    moved: int = 0  # redirected for good: the record went along
    signals_true: int = 0  # announced changes that were there
    signals_false: int = 0
    signals_ignored: int = 0  # of sites whose word is not worth a fetch
    budget: float = 0.0  # revisits per second that are allowed, now
    used: float = 0.0  # revisits per second that are made, now
    freshness: float = 0.0  # estimated share of pages whose copy is as it is on the web, by weight, now
    age: float = 0.0  # estimated seconds for which copies have been out of date, a fresh one's being 0, by weight, now
    sampled: int = 0  # pages by which the last two were estimated
    rates: list[int] = field(default_factory=lambda: [0] * BINS)  # sampled pages by the mean time between two changes
    intervals: list[int] = field(default_factory=lambda: [0] * BINS)  # by the time from one fetch to the next

    @property
    def unchanged(self) -> int:
        return self.unchanged_304 + self.unchanged_digest

    @property
    def changed(self) -> int:
        return self.changed_digest + self.changed_text

    def estimate(self, sample: Iterable[Sampled], now: float) -> None:
        """Sets what is estimated from a sample of the records: the last five, and `let_go` as a share of `records`."""
        self.rates, self.intervals, self.sampled = [0] * BINS, [0] * BINS, 0
        weight = fresh = age = 0.0
        let_go = 0
        for page in sample:
            since = max(0.0, now - page.fetched)  # the machine's clock may have been set back
            self.sampled += 1
            weight += page.weight
            likely = freshness(page.shape, page.span, since)
            fresh += page.weight * likely
            let_go += likely < STALE
            age += page.weight * mean_age(page.shape, page.span, since)
            self.rates[_bin(page.span / page.shape if page.shape > 0.0 else inf)] += 1
            if page.interval:
                self.intervals[_bin(page.interval)] += 1
        self.freshness, self.age = (fresh / weight, age / weight) if weight > 0.0 else (0.0, 0.0)
        self.let_go = round(self.records * let_go / self.sampled) if self.sampled else 0

    def numbers(self) -> dict[str, int | float]:
        """All but the histograms, by name."""
        found = {name: getattr(self, name) for name in NUMBERS}
        return found | {name: round(found[name], digits) for name, digits in ROUNDED.items()}

    def histograms(self) -> dict[str, list[int]]:
        return {name: [*getattr(self, name)] for name in HISTOGRAMS}

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Self:
        """The figures that `numbers` and `histograms` gave, in one mapping; names of other versions are left out."""
        found = cls(**{name: figures[name] for name in (*NUMBERS, *HISTOGRAMS) if name in figures})
        found.rates, found.intervals = _whole(found.rates), _whole(found.intervals)
        return found


PREFIX = "revisit/"  # of the names in stats.json
META = "revisits/figures"  # in the table meta: what the last checkpoint says
HISTOGRAMS = ("rates", "intervals")
ESTIMATED = ("let_go", "freshness", "age", "sampled", *HISTOGRAMS)
NUMBERS = tuple(one.name for one in fields(RevisitFigures) if one.name not in HISTOGRAMS)
RECORDS = PREFIX + "records"
MEANS = ("freshness", "age")  # of several crawls: a mean by their records; all others are sums
ROUNDED = {"budget": 4, "used": 4, "freshness": 4, "age": 1}  # digits


def together(each: Iterable[RevisitFigures]) -> RevisitFigures:
    """The figures of crawls that share the web between them, as those of one."""
    parts = [*each]
    records = sum(one.records for one in parts) or 1
    found: dict[str, Any] = {name: sum(getattr(one, name) for one in parts) for name in NUMBERS}
    found |= {name: sum(one.records * getattr(one, name) for one in parts) / records for name in MEANS}
    found |= {name: _added([getattr(one, name) for one in parts]) for name in HISTOGRAMS}
    return RevisitFigures.of(found)


def freshness(shape: float, span: float, since: float) -> float:
    """The probability that a page has not changed since it was fetched so many seconds ago."""
    return float((span / (span + since)) ** shape) if span > 0.0 else float(since <= 0.0)


def mean_age(shape: float, span: float, since: float) -> float:
    """The mean time since the first change after the last fetch; 0 for a page that has not changed."""
    if span <= 0.0:
        return since
    spans = log1p(since / span)
    power = 1.0 - shape
    fresh = spans if abs(power) < NARROW else expm1(power * spans) / power
    return max(0.0, since - span * fresh)


def figures_of(stats: Mapping[str, Any]) -> RevisitFigures | None:
    """From what `Crawl.stats` or a stats.json has; None of a crawl that fetches nothing again."""
    if RECORDS not in stats:
        return None
    return RevisitFigures.of({name: stats[PREFIX + name] for name in NUMBERS if PREFIX + name in stats})


def fresh(figures: RevisitFigures) -> str:
    """The estimated share of fresh copies, or a dash while there is nothing to estimate it by."""
    return f"{figures.freshness:.0%}" if figures.sampled else "-"


def in_words(figures: RevisitFigures) -> str:
    """The results of revisits, as one clause after the other."""
    found = [
        f"{figures.unchanged} unchanged",
        f"{figures.changed} changed",
        f"{figures.gone} gone",
    ]
    if figures.forgotten:
        found.append(f"{figures.forgotten} forgotten")
    return (
        f"{count(figures.taken, 'revisit')} of {count(figures.records, 'page')} ({', '.join(found)}), "
        f"about {fresh(figures)} of all copies fresh"
    )


def _bin(seconds: float) -> int:
    return bisect_right(EDGES, seconds)


def _added(histograms: list[list[int]]) -> list[int]:
    return [sum(bins) for bins in zip(*histograms, strict=True)]


def _whole(bins: list[int]) -> list[int]:
    return ([*bins] + [0] * BINS)[:BINS]
