"""The cost of a page as a crawl grows: CPU time of the crawler per window of pages.

Pages are cheap, 2 to 4 KB with 20 links, so that costs that grow with the crawl weigh more than in a real one. The
synthetic web is larger than the crawl, because otherwise the last pages would have no new links. The crawler is
observed from outside: /proc has its CPU time, and crawl.log has one line per finished URL.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.support.crawling import CRAWLER, IMPOLITE, served, webcrawl
from benchmarks.support.processes import cpu_so_far
from benchmarks.support.report import report

EARLY = (5_000, 15_000)  # the window around 10,000 pages, after the start and most robots.txt files
WINDOWS = 10
LOOK = 0.25  # seconds between samples
WEB = ("--size", "2000-4000", "--links", "20")


def watched(command: list[str], log: Path, pages: int) -> list[tuple[int, float, int]]:
    """Samples of log lines, CPU seconds and peak MiB. The crawl is stopped after so many pages."""
    seen, lines, read = [(0, 0.0, 0)], 0, 0
    with subprocess.Popen(["taskset", "-c", CRAWLER, *command], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and lines < pages:
            time.sleep(LOOK)
            if log.exists():
                with log.open("rb") as file:
                    file.seek(read)
                    new = file.read()
                read, lines = read + len(new), lines + new.count(b"\n")
                if lines > seen[-1][0]:
                    seen.append((lines, cpu_so_far(process.pid), _peak(process.pid)))
        process.terminate()
    return seen


def _peak(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def run(pages: int, hosts: int, settings: list[str]) -> None:
    with served(hosts, 4 * pages, *WEB), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = webcrawl(folder, hosts, *IMPOLITE, *settings)
        lines, cpu, peak = np.array(watched(command, folder / "job/logs/crawl.log", pages)).T

    def cost(first: float, last: float) -> float:
        spent = np.interp([first, last], lines, cpu)
        return float(1e6 * (spent[1] - spent[0]) / (last - first))

    bounds = np.linspace(0, pages, WINDOWS + 1)
    early, late = cost(*EARLY), cost(bounds[-2], bounds[-1])
    for first, last in pairwise(bounds):
        mib = int(np.interp(last, lines, peak))
        report("growth", **{"from": int(first), "to": int(last)}, us_a_page=cost(first, last), rss_mib=mib)
    report("growth/ratio", early_us=early, late_us=late, times=late / early, pages=int(lines[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000, help="pages of the crawl (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl")
    args = parser.parse_args()
    if args.pages < 2 * EARLY[1]:
        parser.error(f"--pages: at least {2 * EARLY[1]}")
    run(args.pages, args.hosts, args.setting)


if __name__ == "__main__":
    main()
