"""The figures of a crawl that fetches pages again; docs/revisits.md explains each figure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from webcrawl.base.readable import count

MINUTE, HOUR, DAY = 60, 3600, 86400
# Where the bins of both histograms end, in seconds; the last bin has what is longer.
EDGES = (
    *(MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR),
    *(DAY, 3 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY),
)
BINS = len(EDGES) + 1


@dataclass(slots=True)
class RevisitFigures:
    """Numbers since the crawl began, over all its runs, but for those that say that they are of
    now.
    """

    records: int = 0  # pages that are fetched again, now
    # of these, estimated: out of date as good as certainly, for they change too fast for the budget
    let_go: int = 0
    waiting: int = 0  # of these: taken to be fetched, and not yet fetched, now
    taken: int = 0  # fetches of known pages, whatever came of them
    unchanged_304: int = 0  # the server said that the page was not modified
    unchanged_digest: int = 0  # the same bytes came
    # other bytes with the same visible text, as far as its fingerprint tells
    changed_digest: int = 0
    changed_text: int = 0
    gone: int = 0  # answered 404 or 410
    forgotten: int = 0  # gone for so long that they are not requested any more
    moved: int = 0  # redirected for good: the record went along
    signals_true: int = 0  # announced changes that were there
    signals_false: int = 0
    signals_ignored: int = 0  # of sites whose word is not worth a fetch
    budget: float = 0.0  # revisits per second that are allowed, now
    used: float = 0.0  # revisits per second that are made, now
    # estimated share of pages whose copy is as it is on the web, by weight, now
    freshness: float = 0.0
    # estimated seconds for which copies have been out of date, a fresh one's being 0, by weight,
    # now
    age: float = 0.0
    sampled: int = 0  # pages by which the last two were estimated
    # sampled pages by the mean time between two changes
    rates: list[int] = field(default_factory=lambda: [0] * BINS)
    # by the time from one fetch to the next
    intervals: list[int] = field(default_factory=lambda: [0] * BINS)

    @property
    def unchanged(self) -> int:
        return self.unchanged_304 + self.unchanged_digest

    @property
    def changed(self) -> int:
        return self.changed_digest + self.changed_text

    def clear_estimates(self) -> None:
        """Clear the estimates, before they are set: they do not add up."""
        self.let_go = 0
        self.freshness = 0.0
        self.age = 0.0
        self.sampled = 0
        self.rates = [0] * BINS
        self.intervals = [0] * BINS

    def numbers(self) -> dict[str, int | float]:
        """Return all but the histograms, by name."""
        found = {name: getattr(self, name) for name in NUMBERS}
        return found | {name: round(found[name], digits) for name, digits in ROUNDED.items()}

    def histograms(self) -> dict[str, list[int]]:
        return {name: [*getattr(self, name)] for name in HISTOGRAMS}

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Self:
        """Return the figures that `numbers` and `histograms` gave, in one mapping.

        Names of other versions are left out.
        """
        found = cls(**{name: figures[name] for name in (*NUMBERS, *HISTOGRAMS) if name in figures})
        found.rates = _whole(found.rates)
        found.intervals = _whole(found.intervals)
        return found


PREFIX = "revisit/"  # of the names in stats.json
META = "revisits/figures"  # in the table meta: what the last checkpoint says
HISTOGRAMS = ("rates", "intervals")
ESTIMATED = ("let_go", "freshness", "age", "sampled", *HISTOGRAMS)
NUMBERS = tuple(one.name for one in fields(RevisitFigures) if one.name not in HISTOGRAMS)
RECORDS = PREFIX + "records"
# of several crawls: a mean by the records of those that have any; all others are sums
MEANS = ("freshness", "age")
ROUNDED = {"budget": 4, "used": 4, "freshness": 4, "age": 1}  # digits


def together(figures_of_crawls: Iterable[RevisitFigures]) -> RevisitFigures:
    """Return the figures of crawls that share the web between them, as those of one."""
    parts = [*figures_of_crawls]
    found: dict[str, Any] = {}
    for name in NUMBERS:
        found[name] = sum(_each(name, parts))
    # Crawls that have sampled no page have 0 for both, which says nothing
    estimated = [part for part in parts if part.sampled]
    for name in MEANS:
        found[name] = _mean(name, estimated)
    for name in HISTOGRAMS:
        found[name] = [sum(bins) for bins in zip(*_each(name, parts), strict=True)]
    return RevisitFigures.of(found)


def _each(name: str, parts: Iterable[RevisitFigures]) -> list[Any]:
    return [getattr(one, name) for one in parts]


def _mean(name: str, parts: Sequence[RevisitFigures]) -> float:
    """Return the mean, weighted by records; 0 if there are none."""
    records = sum(one.records for one in parts) or 1
    weighted: float = sum(one.records * getattr(one, name) for one in parts)
    return weighted / records


def figures_of(stats: Mapping[str, Any]) -> RevisitFigures | None:
    """Return the figures in `Crawl.stats` or a stats.json; None if the crawl fetches no page again."""
    if RECORDS not in stats:
        return None
    known = [name for name in NUMBERS if PREFIX + name in stats]
    return RevisitFigures.of({name: stats[PREFIX + name] for name in known})


def fresh(figures: RevisitFigures) -> str:
    """Return the estimated share of fresh copies, or a dash while there is nothing to estimate it
    by.
    """
    return f"{figures.freshness:.0%}" if figures.sampled else "-"


def in_words(figures: RevisitFigures) -> str:
    """Return how many pages were fetched again and with which results, as a line for people."""
    results = [
        f"{figures.unchanged} unchanged",
        f"{figures.changed} changed",
        f"{figures.gone} gone",
    ]
    if figures.forgotten:
        results.append(f"{figures.forgotten} forgotten")
    share = f", about {fresh(figures)} of all copies fresh" if figures.sampled else ""
    return f"{count(figures.taken, 'revisit')} of {count(figures.records, 'page')} ({', '.join(results)}){share}"


def bin_of(seconds: float) -> int:
    """Return the place of these seconds in a histogram."""
    return bisect_right(EDGES, seconds)


def _whole(bins: list[int]) -> list[int]:
    """Return a histogram with BINS bins: that of another version may have more or fewer."""
    return ([*bins] + [0] * BINS)[:BINS]
