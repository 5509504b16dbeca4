"""What weeks of a crawl that revisits came to, next to what is possible with known rates, and what
must hold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from benchmarks.support.copy_freshness import fetches, freshness, optimum, uniform
from benchmarks.support.listings import told
from benchmarks.support.revisits_web import Weeks, weight
from benchmarks.support.simulation import DAY, START
from webcrawl.base.url_text import host_of
from webcrawl.lab.simweb import Hit, World
from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.site_listings import is_listing

WARM_SHARE = 0.5  # of the time: what is measured comes after it
LATE = 1.25  # times the age with `fixed`: a page that is fetched later is lost
TWICE = 0.5  # times the age: a page that is fetched sooner is fetched twice
STAYING = ("change_poisson", "change_never")
SLACK = 0.001


@dataclass(slots=True)
class Report:
    """What the weeks came to; rates and shares are of the time after the crawl has warmed up."""

    policy: str = ""
    pages: int = 0  # of the web
    known: int = 0  # were fetched
    fresh: float = 0.0
    optimum: float = 0.0  # without listings, if all fetches are of pages
    told: float = 0.0  # with honest listings that are paid for, if the hosts have any
    uniform: float = 0.0
    wanted: float = 0.0  # revisits per day, by REVISIT_RATE
    rate: float = 0.0  # that there were
    unmodified: float = 0.0  # share of 304s
    missing: list[str] = field(default_factory=list)  # that were never fetched
    lost: list[str] = field(default_factory=list)  # not fetched again in time; with `fixed`
    twice: list[str] = field(default_factory=list)  # fetched again much too early; with `fixed`
    not_back: list[str] = field(default_factory=list)  # not fetched again after their host was away
    records: int = 0  # of pages that are fetched again, in the end
    # that were pages at any time, sitemaps among them: what has moved is looked after for a while
    urls: int = 0
    gone: int = 0  # pages that were told to be gone: their records may have been forgotten
    early: list[str] = field(default_factory=list)  # before the host's turn
    overlaps: list[str] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)


def measure(
    report: Report, simulation: Weeks, rates: list[float], wanted: float, end: float
) -> None:
    """Fill in the rates and the freshness of the time after the crawl has warmed up.

    Freshness is of pages that stay where they are: for the others no optimum is known.
    """
    world = simulation.world
    middle = START + (end - START) * WARM_SHARE
    all_places = places(world)
    sent = fetches(world, simulation.hits)
    late = [
        hit
        for run in simulation.runs
        for hit in run
        if hit.wall >= middle and not is_robots(hit.path)
    ]
    report.wanted = wanted * DAY
    report.rate = len(late) / (end - middle) * DAY
    report.unmodified = sum(hit.status == 304 for hit in late) / max(len(late), 1)
    report.known = len(sent)
    report.missing = [
        f"{world.origin(host)}{path(page)}" for host, page in all_places if (host, page) not in sent
    ]
    staying = {
        place: rate for place, rate in zip(all_places, rates, strict=True) if _stays(world, *place)
    }
    urls = [world.origin(host) + path(page) for host, page in staying]
    weights = [weight(url) for url in urls]
    chosen = set(urls)
    budget = sum(hit.url in chosen or is_listing(hit.path) for hit in late) / (end - middle)
    kept = {place: of_page for place, of_page in sent.items() if place in staying}
    report.fresh = freshness(world, kept, middle, end, weight=weight).fresh
    rates_of_staying = [*staying.values()]
    report.optimum = optimum(rates_of_staying, weights, budget)
    if simulation.lists:
        hosts = np.array([host for host, _ in staying])
        known = told(np.array(rates_of_staying), np.array(weights), hosts, budget)
        report.told = known.fresh
    report.uniform = uniform(rates_of_staying, weights, budget) if budget else 0.0


def places(world: World) -> list[tuple[int, int]]:
    """Return all pages, by host and page."""
    return [(host, page) for host in range(world.hosts) for page in range(world.pages_of(host))]


def _stays(world: World, host: int, page: int) -> bool:
    """Return whether a page stays at its URL as long as the world lasts."""
    return world.changing_pages is not None and (
        page == 0 or world.changing_pages.kind(host, page) in STAYING
    )


def early(run: list[Hit], delay: float) -> list[str]:
    """Return the requests of one run that a host got before its turn."""
    by_host: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in run:
        by_host[hit.host].append(hit)
    return [
        f"{second.url}: {second.started - first.ended:.3f} s"
        for hits in by_host.values()
        for first, second in pairwise(hits)
        if second.started - first.ended < delay - SLACK
    ]


def check_repeats(report: Report, simulation: Weeks, age: float, end: float) -> None:
    """Check a crawl with a fixed age: each page that stays is fetched once per age.

    Fill in the pages that were fetched too early or too late, or not after their host was away.
    """
    hits_by_url: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in simulation.hits:
        if not is_robots(hit.path):
            hits_by_url[hit.url].append(hit)
    for url, hits in hits_by_url.items():
        gaps = [second.wall - first.wall for first, second in pairwise(hits)]
        if min(gaps, default=age) < TWICE * age:
            report.twice.append(f"{url}: {min(gaps) / age:.2f} times its age")
        if not {hit.status for hit in hits} <= {200, 304}:
            continue
        back, longest = simulation.back(host_of(url)), max([*gaps, end - hits[-1].wall])
        if hits[-1].wall < back:
            report.not_back.append(url)
        elif not back and longest > LATE * age:
            report.lost.append(f"{url}: {longest / age:.2f} times its age")


CHECKS: dict[str, Callable[[Report], bool]] = {
    "every page is found": lambda report: not report.missing,
    "no page is lost (fixed)": lambda report: not report.lost,
    "no page is forgotten because its host was away (fixed)": lambda report: not report.not_back,
    "each page that is there has a record": lambda report: (
        report.known - report.gone <= report.records <= report.urls
    ),
    "no page is fetched twice in its time (fixed)": lambda report: not report.twice,
    "never two requests to a host at once": lambda report: not report.overlaps,
    "no request before its host's turn": lambda report: not report.early,
    "the budget is kept within 5 %": lambda report: (
        report.policy == "fixed" or abs(report.rate / report.wanted - 1) < 0.05
    ),
    "nearer to the optimum than with all pages alike (optimal)": lambda report: (
        report.policy != "optimal"
        or report.optimum - report.fresh < (report.optimum - report.uniform) / 2
    ),
}
