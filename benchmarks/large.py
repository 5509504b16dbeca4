"""A long crawl of cheap pages: what grows from one mark to the next, and how long a restart takes.

At each mark, a number of finished URLs, one line says what a page has cost since the mark before (CPU, bytes on disk by
kind), how much memory the crawler has, and how long checkpoints and turns of the event loop have been. At the marks of
`--restart` the crawl is interrupted and started again. Pages have 1 KB and few links; the synthetic web is larger than
the crawl, because otherwise the last pages would have no new links.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.support.crawling import served
from benchmarks.support.long_crawl import LongCrawl, Look
from benchmarks.support.report import report

WEB = ("--size", "1000-1000", "--links", "10")
PAGES_A_HOST = 1000
TIMES = 4  # as many pages as the crawl has are on the web
MARKS = [100_000, 200_000, 300_000]


def _line(before: Look, now: Look, figures: dict[str, float]) -> None:
    pages = now.lines - before.lines
    disk = {f"{kind}_bytes_a_page": (now.disk[kind] - before.disk[kind]) / pages for kind in sorted(now.disk)}
    cost = 1e6 * (now.cpu - before.cpu) / pages
    report("large", **{"from": before.lines, "to": now.lines}, us_a_page=cost, rss_mib=now.rss, **figures, **disk)


def run(folder: Path, marks: list[int], restarts: list[int], settings: list[str]) -> None:
    hosts = max(100, marks[-1] // PAGES_A_HOST)
    with (
        served(hosts, TIMES * marks[-1], *WEB),
        LongCrawl(folder, hosts, *settings) as crawl,
    ):
        report("large/start", seconds=crawl.start())
        before = crawl.look()
        for mark in marks:
            crawl.until(mark)
            now = crawl.look()
            _line(before, now, crawl.since())
            if mark in restarts:
                stopping = crawl.stop()
                report("large/restart", at=crawl.lines(), stop_seconds=stopping, start_seconds=crawl.start())
                now = crawl.look()
            before = now
        crawl.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--marks", type=int, nargs="+", default=MARKS, help="numbers of URLs (default: %(default)s)")
    parser.add_argument("--restart", type=int, nargs="*", help="those where it is restarted (default: the last)")
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl")
    args = parser.parse_args()
    marks = sorted(args.marks)
    with tempfile.TemporaryDirectory(prefix="large-") as name:
        run(Path(name), marks, marks[-1:] if args.restart is None else args.restart, args.setting)


if __name__ == "__main__":
    main()
