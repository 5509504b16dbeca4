"""`scrapy lab orderings`: how soon a crawl has the important pages of a known graph, by its order of fetching."""

from __future__ import annotations

import argparse
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.lab.studies import OF_GOOD, ONLY_GOOD, ORDERS
from webcrawl.settings import FRONTIER_LEVELS
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands.console import say_all, whole
from webcrawl.tools.tool_command import ToolCommand, usage_error

MOST_LEVELS = 1000
MOST_HOSTS = 1 << 20


class Command(ToolCommand):
    """Exit status 0, 1 if a graph cannot be read, 2 for a wrong command line."""

    says = "Compare the orders in which a crawl may fetch a known graph, by PageRank"

    def syntax(self) -> str:
        return "GRAPH... [options]"

    def long_desc(self) -> str:
        return (
            "GRAPH: an edge list of two columns, a page and a link; a links.log; a table of links; or the JOBDIR of a"
            " crawl that has one of these; also .gz or .zst. Prints which share of all PageRank each order has fetched"
            " after which share of the pages. With --good: which share of the good pages."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--orders", metavar="NAME,NAME", help=f"of {', '.join(ORDERS)} (the last two with --good)")
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
        parser.add_argument("--hosts", metavar="N", help="also as a polite crawl does it: so many hosts take turns")
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
        names = _names(opts.orders, good=opts.good is not None)
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
                raise NoTrace(f"{opts.good}: none of the good pages is one that the graph's crawl comes to")
            shape = ordering_study.Shape(levels, hosts=hosts)
            rows = [*ordering_study.compare(graph, pagerank(graph.heads, graph.links, graph.pages), names, shape)]
            if opts.plot:
                Path(opts.plot).write_text(ordering_study.plot_orderings(graph, rows), encoding="utf-8")
            say_all(ordering_study.as_json(graph, rows) if opts.json else ordering_study.as_text(graph, rows, shape))
        except (StoreError, OSError) as error:
            self.fail(error)


def _names(text: str | None, *, good: bool) -> list[str]:
    known = ORDERS if good else [name for name in ORDERS if name not in ONLY_GOOD]
    found = [one.strip().lower() for one in text.split(",")] if text is not None else [*(OF_GOOD if good else known)]
    if not set(found) <= set(known):
        raise usage_error(f"--orders {text}: must be of {', '.join(known)}")
    return [*dict.fromkeys(found)]
