"""A crawl whose seen store knows a billion URLs, beside the latency of its event loop.

The store's files are made directly. The crawl of the synthetic web then fills its frontier, is
stopped, and gets a T that is nearly full of URLs known before, so that a merge of a tenth of all
keys begins when it goes on, and runs beside it. Checkpoints come every ten seconds.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from benchmarks.support.crawling import served
from benchmarks.support.filled import fill_buffer, fill_files
from benchmarks.support.long_crawl import LongCrawl
from benchmarks.support.report import report, timed
from webcrawl.frontier.seen.protocol import shares
from webcrawl.settings import SEEN_MEMORY

KEYS_PER_SMALL_FILE_KEY = 10  # one of so many keys is in F's second file, which the merge rewrites
WEB = ("--size", "1000-1000", "--links", "10")
FREQUENT_CHECKPOINTS = "CHECKPOINT_INTERVAL=10"
MERGED = re.compile(r"seen: merged (\d+) records in ([\d.]+) s")


def run(folder: Path, args: argparse.Namespace) -> None:
    """Crawl alone, then beside a merge, and report what pages, starts and turns of the loop take."""
    state, memory = folder / "job/state", shares(SEEN_MEMORY << 20)[0]
    state.mkdir(parents=True)
    with timed() as filling:
        fill_files(state, args.urls, small=KEYS_PER_SMALL_FILE_KEY)
    report("billion/files", urls=args.urls, seconds=filling.seconds, cpu_seconds=filling.cpu)
    with (
        served(args.hosts, 8 * args.pages, *WEB),
        LongCrawl(folder, args.hosts, FREQUENT_CHECKPOINTS, *args.setting) as crawl,
    ):
        seconds = crawl.start()
        crawl.until(args.pages // 4)
        report("billion/alone", start_seconds=seconds, rss_mib=crawl.look().rss, **crawl.since())
        crawl.stop()
        with timed() as filling:
            waiting = fill_buffer(state, args.urls, memory)
        report("billion/buffer", waiting=waiting, seconds=filling.seconds, cpu_seconds=filling.cpu)
        seconds, before = crawl.start(), crawl.look()
        crawl.until(before.lines + args.pages)
        now = crawl.look()
        crawl.stop()
        merges = [(int(count), float(took)) for count, took in MERGED.findall(crawl.said())]
        report(
            "billion",
            urls=args.urls,
            start_seconds=seconds,
            us_a_page=1e6 * (now.cpu - before.cpu) / (now.lines - before.lines),
            rss_mib=now.rss,
            largest_merge=max(merges, default=None),
            **crawl.since(),
        )


def main() -> None:
    """Run the benchmark in a temporary folder with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.billion", description=__doc__)
    parser.add_argument(
        "--urls", type=int, default=1_000_000_000, help="known before (default: %(default)s)"
    )
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument(
        "--pages", type=int, default=100_000, help="crawled beside the merge (default: %(default)s)"
    )
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="billion-") as name:
        run(Path(name), args)


if __name__ == "__main__":
    main()
