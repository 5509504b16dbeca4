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

CLOSE = 1e-12  # of all PageRank, which is 1
STEPS = 1000  # at most; with 0.85 some 170 are enough for any graph


def pagerank(
    heads: npt.NDArray[Any],
    tails: npt.NDArray[Any],
    nodes: int,
    damping: float = 0.85,
    close: float = CLOSE,
) -> npt.NDArray[np.float64]:
    """Return the PageRank of pages numbered from 0; together they have 1.

    Link i is on page `heads[i]` and leads to `tails[i]`. A page that links to another twice gives
    it two shares. One without links gives to all pages alike, itself included, and so does the part
    1 - `damping` of every page. Steps are taken until all values together change by less than
    `close`.
    """
    if not nodes:
        return np.zeros(0)
    links = np.bincount(heads, minlength=nodes)
    ends = links == 0
    share = damping / np.maximum(links, 1)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(STEPS):
        given = np.bincount(tails, weights=(rank * share)[heads], minlength=nodes).astype(
            np.float64, copy=False
        )
        # What pages without links have, and the part that no link gets
        given += (1 - damping + damping * rank[ends].sum()) / nodes
        given /= given.sum()  # rounding errors would add up
        change = np.abs(given - rank).sum()
        rank = given
        if change < close:
            break
    return rank


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Pages have numbers from 0, in the order in which a breadth-first crawl finds them: the first
    are its seeds.

    The links of page p are `links[offsets[p]:offsets[p + 1]]`: each page once, in the order of the
    page, itself never.
    """

    offsets: Numbers
    links: Numbers
    seeds: int
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
    """Return the graph of all files, as far as a crawl from these pages comes.

    Without any, it comes from the first one.

    `known`: the scores of pages; others have none.
    """
    numbers: dict[str, int] = {}
    heads, tails = array("q"), array("q")
    given = [*paths]
    for page, link in links_of(given):
        if not page:
            raise NoTrace(
                f"{' '.join(map(str, given))}: some links have no page; every edge of a graph "
                "must have a page and a link"
            )
        heads.append(numbers.setdefault(page, len(numbers)))
        tails.append(numbers.setdefault(link, len(numbers)))
    if not numbers:
        raise NoTrace(f"{' '.join(map(str, given))}: contains no links")
    for seed in seeds:
        if seed not in numbers:
            raise NoTrace(f"{seed}: is not a page of this graph")
    starts = [*dict.fromkeys(numbers[seed] for seed in seeds)] or [0]
    hosts, domains = _sites(numbers)
    ends = np.array(heads, np.int64), np.array(tails, np.int64)
    scores = np.array([known.get(name, 0.0) for name in numbers]) if known is not None else None
    return crawled(*ends, len(numbers), starts, hosts, domains, scores)


def crawled(
    heads: Numbers,
    tails: Numbers,
    pages: int,
    starts: Sequence[int],
    hosts: Numbers,
    domains: Numbers,
    scores: npt.NDArray[np.float64] | None = None,
) -> Graph:
    """Return these pages numbered anew, as a breadth-first crawl from `starts` finds them."""
    # Each link once, by the number of its pair of pages; a link of a page to itself is none
    _, firsts = np.unique((heads * pages + tails)[heads != tails], return_index=True)
    kept = np.flatnonzero(heads != tails)[np.sort(firsts)]
    kept = kept[np.argsort(heads[kept], kind="stable")]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(heads[kept], minlength=pages))))
    links = tails[kept]
    order = _breadth_first(offsets, links, starts)
    new = np.full(pages, -1)
    new[order] = np.arange(len(order))
    sizes = np.diff(offsets)[order]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(ends[-1]) + np.repeat(offsets[order] - ends[:-1], sizes)
    scores = scores[order] if scores is not None else None
    return Graph(
        ends,
        new[links[places]],
        len(starts),
        hosts[order],
        domains[order],
        pages - len(order),
        scores,
    )


def _breadth_first(offsets: Numbers, links: Numbers, starts: Sequence[int]) -> Numbers:
    met = bytearray(len(offsets) - 1)
    queue = array("q", starts)
    for page in starts:
        met[page] = 1
    for page in queue:  # which grows
        for link in links[offsets[page] : offsets[page + 1]].tolist():
            if not met[link]:
                met[link] = 1
                queue.append(link)
    return np.array(queue, np.int64)


def _sites(names: Iterable[str]) -> tuple[Numbers, Numbers]:
    """Return host and registered domain of each page.

    Pages whose names are no URLs are all of one host.
    """
    domain_of = RegisteredDomains()
    hosts, domains = _Numbered(_host), _Numbered(domain_of)
    pairs = [(hosts(name), domains(_host(name))) for name in names]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _host(name: str) -> str:
    try:
        return host_of(name) or "-"
    except (ValueError, IndexError):
        return "-"


class _Numbered:
    """Numbers for what a function gives, in the order of coming."""

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(self._function(name), len(self._numbers))
