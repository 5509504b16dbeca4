"""Where the time of a page goes: percent of the crawler's CPU time by stage, which add up to 100."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from scrapy.cmdline import execute

from benchmarks.support.crawling import IMPOLITE, measured, served, webcrawl
from benchmarks.support.profile import profiled
from benchmarks.support.rates import Web
from benchmarks.support.report import percent, report

INSIDE = "--inside"


def inside(command: list[str]) -> None:
    """Run the crawl in this process, and print the CPU seconds of its stages."""
    with profiled() as profile:
        try:
            execute(["scrapy", *command])
        except SystemExit as end:
            if end.code:
                raise
    profile.spent["start"] += profile.start
    print(json.dumps(profile.spent))


def measure(web: Web, outputs: str = "") -> dict[str, float]:
    """Crawl a web with these OUTPUTS, or with the default ones, and report the percent of each
    stage.
    """
    with served(web.hosts, web.pages, *web.options), tempfile.TemporaryDirectory() as folder:
        command = webcrawl(
            Path(folder),
            web.hosts,
            *IMPOLITE,
            *([f"OUTPUTS={outputs}"] if outputs else []),
            tls=web.tls,
        )
        command[command.index("scrapy")] = "benchmarks.stages"
        command.insert(command.index("crawl"), INSIDE)
        spent = measured(command)
    shares = percent(json.loads(spent.said.splitlines()[-1]))
    report(
        "suite/stages",
        web=str(web),
        outputs=outputs or "as the settings say",
        pages=web.pages,
        sum=sum(shares.values()),
        percent=shares,
    )
    return shares


def main() -> None:
    """Measure the web that the command line describes."""
    if sys.argv[1:2] == [INSIDE]:
        return inside(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("--tls", action="store_true", help="crawl https hosts")
    parser.add_argument(
        "--size", type=int, default=40, metavar="KB", help="size of a page (default: %(default)s)"
    )
    parser.add_argument(
        "--pages", type=int, default=20_000, metavar="N", help="of the web (default: %(default)s)"
    )
    parser.add_argument(
        "--outputs",
        default="",
        metavar="NAMES",
        help="OUTPUTS of the crawl (default: the setting's)",
    )
    args = parser.parse_args()
    measure(Web(args.tls, args.size, args.pages), args.outputs)
    return None


if __name__ == "__main__":
    main()
