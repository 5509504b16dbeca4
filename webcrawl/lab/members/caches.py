"""`scrapy lab caches`: which share of look-ups caches of URLs would spare, by policy and size, on a trace of links."""

from __future__ import annotations

import argparse
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.crawl.hive.partition import SLOTS
from webcrawl.lab.studies import NAMES
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands.console import say_all, whole
from webcrawl.tools.tool_command import ToolCommand, usage_error

MOST = 1 << 30  # entries of a cache


class Command(ToolCommand):
    """Exit status 0, 1 if a trace cannot be read, 2 for a wrong command line."""

    says = "Simulate URL caches on a trace of links (Broder, Najork, Wiener)"

    def syntax(self) -> str:
        return "TRACE... [options]"

    def long_desc(self) -> str:
        return (
            "TRACE: the JOBDIR of a crawl, what URL_TRACE has written, an edge list, a crawl.log, a links.log, a"
            " table of links, or a text of one URL or number per line, also .gz or .zst. Prints the hit rates of all"
            " policies by size, and which size is worth its memory."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--sizes", metavar="N,N", help="entries of the caches (default: powers of two)")
        parser.add_argument("--policies", metavar="NAME,NAME", help=f"of {', '.join(NAMES)} (default: all)")
        parser.add_argument("--drones", metavar="N", help="simulate the cache before a hive's splitter")
        parser.add_argument("--crawl", action="store_true", help="an edge list is a graph: crawl it breadth first")
        parser.add_argument("--train", metavar="SHARE", help="STATIC knows this first part alone, e.g. 0.5")
        parser.add_argument("--plot", metavar="FILE", help="also draw the hit rates, as SVG")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise usage_error(f"a trace: {program()} lab caches TRACE...")
        sizes, names = _sizes(opts.sizes), _names(opts.policies)
        drones = whole("--drones", opts.drones, 2, SLOTS) if opts.drones is not None else 0
        share = _share(opts.train)
        from webcrawl.lab.studies import cache_study  # noqa: PLC0415 - numpy takes 0.1 s, of every command
        from webcrawl.lab.studies.plot import plot_caches  # noqa: PLC0415 - as above
        from webcrawl.lab.studies.traces import read_trace  # noqa: PLC0415 - as above

        try:
            trace = read_trace(
                [Path(arg) for arg in args], cache_study.owner_among(drones) if drones else None, crawled=opts.crawl
            )
            trace = trace.crossing(0) if drones else trace  # the other drones' are alike
            training = trace.lookups[: int(share * len(trace.lookups))]
            rows = [*cache_study.simulate(trace, sizes or cache_study.powers(trace.urls), names, training)]
            if opts.plot:
                Path(opts.plot).write_text(plot_caches(rows), encoding="utf-8")
            say_all((cache_study.as_json if opts.json else cache_study.as_text)(trace, rows))
        except (StoreError, OSError) as error:
            self.fail(error)


def _sizes(text: str | None) -> list[int]:
    found = text.split(",") if text is not None else []
    if not all(is_whole(one, 1, MOST) for one in found):
        raise usage_error(f"--sizes {text}: must be whole numbers from 1 to {MOST}, with commas")
    return sorted({*map(int, found)})


def _names(text: str | None) -> list[str]:
    known = {name.lower(): name for name in NAMES}
    found = text.split(",") if text is not None else [*NAMES]
    for one in found:
        if one.strip().lower() not in known:
            raise usage_error(f"--policies {text}: must be of {', '.join(NAMES)}")
    return [known[one.strip().lower()] for one in found]


def _share(text: str | None) -> float:
    try:
        share = float(text) if text is not None else 1.0
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise usage_error(f"--train {text}: must be a number above 0, and 1 at most")
    return share
