"""Revisit policies on pages that change by known processes: freshness within a budget, as a share
of the optimum.

The clock is simulated and the policies are the crawl's own. Every page is fetched once, at the rate
of the budget; then its revisits begin. `freshness` is of the last fifth of the visits, `by_visits`
after so many visits per page.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.support.announced import KINDS, Announced
from benchmarks.support.changing import RATES, World, best
from benchmarks.support.filed import Filed
from benchmarks.support.histories import replayed
from benchmarks.support.report import report, timed
from benchmarks.support.revisiting import PARTS, Store, simulate
from webcrawl.crawl.revisit_counts import STALE, estimate
from webcrawl.store.jobdir.revisit_figures import RevisitFigures

JUDGED_VISITS = (1, 2, 4, 20)  # visits per page: freshness is that of the last one of them


def measure(policy: str, args: argparse.Namespace, share: float) -> None:
    """Simulate one policy within one budget, and report its freshness."""
    world = _world(args)
    budget = share * float(world.rates.sum())
    more: dict[str, float] = {}
    with ExitStack() as opened:
        store, known = (
            Store(world, budget, policy, known=args.known, seed=args.seed),
            best(world, budget),
        )
        if args.sitemaps:
            store = Announced(world, budget, policy, args.sitemaps, args.listed, seed=args.seed)
            known = best(world, budget, store.listed if args.sitemaps == "honest" else None)
        elif args.filed:
            store = opened.enter_context(Filed(world, budget, policy, seed=args.seed))
        with timed() as clock:
            reached = list(simulate(store, args.visits, args.steps, args.parts))
        if isinstance(store, Filed):
            more = {
                "us_of_crawl": store.cpu / (store.total + len(world)) * 1e6,
                "disk_mib": store.disk / 2**20,
            }
    freshness = reached[-1][1]
    report(
        "revisits",
        policy=policy,
        pages=len(world),
        rates=str(args.histories or args.rates),
        zipf=None if args.histories else args.zipf,
        budget=share,
        freshness=freshness,
        sitemaps=args.sitemaps,
        optimum=known.freshness,
        of_optimum=freshness / known.freshness,
        **claimed_shares(store),
        by_visits={
            round(visits, 1): round(fresh / known.freshness, 3) for visits, fresh in reached
        },
        us_per_visit=clock.cpu / (store.total + len(world)) * 1e6,
        **more,
    )


def judge(args: argparse.Namespace, share: float) -> None:
    """Report the policies beside each other, at the first visits of each page and at a late one."""
    found: dict[str, dict[str, float]] = {}
    for policy in args.policies:
        world = _world(args)
        budget = share * float(world.rates.sum())
        optimum = best(world, budget).freshness
        reached = dict(
            simulate(
                Store(world, budget, policy, seed=args.seed),
                JUDGED_VISITS[-1],
                JUDGED_VISITS[-1],
                args.parts,
            )
        )
        found[policy] = {
            str(visits): round(reached[visits] / optimum, 3) for visits in JUDGED_VISITS
        }
    rates = str(args.histories or args.rates)
    report(
        "revisits_judged",
        rates=rates,
        zipf=args.zipf,
        budget=share,
        pages=args.pages,
        seed=args.seed,
        **found,
    )


def _world(args: argparse.Namespace) -> World:
    """Return the world that the options describe. End the process if its files cannot be read."""
    if not args.histories:
        return World.make(args.pages, args.rates, args.seed, args.zipf)
    try:
        return replayed(args.histories, args.pages, args.seed)
    except (OSError, ValueError) as error:
        sys.exit(str(error))


def claimed_shares(store: Store) -> dict[str, float]:
    """Return what a crawl would say of its pages now, as a share of what is true or beside it."""
    said = RevisitFigures(records=len(store.world))
    estimate(said, store.sample, store.clock)
    chance = np.exp(-store.world.rates * (store.clock - store.fetched))
    return {
        "mean_rate": store.sample.prior.mean / float(store.world.rates.mean()),
        "fresh_said": said.freshness,
        "fresh_true": float((store.world.weights * (store.changes_at > store.clock)).sum()),
        "let_go": said.let_go / max(int((chance < STALE).sum()), 1),
    }


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisits", description=__doc__)
    parser.add_argument(
        "policies", nargs="*", default=["optimal"], help="names or dotted paths (%(default)s)"
    )
    parser.add_argument("--pages", type=int, default=100_000, metavar="N")
    parser.add_argument(
        "--budget",
        type=float,
        nargs="+",
        default=[0.05, 0.2, 0.5],
        help="of all changes (%(default)s)",
    )
    parser.add_argument("--visits", type=float, default=10, help="per page (%(default)s)")
    parser.add_argument(
        "--steps", type=int, default=5, help="parts of the run that are reported (%(default)s)"
    )
    parser.add_argument("--rates", choices=RATES, default="lognormal")
    parser.add_argument(
        "--histories",
        type=Path,
        metavar="FOLDER",
        help="rates and importance of Bing's pages instead",
    )
    parser.add_argument(
        "--zipf",
        type=float,
        default=0.8,
        help="of the pages' importance; 0: all alike (%(default)s)",
    )
    parser.add_argument("--known", action="store_true", help="tell the policy the true rates")
    parser.add_argument(
        "--filed", action="store_true", help="keep the records in a crawl.db, as a crawl does"
    )
    parser.add_argument(
        "--sitemaps",
        choices=KINDS,
        help="what the dates of sitemaps are like; the optimum knows them",
    )
    parser.add_argument(
        "--listed", type=float, default=1.0, help="share of pages in sitemaps (%(default)s)"
    )
    parser.add_argument(
        "--parts", type=int, default=PARTS, help="steps of the simulation per round (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--judge",
        action="store_true",
        help="freshness at the 1st, 2nd, 4th and 20th visit of a page",
    )
    args = parser.parse_args()
    for share in args.budget:
        if args.judge:
            judge(args, share)
            continue
        for policy in args.policies:
            measure(policy, args, share)


if __name__ == "__main__":
    main()
