"""A known part of the web as arrays: what a crawl of it would find on each page."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from webcrawl.laboratory.traces import NoTrace, links_of
from webcrawl.urls.hosts import RegisteredDomains, host_of

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Pages have numbers from 0, in the order in which a breadth-first crawl finds them: the first are its seeds.

    The links of page p are `links[offsets[p]:offsets[p + 1]]`: each page once, in the order of the page, itself never.
    """

    offsets: Numbers
    links: Numbers
    seeds: int
    hosts: Numbers  # the host of each page, by number
    domains: Numbers  # its registered domain
    unreached: int = 0  # pages that are left out because no seed leads to them

    @property
    def pages(self) -> int:
        """How many there are."""
        return len(self.offsets) - 1

    @property
    def heads(self) -> Numbers:
        """The page that each link is on."""
        return np.repeat(np.arange(self.pages), np.diff(self.offsets))


def read_graph(paths: Iterable[Path], seeds: Sequence[str] = ()) -> Graph:
    """The graph of all files, as far as a crawl from these pages comes; without any, from the first one."""
    numbers: dict[str, int] = {}
    heads, tails = array("q"), array("q")
    given = [*paths]
    for page, link in links_of(given):
        if not page:
            raise NoTrace(f"{' '.join(map(str, given))}: a link without its page; a graph has edges, a page and a link")
        heads.append(numbers.setdefault(page, len(numbers)))
        tails.append(numbers.setdefault(link, len(numbers)))
    if not numbers:
        raise NoTrace(f"{' '.join(map(str, given))}: no links")
    for seed in seeds:
        if seed not in numbers:
            raise NoTrace(f"{seed}: no page of this graph")
    starts = [*dict.fromkeys(numbers[seed] for seed in seeds)] or [0]
    hosts, domains = _sites(numbers)
    return crawled(np.array(heads, np.int64), np.array(tails, np.int64), len(numbers), starts, hosts, domains)


def crawled(
    heads: Numbers, tails: Numbers, pages: int, starts: Sequence[int], hosts: Numbers, domains: Numbers
) -> Graph:
    """The same pages numbered anew, as a breadth-first crawl from `starts` finds them."""
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
    return Graph(ends, new[links[places]], len(starts), hosts[order], domains[order], pages - len(order))


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
    """Host and registered domain of each page. Pages whose names are no URLs are all of one host."""
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
