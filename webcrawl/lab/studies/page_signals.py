"""A crawl's estimates of pages that wait, by the links that it has met: a number for each, the more
the sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any, Protocol

import numpy as np

from webcrawl.base.page_values import PageScores
from webcrawl.frontier.prioritizers import CELL, Popularity
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.lab.studies.link_graph import Graph, pagerank

DAMPING = 0.85  # of PageRank: the part of a page that its links get
CELLS_PER_PAGE = 4  # of a table of popularity: it has room for all pages
# PageRank is computed anew when so many times as many pages have been fetched as at the last time
RECOMPUTE_AFTER_GROWTH = 1.2
# The change at which a computation ends: the part of the graph that is missing changes ranks more
CLOSE_ENOUGH = 1e-3


class Signal(Protocol):
    """A crawl's estimate of each page, learnt from the links of the pages that it has fetched."""

    @property
    def values(self) -> Sequence[float]:
        """Return the number of each page: the greater, the sooner it is fetched.

        Those of pages to which no link has led yet mean nothing.
        """

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int] | None:
        """Learn from the links of a page that was fetched.

        Return the pages whose numbers have changed; None for all of them.
        """

    def level(self, page: int, last: int) -> int:
        """Return the level of a page, from 0, which is the best, to `last`."""


class DepthSignal:
    """Estimates a page by the number of links from a seed to it: the fewer the better."""

    def __init__(self, graph: Graph) -> None:
        self.values = [float("-inf")] * graph.pages
        self.values[: graph.seeds] = [0.0] * graph.seeds

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        values, depth = self.values, self.values[page] - 1
        for link in links:
            values[link] = max(values[link], depth)
        return links

    def level(self, page: int, last: int) -> int:
        return min(int(-self.values[page]), last)


class IndegreeSignal:
    """Estimates a page by the number of links that lead to it (Cho's backlink count)."""

    def __init__(self, graph: Graph) -> None:
        self.values = [0.0] * graph.pages

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        del page
        values = self.values
        for link in links:
            values[link] += 1
        return links

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1, last)


class CashSignal:
    """Estimates a page by its cash in OPIC (Abiteboul, Preda, Cobena 2003).

    Every page begins with 1. A page that is fetched gives its cash to the pages that it links to,
    in equal parts. What a page gets after it was fetched stays there.
    """

    def __init__(self, graph: Graph) -> None:
        self.values = [1.0] * graph.pages
        self._waiting = graph.seeds  # pages that are known and not fetched
        self._cash = float(graph.seeds)  # what these have together
        self._state = bytearray(graph.pages)  # of each page 0: unknown, 1: known, 2: fetched
        self._state[: graph.seeds] = b"\1" * graph.seeds

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        """Give the cash of a fetched page to the pages it links to, and return these."""
        values, state = self.values, self._state
        cash = values[page]
        state[page] = 2
        self._waiting -= 1
        self._cash -= cash
        if not links:
            return links
        values[page] = 0.0
        share = cash / len(links)
        for link in links:
            values[link] += share
            if not state[link]:
                state[link] = 1
                self._waiting += 1
                self._cash += 1.0
            # What a fetched page gets is out of the game
            if state[link] == 1:
                self._cash += share
        return links

    def level(self, page: int, last: int) -> int:
        # The unit is half of what a page that waits has on average
        return doublings(self.values[page], self._cash / max(self._waiting, 1) / 2, last)


class DomainVotes:
    """Estimates a page by the number of domains that link to its own (IRLbot's reputation)."""

    def __init__(self, graph: Graph) -> None:
        self._domains = graph.domains.tolist()
        self._voters: list[set[int]] = [set() for _ in range(max(self._domains) + 1)]
        # of a page, as it was when a link last led to it
        self.values = [0.0] * graph.pages

    def of_domain(self, domain: int) -> int:
        """Return the number of other domains that link to a domain, as of now."""
        return len(self._voters[domain])

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        domains, voters = self._domains, self._voters
        own = domains[page]
        for link in links:
            # A site cannot vouch for itself
            if domains[link] != own:
                voters[domains[link]].add(own)
            self.values[link] = len(voters[domains[link]])
        return links

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1, last)


class EstimatedPageRank:
    """Estimates a page by PageRank in the part of the graph that is known so far.

    It is computed anew when that part has grown by a fifth (Cho, Garcia-Molina, Page 1998). In
    between, the links of a page add what PageRank gives them in one step.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.values = [0.0] * graph.pages
        self._fetched: list[int] = []
        self._next_computation = 64.0  # fetched pages

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int] | None:
        """Add what a page gives to its links, or compute all numbers anew and return None."""
        self._fetched.append(page)
        if len(self._fetched) >= self._next_computation:
            self._next_computation = len(self._fetched) * RECOMPUTE_AFTER_GROWTH
            self._compute()
            return None
        values = self.values
        # A page that was never in a computation has what all begin with
        share = DAMPING * (values[page] or 1 / self._graph.pages) / max(len(links), 1)
        for link in links:
            values[link] += share
        return links

    def _compute(self) -> None:
        """Compute PageRank in the graph of the fetched pages and all that they link to."""
        graph = self._graph
        known = np.zeros(graph.pages, np.bool_)
        known[self._fetched] = True
        kept = np.repeat(known, np.diff(graph.offsets))
        heads, tails = graph.heads[kept], graph.links[kept]
        known[tails] = True
        new = np.cumsum(known) - 1
        values = np.zeros(graph.pages)
        values[known] = pagerank(
            new[heads], new[tails], int(known.sum()), DAMPING, tolerance=CLOSE_ENOUGH
        )
        self.values = values.tolist()

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1 / self._graph.pages, last)


class TrueScores:
    """Numbers that no crawl has, such as the pages' PageRank in the whole graph."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = [*values]

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        del page, links
        return ()

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1 / len(self.values), last)


class FocusSignal:
    """Estimates a page with the crawl's own ByFocus, which learns the score of each fetched page."""

    def __init__(self, graph: Graph) -> None:
        self._scores = graph.scores.tolist() if graph.scores is not None else [0.0] * graph.pages
        self._urls = [
            f"http://{domain}/{page}" for page, domain in enumerate(graph.domains.tolist())
        ]
        self._focus = ByFocus(1)
        self._focus.learn(Popularity(bytes(16), CELLS_PER_PAGE * CELL * graph.pages))
        self.values = _FocusWorths(self._focus, self._urls)

    def record_page(self, page: int, links: Sequence[int]) -> Sequence[int]:
        self._focus.scored(self._urls[page], PageScores(self._scores[page]))
        self._focus.heard(self._urls[page], [self._urls[link] for link in links])
        return links

    def level(self, page: int, last: int) -> int:
        del page
        return last


class _FocusWorths(Sequence[float]):
    """The worth of each page by ByFocus.

    It is computed when it is needed: each fetched page changes the worth of all pages of its site.
    """

    def __init__(self, focus: ByFocus, urls: Sequence[str]) -> None:
        self._focus = focus
        self._urls = urls

    def __len__(self) -> int:
        return len(self._urls)

    def __getitem__(self, page: Any) -> Any:
        return self._focus.worth(self._urls[page])


def doublings(value: float, unit: float, last: int) -> int:
    """Return the level of a value: `last` for less than twice the unit, one better per doubling."""
    return max(last - int(log2(value / unit)), 0) if value > unit else last
