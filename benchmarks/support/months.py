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

from benchmarks.support.simulation import DAY, START, Asked, Simulation
from benchmarks.support.weather import HOUR, MINUTE, Site, Web, sites
from webcrawl.base.model import Status
from webcrawl.base.url_text import host_of

PATIENCE = 3 * DAY  # HOST_PATIENCE
# As long as no other URL of the host fails
OF_THE_URL = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST, 429, 503))
DELAY = 20.0  # POLITENESS_MIN_DELAY: so that a burst of URLs lasts for some minutes
# URLs of each host that are found before each outage of ours, and how long before it
BURST, EARLIER = 30, 5 * MINUTE
# after an outage: when the rate must be back, and for how long it is measured
BACK, MEASURED = MINUTE, MINUTE
AFTER = 8 * DAY  # the last URLs have their outcome by then


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
        """Of our own network: five minutes at the start, an hour, and 20 minutes of DNS only."""
        hour, dns = START + self.days * DAY / 3, START + 2 * self.days * DAY / 3
        return [
            (START, START + 5 * MINUTE, False),
            (hour, hour + HOUR, False),
            (dns, dns + 20 * MINUTE, True),
        ]


@dataclass(slots=True)
class Report:
    """What a month came to."""

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


def feed(made: list[Site], scale: Scale) -> list[tuple[float, list[str]]]:
    """When which URLs are found."""
    chance = Random(scale.seed + 1)
    found: dict[float, list[str]] = defaultdict(list)
    for site in made:
        numbers = iter(range(10**6))
        times = [START] * scale.first
        times += [begin - EARLIER for begin, _, _ in scale.outages[1:] for _ in range(BURST)]
        times += [START + chance.random() * scale.days * DAY for _ in range(scale.later)]
        for at in times:
            found[at].append(site.url(next(numbers)))
    return sorted(found.items())


def month(folder: Path, scale: Scale, settings: Mapping[str, Any] | None = None) -> Report:
    """Crawls it."""
    made = sites(scale.hosts, scale.days, scale.seed)
    found = feed(made, scale)
    answers = [0] * int((scale.days * DAY + AFTER) / 10 + 1)  # pages in each 10 seconds

    def note(asked: Asked) -> None:
        if (
            asked.answer.error is None
            and asked.answer.status == 200
            and not asked.link.path.endswith("P")
        ):
            answers[int((asked.ended - START) / 10)] += 1

    values = {
        "POLITENESS_MIN_DELAY": DELAY,
        "FRONTIER_QUEUES": 3 * scale.hosts,
        "FRONTIER_MAX_QUEUES": 30_000,
    }
    values |= {"CONCURRENT_REQUESTS": max(scale.hosts // 4, 50), **(settings or {})}
    simulation = Simulation(
        folder, Web(made, scale.outages), found, values, interval=15 * MINUTE, on_asked=note
    )
    _crawl(simulation, scale)
    report = Report(counters=simulation.counters)
    simulation.close()
    _outcomes(report, simulation, made, found)
    report.early, report.overlaps = simulation.judge.early, simulation.judge.overlaps
    report.rates = [_rates(answers, begin, end) for begin, end, _ in scale.outages]
    return report


def _crawl(simulation: Simulation, scale: Scale) -> None:
    """The whole time, killed at random moments, and once in the middle of each outage."""
    chance = Random(scale.seed + 2)
    times = [START + chance.random() * scale.days * DAY for _ in range(scale.kills)]
    times += [(begin + end) / 2 for begin, end, _ in scale.outages] if scale.kills else []
    for at in sorted(times):
        simulation.run(at)
        simulation.kill(away=chance.choice((1.0, MINUTE)))
    simulation.run(START + scale.days * DAY + AFTER)


def _outcomes(
    report: Report, simulation: Simulation, made: list[Site], found: list[tuple[float, list[str]]]
) -> None:
    by_name = {site.name: site for site in made}
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


def _rates(answers: list[int], begin: float, end: float) -> tuple[float, float]:
    """Pages per second in the minutes before an outage, or long after it if there are none, and
    soon after it.
    """
    after = _rate(answers, end + BACK, MEASURED)
    if begin - START < 2 * MINUTE:
        return _rate(answers, end + 3 * MINUTE, MEASURED), after
    return _rate(answers, begin - 2 * MINUTE, MEASURED), after


def _rate(answers: list[int], at: float, seconds: float) -> float:
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
