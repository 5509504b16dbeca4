"""A month on a web that fails, simulated: what was lost, to whom, and whether anybody was asked too
early.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.support.simulation import DAY, START, Requested, Simulation
from benchmarks.support.weather import HOUR, MINUTE, Site, Web, sites
from webcrawl.base.model import Status
from webcrawl.base.url_text import host_of

PATIENCE = 3 * DAY  # HOST_PATIENCE
# As long as no other URL of the host fails
OF_THE_URL = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST, 429, 503))
DELAY = 20.0  # POLITENESS_MIN_DELAY: so that a burst of URLs lasts for some minutes
# Before each outage of our own network URLs of each host are found, so that they are due in it
BURST_URLS = 30
BURST_SECONDS_BEFORE = 5 * MINUTE
RATE_BACK_SECONDS = MINUTE  # after an outage, when the rate must be back
MEASURED_SECONDS = MINUTE  # for which the rate is measured
AFTER_SECONDS = 8 * DAY  # after the month; the last URLs have their outcome by then


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a month is."""

    hosts: int = 2000
    days: float = 30.0
    first: int = 25  # URLs of each host at the start
    later: int = 20  # found one by one, at any time
    kills: int = 20
    seed: int = 1

    @property
    def outages(self) -> list[tuple[float, float, bool]]:
        """Return begin and end of the outages of our own network, and whether only DNS is out.

        They are five minutes at the start, an hour, and 20 minutes of DNS only.
        """
        hour, dns = START + self.days * DAY / 3, START + 2 * self.days * DAY / 3
        return [
            (START, START + 5 * MINUTE, False),
            (hour, hour + HOUR, False),
            (dns, dns + 20 * MINUTE, True),
        ]


@dataclass(slots=True)
class Report:
    """What became of the URLs of a month."""

    urls: int = 0
    fetched: int = 0
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    without_outcome: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    # URLs of hosts that were back within HOST_PATIENCE
    lost: list[str] = field(default_factory=list)
    # that failed three times, and no other of their host meanwhile
    charged: list[str] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)  # such hosts that lost URLs
    early: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    # pages per second before and after each outage
    rates: list[tuple[float, float]] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)


def feed(all_sites: list[Site], scale: Scale) -> list[tuple[float, list[str]]]:
    """Return the URLs that are found, by the time at which they are found."""
    random = Random(scale.seed + 1)
    found: dict[float, list[str]] = defaultdict(list)
    for site in all_sites:
        numbers = iter(range(10**6))
        times = [START] * scale.first
        times += [
            begin - BURST_SECONDS_BEFORE
            for begin, _, _ in scale.outages[1:]
            for _ in range(BURST_URLS)
        ]
        times += [START + random.random() * scale.days * DAY for _ in range(scale.later)]
        for at in times:
            found[at].append(site.url(next(numbers)))
    return sorted(found.items())


def month(folder: Path, scale: Scale, settings: Mapping[str, Any] | None = None) -> Report:
    """Simulate a crawl of a month, and return what became of it."""
    all_sites = sites(scale.hosts, scale.days, scale.seed)
    found = feed(all_sites, scale)
    answers = [0] * int((scale.days * DAY + AFTER_SECONDS) / 10 + 1)  # pages in each 10 seconds

    def note(requested: Requested) -> None:
        """Count a page that was fetched."""
        is_fetched = requested.answer.error is None and requested.answer.status == 200
        if is_fetched and not requested.link.path.endswith("P"):
            answers[int((requested.ended - START) / 10)] += 1

    values = {
        "POLITENESS_MIN_DELAY": DELAY,
        "FRONTIER_QUEUES": 3 * scale.hosts,
        "FRONTIER_MAX_QUEUES": 30_000,
    }
    values |= {"CONCURRENT_REQUESTS": max(scale.hosts // 4, 50), **(settings or {})}
    simulation = Simulation(
        folder,
        Web(all_sites, scale.outages),
        found,
        values,
        interval=15 * MINUTE,
        on_requested=note,
    )
    _crawl(simulation, scale)
    report = Report(counters=simulation.counters)
    simulation.close()
    _fill_outcomes(report, simulation, all_sites, found)
    report.early, report.overlaps = simulation.judge.early, simulation.judge.overlaps
    report.rates = [_rates_around(answers, begin, end) for begin, end, _ in scale.outages]
    return report


def _crawl(simulation: Simulation, scale: Scale) -> None:
    """Crawl the whole time, killed at random moments, and once in the middle of each outage."""
    random = Random(scale.seed + 2)
    times = [START + random.random() * scale.days * DAY for _ in range(scale.kills)]
    times += [(begin + end) / 2 for begin, end, _ in scale.outages] if scale.kills else []
    for at in sorted(times):
        simulation.run(at)
        simulation.kill(away=random.choice((1.0, MINUTE)))
    simulation.run(START + scale.days * DAY + AFTER_SECONDS)


def _fill_outcomes(
    report: Report,
    simulation: Simulation,
    all_sites: list[Site],
    found: list[tuple[float, list[str]]],
) -> None:
    """Fill in what became of each URL, by the crawl's log."""
    by_name = {site.name: site for site in all_sites}
    ended: dict[str, tuple[int, str]] = {}
    for url, status, notes in simulation.outcomes():
        if url in ended:
            report.twice.append(url)
        ended[url] = status, notes
    for _, urls in found:
        for url in urls:
            report.urls += 1
            site = by_name[host_of(url)]
            if url not in ended:
                report.without_outcome.append(url)
                continue
            status, notes = ended[url]
            report.kinds[site.kind][_name(status)] += 1
            if status == 200:
                report.fetched += 1
            elif status in OF_THE_URL and "3t" in notes.split(","):
                report.charged.append(url)
            elif site.absence(url) <= PATIENCE:
                report.lost.append(url)
                if status in (Status.HOST_RETIRED, Status.ROBOTS_UNREACHABLE):
                    report.given_up.add(site.name)


def _name(status: int) -> str:
    return Status(status).name.lower() if status < 0 else str(status)


def _rates_around(answers: list[int], begin: float, end: float) -> tuple[float, float]:
    """Return the pages per second before an outage, and soon after it.

    If the outage is at the start, the first rate is one long after it.
    """
    after = _rate(answers, end + RATE_BACK_SECONDS, MEASURED_SECONDS)
    if begin - START < 2 * MINUTE:
        return _rate(answers, end + 3 * MINUTE, MEASURED_SECONDS), after
    return _rate(answers, begin - 2 * MINUTE, MEASURED_SECONDS), after


def _rate(answers: list[int], at: float, seconds: float) -> float:
    """Return the mean pages per second from a moment on."""
    first = int((at - START) / 10)
    return sum(answers[first : first + int(seconds / 10)]) / seconds


CHECKS: dict[str, Callable[[Report], bool]] = {
    "every URL has one outcome": lambda report: not report.without_outcome and not report.twice,
    "no URL is lost of a host that was back within HOST_PATIENCE": lambda report: not report.lost,
    "no such host is given up": lambda report: not report.given_up,
    "no request is earlier than a Retry-After allows": lambda report: not report.early,
    "never two requests to a host at once": lambda report: not report.overlaps,
    "after an outage the rate is back within a minute": lambda report: all(
        after >= 0.8 * before for before, after in report.rates
    ),
}
