"""Measures all speeds in a table. `python -m benchmarks limit --tls --size 240` measures one cell
of it.

`--check` compares each stage of a page with its budget, and exits with 1 if one takes more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median

from benchmarks import outputs, stages
from benchmarks.support import budget
from benchmarks.support.crawling import served
from benchmarks.support.rates import RUNS, Web, measure

SIZES = (20, 40, 240)
FULL_WEB_KB = 40  # webs of larger pages get fewer pages, so that they take as long
TARGET_KB = 40  # the size that the targets name
TARGET_ROUNDS = 3  # of that size, of which medians count: other load disturbs a run
HEAD = (
    "pages per CPU second  webcrawl  CrawlSpider    by hand      limit  and archive"
    "   times CrawlSpider   of the limit   server busy"
)


def web(size: int, pages: int, *, tls: bool, per_host: int = 0) -> Web:
    """Return a web of pages of `size` thousand bytes; of large pages it has fewer than `pages`."""
    if size > FULL_WEB_KB:
        pages = pages * FULL_WEB_KB // size
    return Web(tls, size, pages, per_host)


def row(web: Web) -> str:
    """Measure all crawlers on one web, and return the line of the table."""
    count = TARGET_ROUNDS if web.size == TARGET_KB else 1
    rounds = [{name: measure(name, web) for name in RUNS} for _ in range(count)]
    ours, plain, hand, limit, archive = (
        median(rates[name].rate for rates in rounds) for name in RUNS
    )
    busy = max(rate.server for rates in rounds for rate in rates.values())
    return (
        f"{web!s:20}{ours:10,.0f}{plain:13,.0f}{hand:11,.0f}{limit:11,.0f}{archive:13,.0f}"
        f"{ours / plain:20.1f}{ours / limit:15.0%}{busy:14.0%}"
    )


def measure_everything(pages: int) -> None:
    """Measure all webs. Print JSON lines as they come, and then the tables."""
    rows = [row(web(size, pages, tls=tls)) for tls in (False, True) for size in SIZES]
    shares = {
        name: stages.measure(web(40, pages, tls=tls))
        for name, tls in (("http", False), ("https", True))
    }
    links = subprocess.run(
        [sys.executable, "-m", "benchmarks.links"], stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(links.stdout)
    print(links.stdout, "", HEAD, *rows, sep="\n")
    print(f"\n{'percent of the CPU time, 40 KB':34}{'http':>6}{'https':>8}")
    for stage, share in shares["http"].items():
        print(f"{stage:34}{share:6.1f}{shares['https'].get(stage, 0.0):8.1f}")
    rate, peak = found["links_a_cpu_second"], found["peak_rss_mib"]
    print(
        f"\n{rate:,.0f} links per CPU second with {found['seen_before']:,} URLs seen before, {peak} MiB"
    )


def check(pages: int, rounds: int) -> int:
    """Return 1 if a stage, or all outputs together, take more than their budget, or else 0."""
    shares = [
        stages.measure(web(TARGET_KB, pages, tls=False), names)
        for names in (budget.ARCHIVE, budget.ALL)
    ]
    hosts = max(pages // 240, 1)
    with served(hosts, pages):
        pairs = [
            [outputs.cost(names, hosts) for names in (budget.ARCHIVE, budget.ALL)]
            for _ in range(rounds)
        ]
    times = median(everything / archive for archive, everything in pairs)
    print(budget.table(*shares))
    print(f"\nall four outputs: {times:.3f} times the archive alone, at most {budget.TIMES:.2f}")
    exceeded = [
        f"{name}: {stage} takes {share:.1f} %, and may take {most:.1f}"
        for place, name in enumerate((budget.ARCHIVE, budget.ALL))
        for stage, (share, most) in budget.over(shares[place], place).items()
    ]
    print(*exceeded, sep="\n")
    return int(bool(exceeded) or times > budget.TIMES)


def main() -> None:
    """Measure what the command line names, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=[*RUNS, "stages"], help="what to measure (default: everything)"
    )
    parser.add_argument("--tls", action="store_true", help="crawl https hosts")
    parser.add_argument(
        "--size", type=int, default=40, metavar="KB", help="size of a page (default: %(default)s)"
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=20_000,
        metavar="N",
        help="pages of a web (default: %(default)s)",
    )
    parser.add_argument(
        "--per-host",
        type=int,
        default=0,
        metavar="N",
        help="pages of a host (default: 20, or 4 with --tls); 1 is a handshake for each page",
    )
    parser.add_argument(
        "--check", action="store_true", help="compare the stages of a page with their budget"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="of --check: pairs of crawls (default: %(default)s)"
    )
    args = parser.parse_args()
    if min(args.size, args.pages) < 1 or args.per_host < 0:
        parser.error("--size and --pages: at least 1; --per-host: at least 0")
    if args.check:
        sys.exit(check(args.pages, args.rounds))
    if args.what == "stages":
        stages.measure(web(args.size, args.pages, tls=args.tls))
    elif args.what:
        measure(args.what, web(args.size, args.pages, tls=args.tls, per_host=args.per_host))
    else:
        measure_everything(args.pages)


main()
