"""The whole crawler on the synthetic web, compared with plain Scrapy; server and crawler have one core each.

Everything is on: robots.txt, frontier and seen store on disk, WARC, logs, checkpoints. Politeness is off.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.support.crawling import IMPOLITE, PORT, measured, served, webcrawl
from benchmarks.support.processes import Cost
from benchmarks.support.report import report


def run(hosts: int, pages: int, plain: int, settings: list[str]) -> None:
    """Both crawlers fetch each host's robots.txt, which does not count as a page."""
    with served(hosts, pages), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spent = measured(webcrawl(folder, hosts, *IMPOLITE, *settings))
        stats = json.loads((folder / "job/stats.json").read_text())
    rate = _report("crawl", stats["pages"] - hosts, spent)
    if plain:
        with served(hosts // plain, pages // plain):
            size = map(str, (hosts // plain, pages // plain, PORT, 0))
            spent = measured([sys.executable, "-m", "benchmarks.plain_scrapy", *size])
        report("crawl/ratio", times=rate / _report("crawl/scrapy", int(spent.said), spent))


def _report(name: str, pages: int, spent: Cost) -> float:
    rate = pages / spent.cpu
    figures = {"pages": pages, "pages_a_cpu_second": rate, "us_a_page": 1e6 / rate}
    report(name, **figures, pages_a_second=pages / spent.seconds, crawler_rss_mib=spent.peak)
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=20_000, help="pages of the synthetic web, all crawled")
    parser.add_argument(
        "--plain", type=int, default=10, help="factor by which plain Scrapy gets fewer pages; 0 skips it"
    )
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE for webcrawl")
    args = parser.parse_args()
    run(args.hosts, args.pages, args.plain, args.setting)


if __name__ == "__main__":
    main()
