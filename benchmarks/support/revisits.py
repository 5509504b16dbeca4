"""Weeks of a crawl that revisits, in simulated time: the whole crawl behind `assemble`, on pages that change.

Nothing is faked but network and time: answers are those of the synthetic web, and the crawl's own visitor reads them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappush
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from benchmarks.support.simulation import DAY, START, Answer, Asked, Simulation
from benchmarks.support.weather import refused
from webcrawl.model import Exchange, Link, Timings
from webcrawl.simweb import Hit, World
from webcrawl.simweb.answers import Ask, head
from webcrawl.simweb.freshness import fetches, freshness
from webcrawl.simweb.living.listings import is_listing
from webcrawl.simweb.living.living import GONE, original
from webcrawl.simweb.optimum import optimum, uniform
from webcrawl.simweb.paths import path
from webcrawl.simweb.robots import is_robots
from webcrawl.urls.hosts import host_of

MINUTE = 60.0
SECONDS = 0.3  # that an answer takes
WARM = 0.5  # of the time: what is measured comes after it
LATE, TWICE = 1.25, 0.5  # of the age with `fixed`: later than this is lost, sooner than this is fetched twice
RANKS = 50  # of importance: if there were more, few pages would decide about freshness
ROUNDS = 6  # of all pages, with `fixed`
STAYING = ("change_poisson", "change_never")
SLACK = 0.001


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a web and how long a crawl; `budget` is a share of all changes."""

    hosts: int = 50
    pages: int = 1000
    days: float = 40.0
    changes: float = 0.4
    budget: float = 0.2
    policy: str = "optimal"
    delay: float = 5.0  # POLITENESS_MIN_DELAY
    kills: int = 6
    sitemaps: str = ""  # the kind of all hosts' sitemaps, which the crawl reads
    away: bool = False  # whether a third of the hosts are away for a time, some longer than HOST_PATIENCE
    seed: int = 1

    def world(self, clock: Callable[[], float]) -> World:
        mix = {"change_poisson": 0.84, "change_never": 0.1}
        mix |= dict.fromkeys(("change_moves", "change_returns", "change_gone_404"), 0.02)
        mix |= dict.fromkeys(("validator_strong", "validator_weak", "validator_modified", "validator_both"), 0.2)
        if self.sitemaps:
            mix[self.sitemaps] = 1.0
        more: dict[str, Any] = {"size": (0, 0), "links": 10, "changes": self.changes, "mix": mix, "clock": clock}
        return World(self.hosts, self.pages, self.seed, **more)


@dataclass(slots=True)
class Report:
    """What the weeks came to; rates and shares are of the time after the crawl has warmed up."""

    policy: str = ""
    pages: int = 0  # of the web
    known: int = 0  # were fetched
    fresh: float = 0.0
    optimum: float = 0.0
    uniform: float = 0.0
    wanted: float = 0.0  # revisits per day, by REVISIT_RATE
    rate: float = 0.0  # that there were
    unmodified: float = 0.0  # share of 304s
    missing: list[str] = field(default_factory=list)  # that were never fetched
    lost: list[str] = field(default_factory=list)  # not fetched again in time; with `fixed`
    twice: list[str] = field(default_factory=list)  # fetched again much too early; with `fixed`
    not_back: list[str] = field(default_factory=list)  # not fetched again after their host was away
    records: int = 0  # of pages that are fetched again, in the end
    listings: int = 0  # sitemaps, which are pages too
    moved: int = 0  # URLs that lead elsewhere for good: they are looked after for a while, like pages that are gone
    gone: int = 0  # pages that were told to be gone: their records may have been forgotten
    early: list[str] = field(default_factory=list)  # before the host's turn
    overlaps: list[str] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Shown(Asked):
    """A request with its whole answer, and how it is logged."""

    exchange: Exchange
    hit: Hit


class Weeks(Simulation):
    """A simulation whose answers are those of a world."""

    def __init__(self, folder: Path, scale: Scale, settings: Mapping[str, Any]) -> None:
        self.now = START
        self.world = scale.world(lambda: self.now)
        self.runs: list[list[Hit]] = [[]]  # what was asked for in each
        self.hits: list[Hit] = []  # what no kill has undone
        self._saved_hits = 0
        self.spells = _spells(scale) if scale.away else {}
        super().__init__(folder, _away, [(START, [*self.world.seeds()])], settings, interval=60 * MINUTE)

    def back(self, host: str) -> float:
        """When a host is back that was away; 0 if it never was."""
        return self.spells[host][1] if host in self.spells else 0.0

    def checkpoint(self) -> None:
        super().checkpoint()
        self._saved_hits = len(self.hits)

    def kill(self, away: float = 0.0) -> None:
        super().kill(away)
        del self.hits[self._saved_hits :]
        self.runs.append([])

    def _begin(self, link: Link) -> None:
        begin, end = self.spells.get(host_of(link.url), (0.0, 0.0))
        if begin <= self.now < end:
            super()._begin(link)  # to `_away`
            if self.crawl.revisiting is not None and link.history:
                self.crawl.revisiting.headers(link)
            return
        self._changes()
        self.judge.begins(link, self.now)
        exchange, hit = self._ask(link)
        self.runs[-1].append(hit)
        self._serial += 1
        answer = Answer(hit.status, SECONDS, body=exchange.body)
        heappush(self._flying, (hit.ended, self._serial, Shown(link, self.now, hit.ended, answer, exchange, hit)))

    def _end(self, asked: Asked) -> None:
        if not isinstance(asked, Shown):
            super()._end(asked)
            return
        link, exchange = asked.link, asked.exchange
        self.judge.ends(link, asked.answer, self.now)
        self.counters["requests"] += 1
        self.hits.append(asked.hit)
        page = self.visitor.visit(link, exchange)
        if not link.path.endswith("P"):
            self.visitor.follow(page)
        self.crawl.finish(link, self._outcome(asked), exchange)

    def _ask(self, link: Link) -> tuple[Exchange, Hit]:
        """The answer as the network room would bring it."""
        revisiting = self.crawl.revisiting
        given = revisiting.headers(link) if revisiting is not None and link.history else []
        conditions = {name.decode(): value for name, value in given}
        host, target = self.world.locate(link.url) or (0, "/never")
        etag, since = (conditions.get(name, b"").decode() for name in ("If-None-Match", "If-Modified-Since"))
        answer = self.world.answer(Ask(host, target, "", etag, since, 1, host_of(link.url)))
        lines = [f"GET {target} HTTP/1.1", f"Host: {host_of(link.url)}"]
        lines += [f"{name}: {value.decode()}" for name, value in conditions.items()]
        top = head(answer, answer.date, length=len(answer.body))
        headers = [
            (name, value) for name, _, value in (line.partition(b": ") for line in top.split(b"\r\n")[1:]) if name
        ]
        request = "\r\n".join([*lines, "", ""]).encode()
        exchange = Exchange(
            link.url,
            request,
            answer.status,
            top,
            headers,
            answer.body,
            answer.body,
            answer.body,
            "127.0.0.1",
            self.now,
            Timings(total=SECONDS),
        )
        hit = Hit(self.now, self.now, link.url, "", 0, ended=self.now + SECONDS, status=answer.status, outcome="sent")
        hit.edition, hit.conditional = answer.edition, bool(conditions)
        return exchange, hit


def _away(url: str, now: float) -> Answer:
    """What a request gets while its host is away."""
    del url, now
    return refused()


def _spells(scale: Scale) -> dict[str, tuple[float, float]]:
    """When some hosts are away: a day, or five."""
    chance = Random(scale.seed)
    found = {}
    for host in range(0, scale.hosts, 3):
        begin = START + scale.days * DAY * chance.uniform(0.1, 0.4)
        found[f"site{host}.test"] = (begin, begin + (5 if host % 2 else 1) * DAY)
    return found


def weeks(folder: Path, scale: Scale, settings: Mapping[str, Any] | None = None) -> Report:
    """Crawls them, killed at random moments, each time after some work since the last checkpoint."""
    world = scale.world(lambda: START)
    rates = [world.living.rate(*place) if world.living is not None else 0.0 for place in _every(world)]
    wanted, age = scale.budget * sum(rates), scale.days * DAY / ROUNDS
    values = {
        **_settings(scale),
        "REVISIT_RATE": wanted if scale.policy != "fixed" else 20 * scale.pages / age,
        "REVISIT_AGE": age,
        **(settings or {}),
    }
    simulation = Weeks(folder, scale, values)
    chance = Random(scale.seed)
    end = START + scale.days * DAY
    for at in sorted(START + chance.random() * scale.days * DAY for _ in range(scale.kills)):
        simulation.run(at)
        simulation.kill(away=chance.choice((1.0, MINUTE)))
    simulation.run(end)
    report = Report(scale.policy, scale.pages, counters=simulation.counters, overlaps=simulation.judge.overlaps)
    report.records = len(simulation.crawl.revisiting) if simulation.crawl.revisiting is not None else 0
    report.listings = len({hit.url for run in simulation.runs for hit in run if is_listing(hit.path)})
    report.moved = len({hit.url for run in simulation.runs for hit in run if hit.status in (301, 308)})
    report.gone = len({hit.url for run in simulation.runs for hit in run if hit.edition == GONE})
    simulation.close()
    _measure(report, simulation, rates, wanted, end)
    report.early = [line for run in simulation.runs for line in _early(run, scale.delay)]
    if scale.policy == "fixed":
        _repeats(report, simulation, age, end)
    return report


def _settings(scale: Scale) -> dict[str, Any]:
    return {
        "REVISIT_POLICY": scale.policy,
        "REVISIT_IMPORTANCE": "benchmarks.support.revisits.important",
        "SITEMAPS": bool(scale.sitemaps),
        "FEED_LINKS": False,
        "POLITENESS_MIN_DELAY": scale.delay,
        "POLITENESS_FACTOR": 0,
        "CONTENT_SEEN": "process",
        "DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited",
    }


def share(folder: Path, scale: Scale, wanted: float) -> float:
    """The share that fetches of known pages have of all, while there are new ones, with REVISIT_SHARE so large."""
    values = {"REVISIT_RATE": 0, "REVISIT_SHARE": wanted, "REVISIT_AGE": 10**9}
    simulation = Weeks(folder, scale, _settings(scale) | values)
    simulation.run(START + scale.days * DAY)
    simulation.close()
    pages = [hit.url for hit in simulation.runs[0] if not is_robots(hit.path)]
    first = {url: at for at, url in reversed([*enumerate(pages)])}
    new = sorted(first.values())
    begin, end = new[len(new) // 3], new[len(new) * 7 // 10]  # before, few are known; later, few hosts have new ones
    return 1 - sum(begin <= at < end for at in new) / (end - begin)


def important(link: Link) -> float:
    """REVISIT_IMPORTANCE: by Zipf's law, independent of everything else."""
    return weight(link.url)


def weight(url: str) -> float:
    return (1.0 + crc32(original(url).encode()) % RANKS) ** -0.8


def _every(world: World) -> list[tuple[int, int]]:
    """All pages, by host and page."""
    return [(host, page) for host in range(world.hosts) for page in range(world.pages_of(host))]


def _measure(report: Report, simulation: Weeks, rates: list[float], wanted: float, end: float) -> None:
    """Freshness is of pages that stay where they are: for the others nobody knows an optimum."""
    middle, world = START + (end - START) * WARM, simulation.world
    every, sent = _every(world), fetches(world, simulation.hits)
    late = [hit for run in simulation.runs for hit in run if hit.wall >= middle and not is_robots(hit.path)]
    report.wanted, report.rate = wanted * DAY, len(late) / (end - middle) * DAY
    report.unmodified = sum(hit.status == 304 for hit in late) / max(len(late), 1)
    report.known = len(sent)
    report.missing = [f"{world.origin(host)}{path(page)}" for host, page in every if (host, page) not in sent]
    staying = {place: rate for place, rate in zip(every, rates, strict=True) if _stays(world, *place)}
    urls = [world.origin(host) + path(page) for host, page in staying]
    weights, chosen = [weight(url) for url in urls], set(urls)
    budget = sum(hit.url in chosen for hit in late) / (end - middle)
    kept = {place: of_page for place, of_page in sent.items() if place in staying}
    report.fresh = freshness(world, kept, middle, end, weight=weight).fresh
    report.optimum = optimum([*staying.values()], weights, budget)
    report.uniform = uniform([*staying.values()], weights, budget) if budget else 0.0


def _stays(world: World, host: int, page: int) -> bool:
    return world.living is not None and (page == 0 or world.living.kind(host, page) in STAYING)


def _early(run: list[Hit], delay: float) -> list[str]:
    """Requests that a host got sooner than its turn was, in one run."""
    by_host: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in run:
        by_host[hit.host].append(hit)
    return [
        f"{second.url}: {second.started - first.ended:.3f} s"
        for hits in by_host.values()
        for first, second in pairwise(hits)
        if second.started - first.ended < delay - SLACK
    ]


def _repeats(report: Report, simulation: Weeks, age: float, end: float) -> None:
    """With a fixed age each page that is where it was has its next fetch after that time, and only one."""
    asked: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in simulation.hits:
        if not is_robots(hit.path):
            asked[hit.url].append(hit)
    for url, hits in asked.items():
        spaces = [second.wall - first.wall for first, second in pairwise(hits)]
        if min(spaces, default=age) < TWICE * age:
            report.twice.append(f"{url}: {min(spaces) / age:.2f} times its age")
        if not {hit.status for hit in hits} <= {200, 304}:
            continue
        back, longest = simulation.back(host_of(url)), max([*spaces, end - hits[-1].wall])
        if hits[-1].wall < back:
            report.not_back.append(url)
        elif not back and longest > LATE * age:
            report.lost.append(f"{url}: {longest / age:.2f} times its age")


CHECKS: dict[str, Callable[[Report], bool]] = {
    "every page is found": lambda report: not report.missing,
    "no page is lost (fixed)": lambda report: not report.lost,
    "no page is forgotten because its host was away (fixed)": lambda report: not report.not_back,
    "each page that is there has a record": lambda report: (
        report.known - report.gone <= report.records <= report.known + report.listings + report.moved
    ),
    "no page is fetched twice in its time (fixed)": lambda report: not report.twice,
    "never two requests to a host at once": lambda report: not report.overlaps,
    "no request before its host's turn": lambda report: not report.early,
    "the budget is kept within 5 %": lambda report: (
        report.policy == "fixed" or abs(report.rate / report.wanted - 1) < 0.05
    ),
    "nearer to the optimum than with all pages alike (optimal)": lambda report: (
        report.policy != "optimal" or report.optimum - report.fresh < (report.optimum - report.uniform) / 2
    ),
}
