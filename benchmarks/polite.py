"""With politeness on: how close a crawl comes to the rate that the rule allows.

Hosts answer after 50 ms each, the factor is 10, and there is no minimum delay: a host may be asked again after ten
times the duration of its last answer. crawl.log gives for each wait what it had to be and what it was. A host whose
next URL was not known yet counts as late.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.support.crawling import measured, served, webcrawl
from benchmarks.support.report import report
from webcrawl.base.hosts import host_of

FACTOR = 10


def turns(log: Path) -> dict[str, list[tuple[float, float]]]:
    """Start and duration of each request, in seconds, by host."""
    hosts = defaultdict(list)
    for line in log.read_text().splitlines():
        url, fetched = line.split()[3], line.split()[8]
        if fetched != "-":
            started, _, took = fetched.partition("+")
            hosts[host_of(url)].append((_seconds(started), int(took) / 1000))
    return {host: sorted(found) for host, found in hosts.items()}


def _seconds(digits: str) -> float:
    """Seconds within the day: no benchmark runs over midnight."""
    return int(digits[8:10]) * 3600 + int(digits[10:12]) * 60 + int(digits[12:14]) + int(digits[14:]) / 1000


def pairs(hosts: dict[str, list[tuple[float, float]]]) -> Iterator[tuple[float, float]]:
    """For each two successive requests, the time between their starts: as allowed, and as it was."""
    for found in hosts.values():
        for (first, took), (second, _) in pairwise(found):
            yield took * (1 + FACTOR), second - first


def run(hosts: int, pages: int, seconds: int, settings: list[str]) -> None:
    with served(hosts, pages, "--latency", "0.05"), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        polite = (f"POLITENESS_FACTOR={FACTOR}", "POLITENESS_MIN_DELAY=0", f"CLOSESPIDER_TIMEOUT={seconds}", *settings)
        spent = measured(webcrawl(folder, hosts, *polite))
        stats = json.loads((folder / "job/stats.json").read_text())
        found = turns(folder / "job/logs/crawl.log")
        allowed, real = np.array(list(pairs(found))).T
        report(
            "polite",
            hosts=hosts,
            pages=stats["pages"],
            pages_a_second=stats["pages"] / spent.seconds,
            cpu_share=spent.cpu / spent.seconds,
            download_ms=1e3 * float(np.median([took for one in found.values() for _, took in one])),
            allowed_of_real=float(allowed.sum() / real.sum()),
            late_ms_median=1e3 * float(np.median(real - allowed)),
            crawler_rss_mib=spent.peak,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.polite", description=__doc__)
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=200_000, help="pages of the synthetic web")
    parser.add_argument("--seconds", type=int, default=40, help="duration of the crawl")
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.seconds, args.setting)


if __name__ == "__main__":
    main()
