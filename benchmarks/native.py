"""Whole crawls with the native reader of links and without it, in turn: CPU time per page, start included."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.support.report import report
from webcrawl.base.native import NATIVE, SWITCH

ROOT = Path(__file__).resolve().parents[1]
ROUNDS, PAGES = 6, 12_000
CPU = "us_a_page"


def one(pages: int, *, native: bool) -> float:
    """CPU time per page of one crawl, in microseconds."""
    command = [sys.executable, "-m", "benchmarks", "webcrawl", "--pages", str(pages)]
    environment = {**os.environ, SWITCH: "1" if native else "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return float(found[CPU])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--pages", type=int, default=PAGES)
    given = parser.parse_args()
    if NATIVE is None:
        sys.exit("the native reader was not built")
    sums = [0.0, 0.0]
    for number in range(given.rounds):
        order = (True, False) if number % 2 == 0 else (False, True)
        times = {native: one(given.pages, native=native) for native in order}
        sums = [sums[0] + times[True], sums[1] + times[False]]
        print(f"{times[True]:.0f} and {times[False]:.0f} us: {times[True] / times[False]:.3f}", flush=True)
    report("native", rounds=given.rounds, pages=given.pages, ratio=sums[0] / sums[1])


if __name__ == "__main__":
    main()
