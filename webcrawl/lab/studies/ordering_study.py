"""The study of orders: how soon a crawl of a known graph has the important pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from webcrawl.base.loading import missing
from webcrawl.frontier.core import BIAS
from webcrawl.frontier.front_end import Sift
from webcrawl.lab.studies import ORDERS
from webcrawl.lab.studies.link_graph import Graph, Numbers
from webcrawl.lab.studies.page_queues import (
    DomainQueue,
    ExactQueue,
    LevelQueue,
    PageQueue,
    PoliteQueue,
    RandomQueue,
    SiftedFrontEnd,
)
from webcrawl.lab.studies.page_signals import (
    CashSignal,
    DepthSignal,
    DomainVotes,
    EstimatedPageRank,
    FocusSignal,
    IndegreeSignal,
    Signal,
    TrueScores,
)
from webcrawl.lab.studies.traces import NoTrace
from webcrawl.tools.report.charts import COLOURS, PlotLine, plot_file

GOOD = 0.5  # the least score of a good page


def read_scores(path: Path) -> dict[str, float]:
    """Return the scores of pages by URL, from a list or from the tables of a crawl.

    A page in a list without a score has the score 1. Raise NoTrace if no page is good.
    """
    scores = _scores_of_tables(path) if path.is_dir() else _scores_of_list(path)
    if not any(score >= GOOD for score in scores.values()):
        raise NoTrace(f"{path}: no page has a score of {GOOD} or more")
    return scores


def _scores_of_list(path: Path) -> dict[str, float]:
    """Return the scores in a file of lines: a page, and after a tab its score, if it has one."""
    scores: dict[str, float] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise NoTrace(f"{path}: is not a text file") from None
    for number, line in enumerate(lines, 1):
        name, _, score = line.strip().partition("\t")
        try:
            scores[name] = float(score or 1)
        except ValueError:
            raise NoTrace(f"{path}, line {number}: {score!r} is not a score") from None
    scores.pop("", None)  # of empty lines
    return scores


def _scores_of_tables(path: Path) -> dict[str, float]:
    """Return the scores in the tables of pages of a JOBDIR."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        raise NoTrace(f"{path}: {missing('pyarrow')}") from None
    scores: dict[str, float] = {}
    for file in sorted(path.glob("tables/pages-*.parquet")):
        try:
            table = pq.read_table(file, columns=["url", "score"]).to_pydict()
        except (pa.ArrowException, ValueError) as error:
            raise NoTrace(f"{file}: {error}") from error
        rows = zip(table["url"], table["score"], strict=True)
        scores.update((url, score) for url, score in rows if score is not None)
    return scores


PRINTED_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # of all pages
EXACT, LEVELS, CRAWL = "exact", "levels", "crawl"
IDEAL = "ideal"
WITH_LEVELS = ("breadth", "indegree", "opic", "reputation")
# In these orderings a crawl gives a page its level when it is found, and it stays there
FIXED_WHEN_FOUND = ("breadth", "reputation")
RANDOM_SEED = 1  # fixed, so that the same command prints the same figures

_SIGNALS: dict[str, Callable[[Graph], Signal]] = {
    "breadth": DepthSignal,
    "random": DepthSignal,
    "indegree": IndegreeSignal,
    "opic": CashSignal,
    "reputation": DomainVotes,
    "pagerank": EstimatedPageRank,
    "focus": FocusSignal,
}


@dataclass(frozen=True, slots=True)
class CrawlShape:
    """The levels, bias and hosts of a crawl that has no exact queue."""

    levels: int = 8  # FRONTIER_LEVELS
    bias: float = BIAS
    hosts: int = 0  # that take turns; 0: politeness is left out


@dataclass(frozen=True)
class OrderingRow:
    """The result of one ordering."""

    ordering: str
    how: str  # EXACT, LEVELS or CRAWL
    # the share of all PageRank, or of all good pages, that has been fetched after each page
    curve: npt.NDArray[np.float64]

    def at(self, share: float) -> float:
        """Return what has been fetched after this share of all pages."""
        count = int(share * len(self.curve))
        return float(self.curve[count - 1]) if count else 0.0

    @property
    def mean(self) -> float:
        return float(self.curve.mean())

    def as_json(self) -> dict[str, Any]:
        points = [[round(step / 100, 2), round(self.at(step / 100), 6)] for step in range(101)]
        return {
            "ordering": self.ordering,
            "how": self.how,
            "mean": round(self.mean, 6),
            "curve": points,
        }


def compare(
    graph: Graph, rank: npt.NDArray[np.float64], names: Sequence[str], shape: CrawlShape
) -> Iterator[OrderingRow]:
    """Yield the rows of each ordering: exact, with levels, and as a crawl has it.

    `rank` is the PageRank of each page. If the graph has scores, the good pages are measured in
    place of PageRank.
    """
    measured = rank
    if graph.scores is not None:
        is_good = graph.scores >= GOOD
        measured = is_good / is_good.sum()
    for name in names:
        true_scores = measured if name == IDEAL else rank
        for how in row_kinds(name, shape):
            signal, waiting = _signal_and_queue(name, how, graph, true_scores, shape)
            yield OrderingRow(name, how, np.cumsum(measured[replay(graph, signal, waiting)]))


def row_kinds(name: str, shape: CrawlShape) -> list[str]:
    """Return which of EXACT, LEVELS and CRAWL there is a row for in an ordering.

    No crawl can compute PageRank while it runs, so there is none for CRAWL. That of "best" shows
    what politeness costs.
    """
    kinds = [EXACT]
    if name in WITH_LEVELS:
        kinds.append(LEVELS)
    if shape.hosts and name != "pagerank":
        kinds.append(CRAWL)
    return kinds


def replay(graph: Graph, signal: Signal, waiting: PageQueue) -> Numbers:
    """Return the pages in the order in which a crawl with this signal and queue fetches them."""
    offsets, links = graph.offsets.tolist(), graph.links
    known = bytearray(graph.pages)
    # The seeds have the first numbers
    known[: graph.seeds] = b"\1" * graph.seeds
    waiting.add(range(graph.seeds))
    order = np.empty(graph.pages, np.int64)
    count = 0
    while (page := waiting.pop()) is not None:
        order[count] = page
        count += 1
        found = links[offsets[page] : offsets[page + 1]].tolist()
        changed = signal.record_page(page, found)
        new = [link for link in found if not known[link]]
        for link in new:
            known[link] = 1
        waiting.add(new)
        waiting.update(changed)
    return order[:count]


def _signal_and_queue(
    name: str, how: str, graph: Graph, true_scores: npt.NDArray[np.float64], shape: CrawlShape
) -> tuple[Signal, PageQueue]:
    """Return what an ordering knows of pages, and the queue in which they wait.

    `true_scores` are for orderings that know them from the beginning.
    """
    signal = _SIGNALS[name](graph) if name in _SIGNALS else TrueScores(true_scores.tolist())
    if how == CRAWL:
        return signal, _crawl_queue(name, graph, signal, shape)
    if how == LEVELS:
        return signal, _level_queue(name, graph, signal, shape)
    if name == "random":
        return signal, RandomQueue(Random(RANDOM_SEED))
    if isinstance(signal, DomainVotes):
        return signal, DomainQueue(graph.domains.tolist(), signal)
    return signal, ExactQueue(graph.pages, signal)


def _level_queue(name: str, graph: Graph, signal: Signal, shape: CrawlShape) -> LevelQueue:
    return LevelQueue(
        graph.pages,
        signal,
        shape.levels,
        shape.bias,
        Random(RANDOM_SEED),
        moving=name not in FIXED_WHEN_FOUND,
    )


def _crawl_queue(name: str, graph: Graph, signal: Signal, shape: CrawlShape) -> PageQueue:
    """Return the queue of a polite crawl: with levels, or with a sift that chooses the best."""
    hosts = graph.hosts.tolist()
    if name in FIXED_WHEN_FOUND:
        return PoliteQueue(_level_queue(name, graph, signal, shape), hosts, shape.hosts, None)
    if name == "random":
        random = Random(RANDOM_SEED).random
        sift = Sift[int](lambda _: random())
    else:
        sift = Sift[int](lambda page: signal.values[page])
    return PoliteQueue(SiftedFrontEnd(sift), hosts, shape.hosts, sift)


CURVE_POINTS = 200  # of a line in the plot


def as_json(graph: Graph, rows: Sequence[OrderingRow]) -> str:
    """Return the results as one object on one line."""
    value = {
        "graph": {
            "pages": graph.pages,
            "links": len(graph.links),
            "unreached": graph.unreached,
            "seeds": graph.seeds,
        },
        "rows": [row.as_json() for row in rows],
    }
    return f"{json.dumps(value)}\n"


def as_text(graph: Graph, rows: Sequence[OrderingRow], shape: CrawlShape) -> str:
    """Return a description of the graph, and a line for each row."""
    lines = [
        _graph_in_words(graph),
        "",
        f"percent of {_measured_in_words(graph)}, after so many percent of the pages, and on average",
    ]
    lines.append(
        f"{'':22}" + "".join(f"{100 * share:>8.0f}" for share in PRINTED_SHARES) + f"{'mean':>8}"
    )
    for row in rows:
        values = "".join(f"{100 * row.at(share):>8.1f}" for share in PRINTED_SHARES)
        lines.append(f"{row.ordering:<12}{row.how:<10}{values}{100 * row.mean:>8.1f}")
    meanings = {
        EXACT: "one queue, always in order",
        LEVELS: f"FIFO queues ({shape.levels}), each drawn {shape.bias:g} times as often as the next",
        CRAWL: f"as a crawl does it, hosts in turns ({shape.hosts} at a time)",
    }
    used = {row.how for row in rows}
    lines += ["", *(f"{how}: {meaning}" for how, meaning in meanings.items() if how in used), ""]
    return "\n".join(lines)


def _measured_in_words(graph: Graph) -> str:
    return (
        "all PageRank"
        if graph.scores is None
        else f"the {int((graph.scores >= GOOD).sum()):,} good pages"
    )


def _graph_in_words(graph: Graph) -> str:
    hosts = int(graph.hosts.max()) + 1
    left = (
        f"; {graph.unreached:,} more that no seed leads to are left out" if graph.unreached else ""
    )
    return f"pages: {graph.pages:,}, hosts: {hosts:,}, links: {len(graph.links):,}{left}"


def plot_orderings(graph: Graph, rows: Sequence[OrderingRow]) -> str:
    """Return an SVG document with one line per ordering.

    The rows as a crawl has them are plotted if there are any, and otherwise the exact ones.
    """
    how = CRAWL if any(row.how == CRAWL for row in rows) else EXACT
    shares = [step / CURVE_POINTS for step in range(CURVE_POINTS + 1)]
    lines = [
        PlotLine(
            row.ordering,
            [(share, row.at(share)) for share in shares],
            COLOURS[ORDERS.index(row.ordering)],
            # No crawl can have these: they show what is possible
            dashed=row.ordering in ("best", IDEAL),
        )
        for row in rows
        if row.how == how
    ]
    below = f"pages fetched, and their share of {_measured_in_words(graph)}"
    return plot_file(
        "What a crawl has by pages fetched",
        lines,
        [(ten / 10, f"{ten}0 %") for ten in range(0, 11, 2)],
        below,
    )
