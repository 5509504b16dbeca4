"""In which order a crawl fetches the pages of a known graph, and how soon it has the important ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from webcrawl.frontier.sift import Sift
from webcrawl.laboratory.graph import Graph, Numbers
from webcrawl.laboratory.signals import Cash, Depth, Indegree, Known, KnownPageRank, Signal, Votes
from webcrawl.laboratory.waiting import AtRandom, ByDomain, Exact, Levels, SiftedFront, Turns, Waiting

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # of all pages
EXACT, LEVELS, CRAWL = "exact", "levels", "crawl"
LEVELLED = ("breadth", "indegree", "opic", "reputation")
FIXED = ("breadth", "reputation")  # a crawl gives these their level when they are found
SEED = 1

_SIGNALS: dict[str, Callable[[Graph], Signal]] = {
    "breadth": Depth,
    "random": Depth,
    "indegree": Indegree,
    "opic": Cash,
    "reputation": Votes,
    "pagerank": KnownPageRank,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a crawl has in place of one exact queue."""

    levels: int = 8  # FRONTIER_LEVELS
    bias: float = 2.0  # FRONTIER_BIAS
    hosts: int = 0  # that take turns; 0: politeness is left out


@dataclass(frozen=True)
class Row:
    """One ordering: the share of all PageRank that has been fetched after each page."""

    ordering: str
    how: str  # EXACT, LEVELS or CRAWL
    curve: npt.NDArray[np.float64]

    def at(self, share: float) -> float:
        """What the first pages have, of which there are so many."""
        count = int(share * len(self.curve))
        return float(self.curve[count - 1]) if count else 0.0

    @property
    def mean(self) -> float:
        """The area below the curve."""
        return float(self.curve.mean())

    def as_json(self) -> dict[str, Any]:
        points = [[round(step / 100, 2), round(self.at(step / 100), 6)] for step in range(101)]
        return {"ordering": self.ordering, "how": self.how, "mean": round(self.mean, 6), "curve": points}


def compare(graph: Graph, rank: npt.NDArray[np.float64], names: Sequence[str], shape: Shape) -> Iterator[Row]:
    """A row for each ordering in exact order, one with levels where there are such, and one as a crawl has it."""
    for name in names:
        for how in ways(name, shape):
            signal, waiting = _made(name, how, graph, rank, shape)
            yield Row(name, how, np.cumsum(rank[replay(graph, signal, waiting)]))


def ways(name: str, shape: Shape) -> list[str]:
    """Which rows an ordering has. No crawl computes PageRank; that of the best shows what politeness alone costs."""
    found = [EXACT]
    if name in LEVELLED:
        found.append(LEVELS)
    if shape.hosts and name != "pagerank":
        found.append(CRAWL)
    return found


def replay(graph: Graph, signal: Signal, waiting: Waiting) -> Numbers:
    """The pages in the order in which they are fetched."""
    offsets, links = graph.offsets.tolist(), graph.links
    known = bytearray(graph.pages)
    known[: graph.seeds] = b"\1" * graph.seeds
    waiting.add(range(graph.seeds))
    order = np.empty(graph.pages, np.int64)
    count = 0
    while (page := waiting.pop()) is not None:
        order[count] = page
        count += 1
        found = links[offsets[page] : offsets[page + 1]].tolist()
        changed = signal.heard(page, found)
        new = [link for link in found if not known[link]]
        for link in new:
            known[link] = 1
        waiting.add(new)
        waiting.changed(changed)
    return order[:count]


def _made(name: str, how: str, graph: Graph, rank: npt.NDArray[np.float64], shape: Shape) -> tuple[Signal, Waiting]:
    signal = _SIGNALS[name](graph) if name in _SIGNALS else Known(rank.tolist())
    if how == CRAWL:
        return signal, _crawl(name, graph, signal, shape)
    if how == LEVELS:
        return signal, _levels(name, graph, signal, shape)
    if name == "random":
        return signal, AtRandom(Random(SEED))
    if isinstance(signal, Votes):
        return signal, ByDomain(graph.domains.tolist(), signal)
    return signal, Exact(graph.pages, signal)


def _levels(name: str, graph: Graph, signal: Signal, shape: Shape) -> Levels:
    return Levels(graph.pages, signal, shape.levels, shape.bias, Random(SEED), moving=name not in FIXED)


def _crawl(name: str, graph: Graph, signal: Signal, shape: Shape) -> Waiting:
    hosts = graph.hosts.tolist()
    if name in FIXED:
        return Turns(_levels(name, graph, signal, shape), hosts, shape.hosts, None)
    chance = Random(SEED).random
    worth = (lambda _: chance()) if name == "random" else lambda page: signal.values[page]
    sift = Sift[int](worth)
    return Turns(SiftedFront(sift), hosts, shape.hosts, sift)
