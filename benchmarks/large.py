"""A long crawl of cheap pages: what grows from one mark to the next, and how long a restart takes.

At each mark, a number of finished URLs, one line says what a page has cost since the mark before
(CPU, bytes on disk by kind), how much memory the crawler has, and how long checkpoints and turns of
the event loop have been. At the marks of `--restart` the crawl is interrupted and started again.
Pages have 1 KB and few links; the synthetic web is larger than the crawl, because otherwise the
last pages would have no new links. Ten million pages take hours: with `--folder` a run goes on
where an earlier one has ended, or was killed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.support.crawling import served
from benchmarks.support.long_crawl import LongCrawl, Look
from benchmarks.support.report import report
from webcrawl.lab.simweb.host_kinds import SCHEMES

WEB = ("--size", "1000-1000", "--links", "10")
PAGES_A_HOST = 1000
WEB_TIMES_CRAWL = 4  # the web has so many times as many pages as the crawl
MARKS = [100_000, 200_000, 300_000]


def _report_mark(before: Look, now: Look, figures: dict[str, float]) -> None:
    """Report what a page has cost since the mark before."""
    pages = now.lines - before.lines
    disk = {
        f"{kind}_bytes_a_page": (now.disk[kind] - before.disk[kind]) / pages
        for kind in sorted(now.disk)
    }
    cost = 1e6 * (now.cpu - before.cpu) / pages
    report(
        "large",
        **{"from": before.lines, "to": now.lines},
        us_a_page=cost,
        rss_mib=now.rss,
        **figures,
        **disk,
    )


def run(folder: Path, marks: list[int], restarts: list[int], options: argparse.Namespace) -> None:
    """Crawl up to the last mark; report each mark, and stop and start again at `restarts`."""
    hosts = options.hosts or max(100, marks[-1] // PAGES_A_HOST)
    kinds = ("--kinds", ",".join(SCHEMES)) if options.tls else ()
    with (
        served(hosts, WEB_TIMES_CRAWL * marks[-1], *WEB, *kinds),
        LongCrawl(folder, hosts, *options.setting, tls=options.tls) as crawl,
    ):
        earlier = crawl.lines()
        report("large/start", at=earlier, seconds=crawl.start())
        if earlier:
            crawl.since()  # what was said then is not of this run
        before = crawl.look()
        for mark in [mark for mark in marks if mark > before.lines]:
            crawl.until(mark)
            now = crawl.look()
            _report_mark(before, now, crawl.since())
            if mark in restarts:
                stopping = crawl.stop()
                report(
                    "large/restart",
                    at=crawl.lines(),
                    stop_seconds=stopping,
                    start_seconds=crawl.start(),
                )
                now = crawl.look()
            before = now
        crawl.stop()


def main() -> None:
    """Run the crawl that the command line describes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument(
        "--marks", type=int, nargs="+", default=MARKS, help="numbers of URLs (default: %(default)s)"
    )
    parser.add_argument(
        "--restart", type=int, nargs="*", help="those where it is restarted (default: the last)"
    )
    parser.add_argument(
        "--hosts", type=int, help="of the web (default: one for 1000 pages of the last mark)"
    )
    parser.add_argument(
        "--tls", action="store_true", help="all on https: HTTP/1.1, HTTP/2 and both, a third each"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the crawl is, and stays; it is created (default: one that is removed)",
    )
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl"
    )
    args = parser.parse_args()
    marks = sorted(args.marks)
    with tempfile.TemporaryDirectory(prefix="large-") as name:
        folder = args.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run(
            folder,
            marks,
            marks[-1:] if args.restart is None else args.restart,
            args,
        )


if __name__ == "__main__":
    main()
