"""Weeks of a crawl that revisits, in simulated time: crawled, killed at random moments, and
measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.support.revisits_report import Report, check_repeats, early, measure, places
from benchmarks.support.revisits_web import MINUTE, Scale, Weeks
from benchmarks.support.simulation import DAY, START
from benchmarks.support.weighed_policies import BY_ZIPF
from webcrawl.crawl.revisit.policies import POLICIES
from webcrawl.lab.simweb.changing_pages import GONE
from webcrawl.lab.simweb.host_kinds import is_robots

ROUNDS = 6  # of all pages, with `fixed`


def weeks(folder: Path, scale: Scale, settings: Mapping[str, Any] | None = None) -> Report:
    """Simulate weeks of a crawl, killed at random moments, and return what became of it."""
    world = scale.world(lambda: START)
    rates = [
        world.changing_pages.rate(*place) if world.changing_pages is not None else 0.0
        for place in places(world)
    ]
    wanted = scale.budget * sum(rates)
    age = scale.days * DAY / ROUNDS
    values = {
        **_settings(scale),
        "REVISIT_RATE": wanted if scale.policy != "fixed" else 20 * scale.pages / age,
        "REVISIT_AGE": age,
        **(settings or {}),
    }
    simulation = Weeks(folder, scale, values)
    random = Random(scale.seed)
    end = START + scale.days * DAY
    for at in sorted(START + random.random() * scale.days * DAY for _ in range(scale.kills)):
        simulation.run(at)
        simulation.kill(away=random.choice((1.0, MINUTE)))
    simulation.run(end)
    report = Report(
        scale.policy, scale.pages, counters=simulation.counters, overlaps=simulation.judge.overlaps
    )
    parts = simulation.crawl.parts
    if parts.revisiting is not None:
        # that wait, or are under way
        ((signals,),) = parts.db.query("SELECT count(*) FROM ahead WHERE since <= 0")
        report.records = len(parts.revisiting) - signals
    there = (
        hit
        for run in simulation.runs
        for hit in run
        if hit.status == 200 and not is_robots(hit.path)
    )
    report.urls = len({hit.url for hit in there})
    report.gone = len({hit.url for run in simulation.runs for hit in run if hit.edition == GONE})
    simulation.close()
    measure(report, simulation, rates, wanted, end)
    report.early = [line for run in simulation.runs for line in early(run, scale.delay)]
    if scale.policy == "fixed":
        check_repeats(report, simulation, age, end)
    return report


def _settings(scale: Scale) -> dict[str, Any]:
    """Return the settings that all crawls of this scale have."""
    return {
        "REVISIT_POLICY": f"{BY_ZIPF}{scale.policy}" if scale.policy in POLICIES else scale.policy,
        "SITEMAPS": bool(scale.sitemaps),
        "FEED_LINKS": False,
        "POLITENESS_MIN_DELAY": scale.delay,
        "POLITENESS_FACTOR": 0,
        "CONTENT_SEEN": "process",
        "DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited",
    }


def share(folder: Path, scale: Scale, wanted: float) -> float:
    """Return the share that fetches of known pages have of all, with this REVISIT_SHARE.

    It is measured while there are new pages.
    """
    values = {"REVISIT_RATE": 0, "REVISIT_SHARE": wanted, "REVISIT_AGE": 10**9}
    simulation = Weeks(folder, scale, _settings(scale) | values)
    simulation.run(START + scale.days * DAY)
    simulation.close()
    pages = [hit.url for hit in simulation.runs[0] if not is_robots(hit.path)]
    first = {url: at for at, url in reversed([*enumerate(pages)])}
    new = sorted(first.values())
    # before, few are known; later, few hosts have new ones
    begin, end = new[len(new) // 3], new[len(new) * 7 // 10]
    return 1 - sum(begin <= at < end for at in new) / (end - begin)
