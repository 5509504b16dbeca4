"""The members of `webcrawl lab`: the synthetic web, and studies of caches, orders and walks."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from webcrawl.base.program import ExitStatus, program
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.crawl.hive.partition import SLOTS
from webcrawl.lab.studies import KINDS_OF_SAMPLE, NAMES, OF_GOOD, ONLY_GOOD, ORDERS
from webcrawl.settings import FRONTIER_LEVELS
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import ToolCommand, say_all, usage_error, whole

MOST_ENTRIES = 1 << 30  # of a cache
MOST_LEVELS = 1000
MOST_HOSTS = 1 << 20
MOST_STEPS = 10**9


class Caches(ToolCommand):
    """`webcrawl lab caches`: which share of look-ups caches of URLs would spare, by policy and size,
    on a trace of links.

    Exit status 0, 1 if a trace cannot be read, 2 for a wrong command line.
    """

    says = "Simulate URL caches on a trace of links (Broder, Najork, Wiener)"
    usage = "TRACE... [options]"

    def long_desc(self) -> str:
        return (
            "TRACE: the JOBDIR of a crawl, what URL_TRACE has written, an edge list, a crawl.log, a links.log, a"
            " table of links, or a text of one URL or number per line, also .gz or .zst. Prints the hit rates of all"
            " policies by size, and which size is worth its memory."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--sizes", metavar="N,N", help="entries of the caches (default: powers of two)"
        )
        parser.add_argument(
            "--policies", metavar="NAME,NAME", help=f"of {', '.join(NAMES)} (default: all)"
        )
        parser.add_argument(
            "--drones", metavar="N", help="simulate the cache before a hive's splitter"
        )
        parser.add_argument(
            "--crawl", action="store_true", help="an edge list is a graph: crawl it breadth first"
        )
        parser.add_argument(
            "--train", metavar="SHARE", help="STATIC knows this first part alone, e.g. 0.5"
        )
        parser.add_argument("--plot", metavar="FILE", help="also draw the hit rates, as SVG")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise usage_error(f"a trace: {program()} lab caches TRACE...")
        sizes, names = _sizes(opts.sizes), _policies(opts.policies)
        drones = whole("--drones", opts.drones, 2, SLOTS) if opts.drones is not None else 0
        share = _share(opts.train)
        from webcrawl.lab.studies import cache_study  # noqa: PLC0415 - numpy takes 0.1 s, of every command
        from webcrawl.lab.studies.traces import read_trace  # noqa: PLC0415 - as above

        try:
            trace = read_trace(
                [Path(arg) for arg in args],
                cache_study.owner_among(drones) if drones else None,
                crawled=opts.crawl,
            )
            trace = trace.crossing(0) if drones else trace  # the other drones' are alike
            training = trace.lookups[: int(share * len(trace.lookups))]
            rows = [
                *cache_study.simulate(
                    trace, sizes or cache_study.cache_sizes(trace.urls), names, training
                )
            ]
            if opts.plot:
                Path(opts.plot).write_text(cache_study.plot_caches(rows), encoding="utf-8")
            say_all((cache_study.as_json if opts.json else cache_study.as_text)(trace, rows))
        except (StoreError, OSError) as error:
            self.fail(error)


def _sizes(text: str | None) -> list[int]:
    found = text.split(",") if text is not None else []
    if not all(is_whole(one, 1, MOST_ENTRIES) for one in found):
        raise usage_error(
            f"--sizes {text}: must be whole numbers from 1 to {MOST_ENTRIES}, with commas"
        )
    return sorted({*map(int, found)})


def _policies(text: str | None) -> list[str]:
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


class Orderings(ToolCommand):
    """`webcrawl lab orderings`: how soon a crawl has the important pages of a known graph, by its
    order of fetching.

    Exit status 0, 1 if a graph cannot be read, 2 for a wrong command line.
    """

    says = "Compare the orders in which a crawl may fetch a known graph, by PageRank"
    usage = "GRAPH... [options]"

    def long_desc(self) -> str:
        return (
            "GRAPH: an edge list of two columns, a page and a link; a links.log; a table of links; or the JOBDIR of a"
            " crawl that has one of these; also .gz or .zst. Prints which share of all PageRank each order has fetched"
            " after which share of the pages. With --good: which share of the good pages."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--orders",
            metavar="NAME,NAME",
            help=f"of {', '.join(ORDERS)} (the last two with --good)",
        )
        parser.add_argument(
            "--seed",
            metavar="PAGE",
            action="append",
            help="where the crawl begins, also several times (by default the first page)",
        )
        parser.add_argument(
            "--good",
            metavar="FILE|JOBDIR",
            help="a list of good pages (with a tab and a score, if you like), or a crawl with a SCORER and tables",
        )
        parser.add_argument(
            "--hosts", metavar="N", help="also as a polite crawl does it: so many hosts take turns"
        )
        parser.add_argument(
            "--levels",
            metavar="N",
            default=str(FRONTIER_LEVELS),
            help=f"queues of the front-end, as FRONTIER_LEVELS (default {FRONTIER_LEVELS})",
        )
        parser.add_argument("--plot", metavar="FILE", help="also draw the curves, as SVG")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise usage_error(f"a graph: {program()} lab orderings GRAPH...")
        names = _orders(opts.orders, good=opts.good is not None)
        hosts = whole("--hosts", opts.hosts, 1, MOST_HOSTS) if opts.hosts is not None else 0
        levels = whole("--levels", opts.levels, 1, MOST_LEVELS)
        from webcrawl.lab.studies import ordering_study  # noqa: PLC0415 - numpy takes 0.1 s
        from webcrawl.lab.studies.link_graph import pagerank, read_graph  # noqa: PLC0415 - as above
        from webcrawl.lab.studies.ordering_study import GOOD, read_scores  # noqa: PLC0415 - as above
        from webcrawl.lab.studies.traces import NoTrace  # noqa: PLC0415 - as above

        try:
            known = read_scores(Path(opts.good)) if opts.good is not None else None
            graph = read_graph([Path(arg) for arg in args], opts.seed or (), known)
            if graph.scores is not None and not (graph.scores >= GOOD).any():
                raise NoTrace(f"{opts.good}: a crawl of this graph reaches none of the good pages")
            shape = ordering_study.CrawlShape(levels, hosts=hosts)
            rows = [
                *ordering_study.compare(
                    graph, pagerank(graph.heads, graph.links, graph.pages), names, shape
                )
            ]
            if opts.plot:
                Path(opts.plot).write_text(
                    ordering_study.plot_orderings(graph, rows), encoding="utf-8"
                )
            say_all(
                ordering_study.as_json(graph, rows)
                if opts.json
                else ordering_study.as_text(graph, rows, shape)
            )
        except (StoreError, OSError) as error:
            self.fail(error)


def _orders(text: str | None, *, good: bool) -> list[str]:
    known = ORDERS if good else [name for name in ORDERS if name not in ONLY_GOOD]
    if text is None:
        return [*(OF_GOOD if good else known)]
    found = [one.strip().lower() for one in text.split(",")]
    if not set(found) <= set(known):
        raise usage_error(f"--orders {text}: must be of {', '.join(known)}")
    return [*dict.fromkeys(found)]


class Walks(ToolCommand):
    """`webcrawl lab walks`: what a random walk says of the web.

    Exit status 0, 1 if a file cannot be read, 2 for a wrong command line.
    """

    says = "Sample pages, or judge an index, by a random walk (Henzinger)"
    usage = "JOBDIR [options]"

    def long_desc(self) -> str:
        return (
            f"JOBDIR: of a {program()} crawl walk, which may be under way. Says what was visited, or prints a sample of"
            " the pages, one URL per line, or estimates which part of the web's PageRank an index has."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--sample", metavar="KIND", help=f"print pages: {' or '.join(KINDS_OF_SAMPLE)}"
        )
        parser.add_argument(
            "-n", dest="most", metavar="N", default="1000", help="so many at most (default: 1000)"
        )
        parser.add_argument(
            "--index", metavar="FILE", help="judge this set of URLs, one per line, also .gz or .zst"
        )
        parser.add_argument(
            "--burn-in", metavar="N", default="21", help="leave out each walker's first steps (21)"
        )
        parser.add_argument(
            "--seed", metavar="N", default="0", help="another seed makes another sample (0)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise usage_error(f"one JOBDIR: {program()} lab walks JOBDIR")
        if opts.sample is not None and opts.sample not in KINDS_OF_SAMPLE:
            raise usage_error(f"--sample {opts.sample}: must be {' or '.join(KINDS_OF_SAMPLE)}")
        if opts.sample is not None and opts.index is not None:
            raise usage_error("--sample and --index cannot be used together")
        most, burn_in, seed = (
            whole(name, getattr(opts, place), least, MOST_STEPS)
            for name, place, least in (
                ("-n", "most", 1),
                ("--burn-in", "burn_in", 0),
                ("--seed", "seed", 0),
            )
        )
        from webcrawl.lab.studies import random_walks  # noqa: PLC0415 - numpy takes 0.1 s, of every command

        try:
            walk = random_walks.read_walk(Path(args[0]), burn_in)
            if opts.sample is not None:
                found: dict[str, Any] = {
                    "sample": opts.sample,
                    "urls": random_walks.sample(walk, opts.sample, most, seed),
                }
            elif opts.index is not None:
                found = random_walks.quality_of(walk, random_walks.read_index(Path(opts.index)))
            else:
                found = random_walks.summary_of(walk)
            say_all(f"{json.dumps(found)}\n" if opts.json else random_walks.as_text(found))
        except (StoreError, OSError) as error:
            self.fail(error)


class Simweb(ToolCommand):
    """`webcrawl lab simweb` serves until interrupted; docs/testing.md describes the web."""

    says = "Serve the synthetic web: hosts siteN.test on loopback, with their own name server"
    usage = "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        cli.add_arguments(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise usage_error(f"unexpected argument: {args[0]}")
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        try:
            cli.run(opts)
        except cli.UsageError as error:
            sys.stderr.write(f"{error}\n")
            self.exitcode = ExitStatus.FAILED
