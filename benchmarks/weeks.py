"""Weeks of a crawl that revisits pages that change, in simulated time: how fresh it is, and what must not happen.

No sockets: the whole crawl behind `assemble` runs on the synthetic web's answers, and is killed now and then. The
optimum knows each page's rate of change and has as many fetches; "told" is the one that also has honest sitemaps, which
it reads as often as is best and pays for.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.support.report import report, timed
from benchmarks.support.revisits import weeks
from benchmarks.support.revisits_report import CHECKS
from benchmarks.support.revisits_web import Scale

HEAD = "policy          fresh  optimum  of it   told  of it  all alike  fetches/day  wanted    304"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weeks", description=__doc__)
    whole = Scale()
    parser.add_argument("--policies", default="optimal,uniform,proportional,history,fixed", metavar="NAME,NAME")
    parser.add_argument("--hosts", type=int, default=whole.hosts)
    parser.add_argument("--pages", type=int, default=whole.pages)
    parser.add_argument("--days", type=float, default=whole.days)
    parser.add_argument("--changes", type=float, default=whole.changes, help="per day, that half of the pages exceed")
    parser.add_argument("--budget", type=float, default=whole.budget, help="fetches, as a share of all changes")
    parser.add_argument("--delay", type=float, default=whole.delay, help="POLITENESS_MIN_DELAY")
    parser.add_argument("--kills", type=int, default=whole.kills)
    parser.add_argument("--away", action="store_true", help="a third of the hosts are away for a day, or for five")
    parser.add_argument("--sitemaps", default="", metavar="KIND", help="of all hosts, e.g. sitemap_plain, sitemap_now")
    parser.add_argument("--seed", type=int, default=whole.seed)
    args = parser.parse_args()
    logging.disable()
    values = vars(args)
    policies, good = values.pop("policies").split(","), True
    print(HEAD)
    for policy in policies:
        with tempfile.TemporaryDirectory() as folder, timed() as spent:
            found = weeks(Path(folder), replace(whole, policy=policy, **values))
        print(
            f"{policy:14}{found.fresh:7.3f}{found.optimum:9.3f}{found.fresh / found.optimum:7.1%}{found.told:7.3f}"
            f"{found.fresh / found.told if found.told else 0.0:7.1%}{found.uniform:11.3f}"
            f"{found.rate:13.0f}{found.wanted:8.0f}{found.unmodified:7.0%}"
        )
        failed = [check for check, holds in CHECKS.items() if not holds(found)]
        for check in failed:
            print(f"   NO  {check}")
        good = good and not failed
        report(
            "weeks",
            policy=policy,
            fresh=found.fresh,
            optimum=found.optimum,
            told=found.told,
            known=found.known,
            missing=len(found.missing),
            lost=len(found.lost),
            twice=len(found.twice),
            early=len(found.early),
            overlaps=len(found.overlaps),
            requests=found.counters["requests"],
            kills=found.counters["kills"],
            cpu_seconds=spent.cpu,
        )
    sys.exit(not good)


if __name__ == "__main__":
    main()
