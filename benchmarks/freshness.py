"""How fresh a crawl with revisits truly is: real crawls of a synthetic web whose pages change, next
to the optimum.

Each policy crawls the same web for some seconds, of which `--time-scale` makes weeks. The first
half is for finding the pages and learning their rates; the figures are of the second half. The
optimum and the two simple policies beside it know all rates, and have as many fetches as the crawl
had.

Policies that learn rates count in seconds and expect changes per hour or day: to judge those, let a
day pass in minutes and the crawl run for hours.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.copy_freshness import fetches, freshness, optimum, proportional, uniform
from benchmarks.support.report import report
from benchmarks.support.weighed_policies import ALIKE
from webcrawl.lab.simweb import World, running, wait_until_idle

TABLE_HEAD = "policy              fetches/s    304   fresh  optimum  of it   all alike  by rate    age (days)"
DAY = 86_400.0
MIX = {"change_poisson": 0.85, "change_never": 0.15, "validator_both": 0.5, "sitemap_plain": 0.0}


@dataclass(frozen=True, slots=True)
class Plan:
    """A web, and what a crawl of it may spend."""

    hosts: int
    pages: int
    changes: float
    time_scale: float
    budget: float  # fetches in shares of all changes
    seconds: float
    seed: int
    sitemaps: bool

    def world(self) -> World:
        """Return the world that the plan describes."""
        mix = MIX | {"sitemap_plain": 1.0 if self.sitemaps else 0.0}
        options = {
            "changes": self.changes,
            "time_scale": self.time_scale,
            "mix": mix,
            "size": (3000, 6000),
            "links": 10,
        }
        return World(self.hosts, self.pages, self.seed, 0, tls_port=0, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Figures:
    """The result of one policy."""

    rate: float  # fetches per second
    unmodified: float  # share of 304s
    fresh: float
    optimum: float
    uniform: float
    proportional: float
    age: float  # days of the changing web
    pages: int
    status: int


def measure(plan: Plan, policy: str, folder: Path, settings: list[str]) -> Figures:
    """Crawl the web with this policy, and return how fresh the second half of the crawl was."""
    world = plan.world()
    assert world.changing_pages is not None  # noqa: S101 - it has changes
    places = [(host, page) for host in range(plan.hosts) for page in range(world.pages_of(host))]
    rates = [world.changing_pages.rate(*place) for place in places]
    rate = plan.budget * sum(rates)
    mean_interval = len(places) / rate
    # No page is fetched again sooner; a fixed interval is all that the policy has
    age = mean_interval if policy == "fixed" else 0.05 * mean_interval
    with running(world) as server:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for url in world.seeds()))
        values = [
            f"JOBDIR={folder / 'job'}",
            f"DNS_NAMESERVERS={server.nameserver}",
            "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/16",
            "POLITENESS_MIN_DELAY=0",
            "POLITENESS_FACTOR=0",
            "LOG_LEVEL=ERROR",
            "MIN_FREE_DISK=0",
            f"REVISIT_POLICY={ALIKE}{policy}",
            f"REVISIT_RATE={rate}",
            f"REVISIT_AGE={age}",
            f"SITEMAPS={plan.sitemaps}",
            f"CLOSESPIDER_TIMEOUT={plan.seconds}",
            *settings,
        ]
        words = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={seeds}"]
        begun = time.time()
        status = subprocess.run(
            words + [word for value in values for word in ("-s", value)], check=False
        ).returncode
        ended = max((hit.wall for hit in server.log.hits), default=begun)
        wait_until_idle(server)
        hits = server.log.hits
    first = min((hit.wall for hit in hits), default=begun)
    middle = first + (ended - first) / 2
    late = [
        hit
        for hit in hits
        if hit.wall >= middle
        and world.changing_pages.page_at(_host_number(world, hit.host), hit.path) is not None
    ]
    seconds = max(ended - middle, 1e-9)
    weights, budget = [1.0] * len(rates), len(late) / seconds
    found = freshness(world, fetches(world, hits), middle, ended)
    return Figures(
        budget,
        sum(hit.status == 304 for hit in late) / max(len(late), 1),
        found.fresh,
        optimum(rates, weights, budget),
        uniform(rates, weights, budget) if budget else 0.0,
        proportional(rates, weights, budget) if budget else 0.0,
        found.age / world.changing_pages.day,
        found.pages,
        status,
    )


def _host_number(world: World, name: str) -> int:
    """Return the number of a host, or that after the last one if it is not of this world."""
    host = world.number(name)
    return world.hosts if host is None else host


def main() -> None:
    """Measure each policy, and print a table and its figures. The exit status is 1 if a crawl
    failed.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.freshness", description=__doc__)
    parser.add_argument(
        "--policies", default="optimal,fixed,uniform,proportional,history", metavar="NAME,NAME"
    )
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument(
        "--changes", type=float, default=0.02, help="changes per day that half of the pages exceed"
    )
    parser.add_argument(
        "--time-scale", type=float, default=4 * DAY, help="default: four days per second"
    )
    parser.add_argument(
        "--budget", type=float, default=0.2, help="fetches, as a share of all changes"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of each policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sitemaps",
        action="store_true",
        help="honest sitemaps on all hosts, which the crawl reads",
    )
    parser.add_argument(
        "-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    args = parser.parse_args()
    policies, settings = args.policies.split(","), args.settings
    values = {
        name: value for name, value in vars(args).items() if name not in ("policies", "settings")
    }
    print(TABLE_HEAD)
    failed = False
    for policy in policies:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Plan(**values), policy, Path(folder), settings)
        print(
            f"{policy:20}{found.rate:9.1f}{found.unmodified:7.0%}{found.fresh:8.3f}{found.optimum:9.3f}"
            f"{found.fresh / found.optimum:7.0%}{found.uniform:12.3f}{found.proportional:9.3f}{found.age:14.1f}",
            flush=True,
        )
        report(
            "freshness",
            policy=policy,
            fetches_per_second=found.rate,
            fresh=found.fresh,
            optimum=found.optimum,
            uniform=found.uniform,
            proportional=found.proportional,
            pages=found.pages,
            status=found.status,
        )
        failed = failed or found.status != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
