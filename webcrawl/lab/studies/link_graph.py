"""A known part of the web as arrays, what a crawl of it would find on each page, and its PageRank."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from webcrawl.base.url_text import host_of
from webcrawl.lab.studies.traces import NoTrace, links_of
from webcrawl.urls.host_names import RegisteredDomains

CONVERGED = 1e-12  # of all PageRank, which is 1
MAX_STEPS = 1000  # with a damping of 0.85 some 170 are enough for any graph


def pagerank(
    heads: npt.NDArray[Any],
    tails: npt.NDArray[Any],
    nodes: int,
    damping: float = 0.85,
    tolerance: float = CONVERGED,
) -> npt.NDArray[np.float64]:
    """Return the PageRank of pages numbered from 0; the sum is 1.

    Link i is on page `heads[i]` and leads to `tails[i]`. A page that links to another twice gives
    it two shares. A page without links gives its rank to all pages alike, itself included. So does
    every page with the part 1 - `damping` of its rank. Steps are taken until the sum of all changes
    is less than `tolerance`.
    """
    if not nodes:
        return np.zeros(0)
    links = np.bincount(heads, minlength=nodes)
    ends = links == 0
    share = damping / np.maximum(links, 1)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(MAX_STEPS):
        received = np.bincount(tails, weights=(rank * share)[heads], minlength=nodes).astype(
            np.float64, copy=False
        )
        # What pages without links have, and the part that no link gets
        received += (1 - damping + damping * rank[ends].sum()) / nodes
        received /= received.sum()  # rounding errors would add up
        change = np.abs(received - rank).sum()
        rank = received
        if change < tolerance:
            break
    return rank


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """A part of the web as arrays.

    Pages have numbers from 0, in the order in which a breadth-first crawl finds them; the first are
    its seeds. The links of page p are `links[offsets[p]:offsets[p + 1]]`: in the order in which
    they are on the page, each target once, and the page itself never.
    """

    offsets: Numbers
    links: Numbers
    seeds: int  # their number
    hosts: Numbers  # the host of each page, by number
    domains: Numbers  # its registered domain
    unreached: int = 0  # pages that are left out because no seed leads to them
    scores: npt.NDArray[np.float64] | None = None  # of each page, if they are known

    @property
    def pages(self) -> int:
        return len(self.offsets) - 1

    @property
    def heads(self) -> Numbers:
        """Return the page that each link is on."""
        return np.repeat(np.arange(self.pages), np.diff(self.offsets))


def read_graph(
    paths: Iterable[Path], seeds: Sequence[str] = (), known: Mapping[str, float] | None = None
) -> Graph:
    """Return the graph of all files, as far as a crawl from the pages `seeds` comes.

    Without seeds the crawl begins at the first page. `known` has the scores of pages; others have
    the score 0. Raise NoTrace if the files have no graph, or a seed is not in it.
    """
    numbers: dict[str, int] = {}
    heads, tails = array("q"), array("q")
    files = [*paths]
    for page, link in links_of(files):
        if not page:
            raise NoTrace(
                f"{' '.join(map(str, files))}: some links have no page; every edge of a graph "
                "must have a page and a link"
            )
        heads.append(numbers.setdefault(page, len(numbers)))
        tails.append(numbers.setdefault(link, len(numbers)))
    if not numbers:
        raise NoTrace(f"{' '.join(map(str, files))}: contains no links")
    for seed in seeds:
        if seed not in numbers:
            raise NoTrace(f"{seed}: is not a page of this graph")
    starts = [*dict.fromkeys(numbers[seed] for seed in seeds)] or [0]
    hosts, domains = _hosts_and_domains(numbers)
    scores = None
    if known is not None:
        scores = np.array([known.get(name, 0.0) for name in numbers])
    return crawled(
        np.array(heads, np.int64),
        np.array(tails, np.int64),
        len(numbers),
        starts,
        hosts,
        domains,
        scores,
    )


def crawled(
    heads: Numbers,
    tails: Numbers,
    pages: int,
    starts: Sequence[int],
    hosts: Numbers,
    domains: Numbers,
    scores: npt.NDArray[np.float64] | None = None,
) -> Graph:
    """Return the graph of these links, its pages numbered as a breadth-first crawl finds them.

    Link i leads from page `heads[i]` to `tails[i]`; these and `starts` are old numbers.
    """
    # Each link once, by the number of its pair of pages; a link of a page to itself does not count
    leads_away = heads != tails
    _, firsts = np.unique((heads * pages + tails)[leads_away], return_index=True)
    kept = np.flatnonzero(leads_away)[np.sort(firsts)]
    kept = kept[np.argsort(heads[kept], kind="stable")]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(heads[kept], minlength=pages))))
    links = tails[kept]
    order = _breadth_first(offsets, links, starts)
    new_numbers = np.full(pages, -1)
    new_numbers[order] = np.arange(len(order))
    # The links of all pages in the new order: page by page the same stretches of the old array
    sizes = np.diff(offsets)[order]
    new_offsets = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(new_offsets[-1]) + np.repeat(offsets[order] - new_offsets[:-1], sizes)
    return Graph(
        new_offsets,
        new_numbers[links[places]],
        len(starts),
        hosts[order],
        domains[order],
        unreached=pages - len(order),
        scores=scores[order] if scores is not None else None,
    )


def _breadth_first(offsets: Numbers, links: Numbers, starts: Sequence[int]) -> Numbers:
    """Return the pages that can be reached from `starts`, in the order of a breadth-first crawl."""
    is_found = bytearray(len(offsets) - 1)
    queue = array("q", starts)
    for page in starts:
        is_found[page] = 1
    for page in queue:  # which grows
        for link in links[offsets[page] : offsets[page + 1]].tolist():
            if not is_found[link]:
                is_found[link] = 1
                queue.append(link)
    return np.array(queue, np.int64)


def _hosts_and_domains(names: Iterable[str]) -> tuple[Numbers, Numbers]:
    """Return the numbers of the host and of the registered domain of each page.

    Pages whose names are not URLs are all of one host.
    """
    domain_of = RegisteredDomains()
    hosts, domains = _Numbering(_host), _Numbering(domain_of)
    pairs = [(hosts(name), domains(_host(name))) for name in names]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _host(name: str) -> str:
    try:
        return host_of(name) or "-"
    except (ValueError, IndexError):
        return "-"


class _Numbering:
    """Numbers the values of a function from 0, in the order in which they first occur."""

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(self._function(name), len(self._numbers))
