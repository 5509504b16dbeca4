"""A month on a web that fails as the real one does, in simulated time: what is lost, and who is
asked too early.

No sockets: the whole crawl behind `assemble` runs on a fake web with hosts that are busy,
restarted, away for days or for ever, with names that do not resolve for a while, and with outages
of our own network. It is killed now and then.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from pathlib import Path

from benchmarks.support.months import CHECKS, Report, Scale, month
from benchmarks.support.report import report, timed


def show(found: Report) -> None:
    """Print a table of what became of the URLs, by kind of host, and of the rules that must
    hold.
    """
    print(f"\n{'kind of host':28}{'URLs':>9}{'fetched':>9}  the others")
    for kind, ends in sorted(found.kinds.items()):
        others = ", ".join(
            f"{name} {count}" for name, count in sorted(ends.items()) if name != "200"
        )
        print(f"{kind:28}{ends.total():9}{ends['200']:9}  {others}")
    print(
        "\npages per second before and after each outage:",
        *(f"{a:.1f} -> {b:.1f}" for a, b in found.rates),
    )
    for check, holds in CHECKS.items():
        print(f"{'yes' if holds(found) else 'NO':>5}  {check}")


def main() -> None:
    """Simulate the crawl that the command line describes; the exit status is 1 if a rule is
    broken.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.month", description=__doc__)
    whole = Scale()
    parser.add_argument("--hosts", type=int, default=whole.hosts)
    parser.add_argument("--days", type=float, default=whole.days)
    parser.add_argument(
        "--first", type=int, default=whole.first, help="URLs of each host at the start"
    )
    parser.add_argument(
        "--later", type=int, default=whole.later, help="URLs of each host that are found later"
    )
    parser.add_argument(
        "--kills",
        type=int,
        default=whole.kills,
        help="how often the crawl is killed, beside outages",
    )
    parser.add_argument("--seed", type=int, default=whole.seed)
    args = parser.parse_args()
    logging.disable()  # a line for each host that is given up
    with tempfile.TemporaryDirectory() as folder, timed() as spent:
        found = month(Path(folder), Scale(**vars(args)))
    show(found)
    report(
        "month",
        urls=found.urls,
        fetched=found.fetched,
        lost=len(found.lost),
        charged=len(found.charged),
        given_up=len(found.given_up),
        early=len(found.early),
        overlaps=len(found.overlaps),
        without_outcome=len(found.without_outcome),
        twice=len(found.twice),
        requests=found.counters["requests"],
        kills=found.counters["kills"],
        cpu_seconds=spent.cpu,
    )
    sys.exit(0 if all(holds(found) for holds in CHECKS.values()) else 1)


if __name__ == "__main__":
    main()
