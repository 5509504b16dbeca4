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
from webcrawl.lab.studies import (
    DEFAULT_GOOD_ORDERS,
    GOOD_ONLY_ORDERS,
    ORDERS,
    POLICY_NAMES,
    SAMPLE_KINDS,
)
from webcrawl.settings import FRONTIER_LEVELS
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import ToolCommand, print_text, usage_error, whole_number

MAX_ENTRIES = 1 << 30  # of a cache
MAX_LEVELS = 1000
MAX_HOSTS = 1 << 20
MAX_STEPS = 10**9


class Caches(ToolCommand):
    """`webcrawl lab caches`: the share of look-ups that caches of URLs would spare, by size.

    Exit status 0, 1 if a trace cannot be read, 2 for a wrong command line.
    """

    summary = "Simulate URL caches on a trace of links (Broder, Najork, Wiener)"
    usage = "TRACE... [options]"

    def long_desc(self) -> str:
        return (
            "TRACE: the JOBDIR of a crawl, what URL_TRACE has written, an edge list, a crawl.log, a links.log, a"
            " table of links, or a text of one URL or number per line, also .gz or .zst. Prints the hit rates of all"
            " policies by size, and which size is worth its memory."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of caches, traces and results."""
        super().add_options(parser)
        parser.add_argument(
            "--sizes", metavar="N,N", help="entries of the caches (default: powers of two)"
        )
        parser.add_argument(
            "--policies", metavar="NAME,NAME", help=f"of {', '.join(POLICY_NAMES)} (default: all)"
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
        """Simulate the caches, and print or plot their hit rates."""
        if not args:
            raise usage_error(f"a trace: {program()} lab caches TRACE...")
        sizes = _cache_sizes(opts.sizes)
        names = _policy_names(opts.policies)
        drones = whole_number("--drones", opts.drones, 2, SLOTS) if opts.drones is not None else 0
        training_share = _training_share(opts.train)
        from webcrawl.lab.studies import cache_study  # noqa: PLC0415 - numpy takes 0.1 s, of every command
        from webcrawl.lab.studies.traces import read_trace  # noqa: PLC0415 - as above

        try:
            paths = [Path(arg) for arg in args]
            owner = cache_study.owner_among(drones) if drones else None
            trace = read_trace(paths, owner, crawled=opts.crawl)
            if drones:
                trace = trace.crossing(0)  # those of other drones are alike
            training = trace.lookups[: int(training_share * len(trace.lookups))]
            sizes = sizes or cache_study.cache_sizes(trace.urls)
            rows = [*cache_study.simulate(trace, sizes, names, training)]
            if opts.plot:
                Path(opts.plot).write_text(cache_study.plot_caches(rows), encoding="utf-8")
            write = cache_study.as_json if opts.json else cache_study.as_text
            print_text(write(trace, rows))
        except (StoreError, OSError) as error:
            self.fail(error)


def _cache_sizes(text: str | None) -> list[int]:
    """Return the sizes of --sizes in order, each once; none without it."""
    sizes = text.split(",") if text is not None else []
    if not all(is_whole(size, 1, MAX_ENTRIES) for size in sizes):
        raise usage_error(
            f"--sizes {text}: must be whole numbers from 1 to {MAX_ENTRIES}, with commas"
        )
    return sorted({*map(int, sizes)})


def _policy_names(text: str | None) -> list[str]:
    """Return the policies of --policies, which may be written in lower case; all without it."""
    if text is None:
        return [*POLICY_NAMES]
    known = {name.lower(): name for name in POLICY_NAMES}
    wanted = [word.strip().lower() for word in text.split(",")]
    if not set(wanted) <= known.keys():
        raise usage_error(f"--policies {text}: must be of {', '.join(POLICY_NAMES)}")
    return [known[word] for word in wanted]


def _training_share(text: str | None) -> float:
    """Return the share of --train, or 1.0 without it."""
    try:
        share = float(text) if text is not None else 1.0
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise usage_error(f"--train {text}: must be a number above 0, and 1 at most")
    return share


class Orderings(ToolCommand):
    """`webcrawl lab orderings`: how soon each order of fetching has the important pages of a graph.

    Exit status 0, 1 if a graph cannot be read, 2 for a wrong command line.
    """

    summary = "Compare the orders in which a crawl may fetch a known graph, by PageRank"
    usage = "GRAPH... [options]"

    def long_desc(self) -> str:
        return (
            "GRAPH: an edge list of two columns, a page and a link; a links.log; a table of links; or the JOBDIR of a"
            " crawl that has one of these; also .gz or .zst. Prints which share of all PageRank each order has fetched"
            " after which share of the pages. With --good: which share of the good pages."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of orders, graphs and results."""
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
        """Fetch the graph in each order, and print or plot the results."""
        if not args:
            raise usage_error(f"a graph: {program()} lab orderings GRAPH...")
        names = _order_names(opts.orders, good=opts.good is not None)
        hosts = whole_number("--hosts", opts.hosts, 1, MAX_HOSTS) if opts.hosts is not None else 0
        levels = whole_number("--levels", opts.levels, 1, MAX_LEVELS)
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
            rank = pagerank(graph.heads, graph.links, graph.pages)
            rows = [*ordering_study.compare(graph, rank, names, shape)]
            if opts.plot:
                plot = ordering_study.plot_orderings(graph, rows)
                Path(opts.plot).write_text(plot, encoding="utf-8")
            if opts.json:
                print_text(ordering_study.as_json(graph, rows))
            else:
                print_text(ordering_study.as_text(graph, rows, shape))
        except (StoreError, OSError) as error:
            self.fail(error)


def _order_names(text: str | None, *, good: bool) -> list[str]:
    """Return the orders of --orders, each once, or the default ones.

    `good` says whether the good pages are known, which some orders need.
    """
    known = ORDERS if good else [name for name in ORDERS if name not in GOOD_ONLY_ORDERS]
    if text is None:
        return [*(DEFAULT_GOOD_ORDERS if good else known)]
    wanted = [word.strip().lower() for word in text.split(",")]
    if not set(wanted) <= set(known):
        raise usage_error(f"--orders {text}: must be of {', '.join(known)}")
    return [*dict.fromkeys(wanted)]


class Walks(ToolCommand):
    """`webcrawl lab walks`: samples and estimates from a random walk on the web.

    Exit status 0, 1 if a file cannot be read, 2 for a wrong command line.
    """

    summary = "Sample pages, or judge an index, by a random walk (Henzinger)"
    usage = "JOBDIR [options]"

    def long_desc(self) -> str:
        return (
            f"JOBDIR: of a {program()} crawl walk, which may be under way. Says what was visited, or prints a sample of"
            " the pages, one URL per line, or estimates which part of the web's PageRank an index has."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of samples, indexes and results."""
        super().add_options(parser)
        parser.add_argument(
            "--sample", metavar="KIND", help=f"print pages: {' or '.join(SAMPLE_KINDS)}"
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
        """Print a sample of the walk, the quality of an index, or a summary."""
        if len(args) != 1:
            raise usage_error(f"one JOBDIR: {program()} lab walks JOBDIR")
        if opts.sample is not None and opts.sample not in SAMPLE_KINDS:
            raise usage_error(f"--sample {opts.sample}: must be {' or '.join(SAMPLE_KINDS)}")
        if opts.sample is not None and opts.index is not None:
            raise usage_error("--sample and --index cannot be used together")
        most = whole_number("-n", opts.most, 1, MAX_STEPS)
        burn_in = whole_number("--burn-in", opts.burn_in, 0, MAX_STEPS)
        seed = whole_number("--seed", opts.seed, 0, MAX_STEPS)
        from webcrawl.lab.studies import random_walks  # noqa: PLC0415 - numpy takes 0.1 s, of every command

        try:
            walk = random_walks.read_walk(Path(args[0]), burn_in)
            result: dict[str, Any]
            if opts.sample is not None:
                urls = random_walks.sample(walk, opts.sample, most, seed)
                result = {"sample": opts.sample, "urls": urls}
            elif opts.index is not None:
                result = random_walks.quality_of(walk, random_walks.read_index(Path(opts.index)))
            else:
                result = random_walks.summary_of(walk)
            print_text(f"{json.dumps(result)}\n" if opts.json else random_walks.as_text(result))
        except (StoreError, OSError) as error:
            self.fail(error)


class Simweb(ToolCommand):
    """`webcrawl lab simweb` serves until interrupted; docs/testing.md describes the web."""

    summary = "Serve the synthetic web: hosts siteN.test on loopback, with their own name server"
    usage = "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        cli.add_arguments(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Serve the web; the exit status is 1 if it cannot start."""
        if args:
            raise usage_error(f"unexpected argument: {args[0]}")
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        try:
            cli.run(opts)
        except cli.UsageError as error:
            sys.stderr.write(f"{error}\n")
            self.exitcode = ExitStatus.FAILED
