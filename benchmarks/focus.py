"""A focused crawl: which share of the good pages it has after which share of the fetches, beside
other orders.

On graphs (`webcrawl lab orderings --good`), with labels made here: of an encyclopedia, the 5 % of
articles nearest to one of them (PageRank that restarts there); of a university's site, the pages
whose URLs name its library, or its classes; of the synthetic web, all pages of one host in ten. The
real ones are in the folder that WEBCRAWL_CASES names. With --crawl the encyclopedia is also served
as a site, and crawled by each prioritizer: the order is that of the logs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.support.report import report
from benchmarks.support.seen_graphs import lines, links
from benchmarks.support.topic_server import serving
from webcrawl.lab.simweb import World
from webcrawl.lab.simweb.random_content import draws
from webcrawl.lab.simweb.tree_pages import links as links_of
from webcrawl.lab.studies import DEFAULT_GOOD_ORDERS
from webcrawl.lab.studies.link_graph import Graph, crawled, read_graph
from webcrawl.lab.studies.ordering_study import CrawlShape, OrderingRow, compare

REPORTED_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
TOPIC = "Photosynthesis"
GOOD_SHARE = 0.05  # of all articles
RESTART = 0.15  # the part of PageRank that goes back to the topic in each step
STEPS = 50
DELAY = 0.05  # seconds between two requests: twenty pages while links wait to be looked up
PRIORITIZERS = {
    "breadth": "depth.ByDepth",
    "indegree": "links.ByIndegree",
    "focus": "focus.ByFocus",
}


def encyclopedia(cases: Path, folder: Path) -> Graph:
    """Return the graph of an encyclopedia; the articles nearest to TOPIC are good."""
    pages = links(cases / "graph-wikispeedia" / "links.tsv.zst")
    edges = [(page, name) for page, linked in pages.items() for name in linked]
    names = [*dict.fromkeys(name for page, linked in pages.items() for name in (page, *linked))]
    number = {name: at for at, name in enumerate(names)}
    rank = np.zeros(len(names))
    for _ in range(STEPS):
        received = np.zeros(len(names))
        for page, linked in pages.items():
            share = (1 - RESTART) * rank[number[page]] / len(linked)
            received[[number[name] for name in linked]] += share
        received[number[TOPIC]] += RESTART
        rank = received
    nearest_first = sorted(names, key=lambda name: rank[number[name]], reverse=True)
    return _graph(folder, edges, nearest_first[: int(GOOD_SHARE * len(names))])


def university(word: str) -> Callable[[Path, Path], Graph]:
    """Return a function that reads a university's site; pages with a word in their URLs are
    good.
    """

    def pages_with_word(cases: Path, folder: Path) -> Graph:
        known = dict(line.split("\t") for line in lines(cases / "graph-hollins" / "urls.tsv.zst"))
        urls = {number: url.replace(" ", "%20") for number, url in known.items()}
        pages = links(cases / "graph-hollins" / "edges.tsv.zst")
        edges = [(urls[page], urls[link]) for page, found in pages.items() for link in found]
        good = [url for url in urls.values() if word in url.lower()]
        return _graph(folder, edges, good, seed=urls["2"])  # the home page

    return pages_with_word


def _graph(
    folder: Path, edges: Sequence[tuple[str, str]], good: Sequence[str], seed: str = ""
) -> Graph:
    """Write an edge list to a folder, and return its graph from `seed`, or from the first page."""
    (folder / "edges").write_text(
        "".join(f"{page}\t{link}\n" for page, link in edges), encoding="utf-8"
    )
    return read_graph([folder / "edges"], [seed] if seed else (), dict.fromkeys(good, 1.0))


def is_good(host: str) -> bool:
    """Return whether the pages of a host of the synthetic web are good."""
    return int(host.removeprefix("site").partition(".")[0]) % 10 == 3


def synthetic(hosts: int, pages: int) -> Graph:
    """Return the graph of a synthetic web, in which the pages of one host in ten are good."""
    world = World(hosts, pages, popular=True)
    edges = [
        (world.first_page(host) + page, world.first_page(other) + link)
        for host in range(hosts)
        for page in range(world.pages_of(host))
        for other, link, _ in links_of(
            world, host, page, draws(world.seed, host, page, 64)[4 : 4 + world.links]
        )
    ]
    ends = np.array(edges, np.int64)
    owners = np.repeat(np.arange(hosts), [*map(world.pages_of, range(hosts))])
    scores = np.array([float(is_good(world.name(host))) for host in owners])
    return crawled(ends[:, 0], ends[:, 1], pages, [0], owners, owners, scores)


def report_orders(name: str, graph: Graph, hosts: int) -> None:
    """Report a line for each order in which a graph is fetched."""
    nothing = np.zeros(graph.pages)
    for row in compare(graph, nothing, DEFAULT_GOOD_ORDERS, CrawlShape(hosts=hosts)):
        if row.how != "levels":
            _report_curve(f"{name}/{row.ordering}/{row.how}", row.at, row.mean, graph.pages)


def _report_curve(name: str, at: Callable[[float], float], mean: float, pages: int) -> None:
    report(
        f"focus/{name}",
        pages=pages,
        **{f"at_{share:.0%}": 100 * at(share) for share in REPORTED_SHARES},
        mean=100 * mean,
    )


def crawl_with_each(graph: Graph, delay: float) -> Iterator[tuple[str, Sequence[int]]]:
    """Serve a graph as a site, and yield the pages in the order of each prioritizer's crawl."""
    pages = {
        page: graph.links[graph.offsets[page] : graph.offsets[page + 1]].tolist()
        for page in range(graph.pages)
    }
    with serving(pages, good_of(graph)) as site:
        for name, prioritizer in PRIORITIZERS.items():
            with tempfile.TemporaryDirectory() as folder:
                settings = {
                    "JOBDIR": f"{folder}/job",
                    "SCORER": "benchmarks.support.topic_server.score"
                    if name == "focus"
                    else "none",
                    "FRONTIER_PRIORITIZER": f"webcrawl.frontier.prioritizers.{prioritizer}",
                    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
                    "PORTS_ALLOWED": site.rpartition(":")[2],
                    "POLITENESS_MIN_DELAY": delay,
                    "POLITENESS_FACTOR": 0,
                    "TRAP_RULES": 0,
                    "OUTPUTS": "none",
                    "MIN_FREE_DISK": 0,
                }
                options = [
                    word for key, value in settings.items() for word in ("-s", f"{key}={value}")
                ]
                command = [
                    sys.executable,
                    "-m",
                    "scrapy",
                    "crawl",
                    "web",
                    "-a",
                    f"seeds={site}/0",
                    *options,
                ]
                subprocess.run(command, check=True, capture_output=True)
                log = (Path(folder) / "job/logs/crawl.log").read_text().splitlines()
                paths = [line.split()[3].rpartition("/")[2] for line in log]
                yield name, [int(path) for path in paths if path.isdigit()]


def good_of(graph: Graph) -> set[int]:
    """Return the numbers of the good pages."""
    return set(np.flatnonzero(graph.scores).tolist()) if graph.scores is not None else set()


def main() -> None:
    """Report the orders on all graphs, and those of real crawls with --crawl."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.focus", description=__doc__)
    parser.add_argument(
        "--crawl", action="store_true", help="crawl the encyclopedia, too: ten minutes"
    )
    options = parser.parse_args()
    cases = os.environ.get("WEBCRAWL_CASES")
    graphs = {
        "encyclopedia": encyclopedia,
        "library": university("librar"),
        "classes": university("classes"),
    }
    for name, read in graphs.items() if cases else ():
        hosts = 1 if name == "encyclopedia" else 4  # that take turns
        with tempfile.TemporaryDirectory() as folder:
            report_orders(name, read(Path(cases or ""), Path(folder)), hosts)
    report_orders("synthetic", synthetic(300, 20_000), 50)
    if options.crawl and cases:
        with tempfile.TemporaryDirectory() as folder:
            graph = encyclopedia(Path(cases), Path(folder))
        good = good_of(graph)
        for name, found in crawl_with_each(graph, DELAY):
            curve = np.cumsum([page in good for page in found]) / len(good)
            row = OrderingRow(name, "real", curve)
            _report_curve(f"crawl/{name}", row.at, row.mean, len(found))


if __name__ == "__main__":
    main()
