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
ROOMY = 4  # cells of a table per page
GROWN = 1.2  # times as many pages as at the last computation of PageRank: then it is computed anew
ROUGH = 1e-3  # how well: what is left of the graph changes more


class Signal(Protocol):
    """Numbers of all pages; those of pages that nobody has met mean nothing."""

    @property
    def values(self) -> Sequence[float]: ...

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int] | None:
        """Learn from the links of a page that was fetched.

        Return the pages whose numbers have changed; None for all of them.
        """

    def level(self, page: int, last: int) -> int:
        """Return which of the levels from 0 to `last` a page belongs to."""


class Depth:
    """Links from a seed: the fewer the sooner."""

    def __init__(self, graph: Graph) -> None:
        self.values = [float("-inf")] * graph.pages
        self.values[: graph.seeds] = [0.0] * graph.seeds

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
        values, depth = self.values, self.values[page] - 1
        for link in links:
            values[link] = max(values[link], depth)
        return links

    def level(self, page: int, last: int) -> int:
        return min(int(-self.values[page]), last)


class Indegree:
    """Links that lead to a page (Cho's backlink count)."""

    def __init__(self, graph: Graph) -> None:
        self.values = [0.0] * graph.pages

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
        del page
        values = self.values
        for link in links:
            values[link] += 1
        return links

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1, last)


class Cash:
    """OPIC (Abiteboul, Preda, Cobena 2003): a page that is fetched gives what it has to those it
    links to, in parts.

    Every page has 1 of its own; what was given to a page that is fetched already stays there.
    """

    def __init__(self, graph: Graph) -> None:
        self.values = [1.0] * graph.pages
        # known and not fetched: how many, what they have
        self._waiting = graph.seeds
        self._cash = float(graph.seeds)
        self._state = bytearray(graph.pages)  # 1: known, 2: fetched
        self._state[: graph.seeds] = b"\1" * graph.seeds

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
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
    """Registered domains that link to the page's (IRLbot's reputation)."""

    def __init__(self, graph: Graph) -> None:
        self._domains = graph.domains.tolist()
        self._voters: list[set[int]] = [set() for _ in range(max(self._domains) + 1)]
        self.values = [0.0] * graph.pages  # of a page: as it was when that was found

    def of_domain(self, domain: int) -> int:
        """Return the number of a domain now."""
        return len(self._voters[domain])

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
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


class KnownPageRank:
    """PageRank of what is known so far (Cho, Garcia-Molina, Page 1998), computed anew when that has
    grown by a fifth.

    In between the links of a page add what PageRank gives them in one step.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.values = [0.0] * graph.pages
        self._fetched: list[int] = []
        self._next = 64.0

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int] | None:
        self._fetched.append(page)
        if len(self._fetched) >= self._next:
            self._next = len(self._fetched) * GROWN
            self._compute()
            return None
        values = self.values
        # A page that was never in a computation has what all begin with
        share = DAMPING * (values[page] or 1 / self._graph.pages) / max(len(links), 1)
        for link in links:
            values[link] += share
        return links

    def _compute(self) -> None:
        graph = self._graph
        known = np.zeros(graph.pages, np.bool_)
        known[self._fetched] = True
        kept = np.repeat(known, np.diff(graph.offsets))
        heads, tails = graph.heads[kept], graph.links[kept]
        known[tails] = True
        new = np.cumsum(known) - 1
        values = np.zeros(graph.pages)
        values[known] = pagerank(new[heads], new[tails], int(known.sum()), DAMPING, close=ROUGH)
        self.values = values.tolist()

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1 / self._graph.pages, last)


class KnownScores:
    """Numbers that no crawl has: the pages' true PageRank."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = [*values]

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
        del page, links
        return ()

    def level(self, page: int, last: int) -> int:
        return doublings(self.values[page], 1 / len(self.values), last)


class Focus:
    """The crawl's own ByFocus, told the score of each page that is fetched."""

    def __init__(self, graph: Graph) -> None:
        self._scores = graph.scores.tolist() if graph.scores is not None else [0.0] * graph.pages
        self._urls = [
            f"http://{domain}/{page}" for page, domain in enumerate(graph.domains.tolist())
        ]
        self._focus = ByFocus(1)
        self._focus.learn(Popularity(bytes(16), ROOMY * CELL * graph.pages))
        self.values = _Worth(self._focus, self._urls)

    def heard(self, page: int, links: Sequence[int]) -> Sequence[int]:
        self._focus.scored(self._urls[page], PageScores(self._scores[page]))
        self._focus.heard(self._urls[page], [self._urls[link] for link in links])
        return links

    def level(self, page: int, last: int) -> int:
        del page
        return last


class _Worth(Sequence[float]):
    """Asked when it is needed: with each page of a site the worth of all its pages changes."""

    def __init__(self, focus: ByFocus, urls: Sequence[str]) -> None:
        self._focus = focus
        self._urls = urls

    def __len__(self) -> int:
        return len(self._urls)

    def __getitem__(self, page: Any) -> Any:
        return self._focus.worth(self._urls[page])


def doublings(value: float, unit: float, last: int) -> int:
    """Return the last level for up to twice the unit, one higher for each doubling."""
    return max(last - int(log2(value / unit)), 0) if value > unit else last
