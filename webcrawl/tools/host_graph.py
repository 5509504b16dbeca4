"""The graph of hosts, by numbers: which link to which, by the links that a crawl has written."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from webcrawl.base.loading import missing
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import FOLLOWED, REDIRECT
from webcrawl.record.tables.table_files import CrawlTable
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.log_lines import LINKS_LOG, read_link
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.lines import pieces_between
from webcrawl.tools.file_replacement import replace_file

KINDS_TO_PAGES = frozenset((*FOLLOWED, REDIRECT))
MIN_UNCOUNTED_LINKS = 1 << 20  # 8 MB; fewer are not worth sorting the edges anew
EDGES_PER_BATCH = 1 << 16
Pair = tuple[str, str]  # the URLs of a page and of the target of its link
Numbers = npt.NDArray[np.uint64]


class HostGraph:
    """Numbers hosts in the order in which they are met, and counts the links between them.

    An edge is one number: the source host in its upper 32 bits, the target host in its lower ones.
    A host costs some 150 bytes, an edge 16.
    """

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self._number_by_host: dict[str, int] = {}
        self._number_by_authority: dict[str, int] = {}  # an authority may have a port
        self._uncounted = array("Q")  # one edge per link
        self._edges: Numbers = np.empty(0, np.uint64)  # sorted
        self._links: Numbers = np.empty(0, np.uint64)  # the number of links of each edge
        self.left_out: list[str] = []  # links that are in no file here, in words
        self.is_incomplete = False  # a crawl that is not running has links in no finished file

    @property
    def size(self) -> int:
        """Return the number of edges."""
        self._count()
        return len(self._edges)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Count links between hosts, given by the URLs of page and target."""
        # Bound once: this loop runs once per link.
        number_of, uncounted = self._number_of, self._uncounted
        for page, target in pairs:
            try:
                from_host, to_host = number_of(page), number_of(target)
            except (IndexError, ValueError):  # no URL: the line is damaged
                continue
            if from_host != to_host:
                uncounted.append(from_host << 32 | to_host)
        # Counting sorts all edges, so it waits until at least as many links as edges have come.
        if len(uncounted) >= max(MIN_UNCOUNTED_LINKS, len(self._edges)):
            self._count()

    def _number_of(self, url: str) -> int:
        """Return the number of a URL's host. Raise IndexError or ValueError for what is no URL."""
        authority = url.split("/", 3)[2]
        number = self._number_by_authority.get(authority)
        if number is None:
            host = host_of(url)
            number = self._number_by_host.setdefault(host, len(self.hosts))
            self._number_by_authority[authority] = number
            if number == len(self.hosts):
                self.hosts.append(host)
        return number

    def _count(self) -> None:
        """Merge the links that are not counted yet into the edges."""
        if not self._uncounted:
            return
        new_edges, new_links = np.unique(np.asarray(self._uncounted, np.uint64), return_counts=True)
        edges, places = np.unique(np.concatenate((self._edges, new_edges)), return_inverse=True)
        links = np.zeros(len(edges), np.uint64)
        np.add.at(links, places, np.concatenate((self._links, new_links.astype(np.uint64))))
        self._edges = edges
        self._links = links
        del self._uncounted[:]

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Yield source, target and number of links of each edge, in the order of the numbers."""
        self._count()
        for start in range(0, len(self._edges), EDGES_PER_BATCH):
            edges = self._edges[start : start + EDGES_PER_BATCH]
            links = self._links[start : start + EDGES_PER_BATCH]
            sources = (edges >> 32).tolist()
            targets = (edges & 0xFFFF_FFFF).tolist()
            yield from zip(sources, targets, links.tolist(), strict=True)


def write_graph(jobdir: Path, folder: Path) -> HostGraph:
    """Write hosts.tsv and edges.tsv to a folder, and return the graph.

    Raise StoreError if the crawl has written no links.
    """
    graph = HostGraph()
    for pairs in _link_batches(jobdir, graph):
        graph.add(pairs)
    folder.mkdir(parents=True, exist_ok=True)
    edges = (f"{source}\t{target}\t{links}\n" for source, target, links in graph.edges())
    replace_file(folder / "edges.tsv", edges)
    hosts = (f"{number}\t{host}\n" for number, host in enumerate(graph.hosts))
    replace_file(folder / "hosts.tsv", hosts)
    return graph


def _link_batches(jobdir: Path, graph: HostGraph) -> Iterator[Iterable[Pair]]:
    """Yield the links of a crawl or hive as of the last checkpoint, in batches.

    They come from links.log or, if there is none, from the finished tables of links that are
    here. The graph is told what is left out. Raise NoCrawl if a crawl has neither.
    """
    for crawl in crawls_of(jobdir):
        length = JobDir.open(crawl).read(lengths).get(LINKS_LOG)
        if length is not None:
            yield from _links_in_log(crawl / LINKS_LOG, length)
            continue
        tables = CrawlTable("links")
        tables.add(crawl)
        if not tables.files:
            why = tables.left_out or [
                f"{crawl}: has no links yet; the graph needs links or tables in OUTPUTS"
            ]
            raise NoCrawl(why[0])
        graph.left_out += tables.left_out
        graph.is_incomplete = graph.is_incomplete or tables.is_incomplete
        yield from _links_in_tables(tables.files)


def _links_in_log(path: Path, length: int) -> Iterator[Iterable[Pair]]:
    """Yield the links among the first `length` bytes of links.log, in batches."""
    with regular(path) as log:
        for _, lines in pieces_between(log, 0, length):
            links = [link for link in map(read_link, lines.split(b"\n")) if link is not None]
            # A link that is no URL for a crawler has no canonical form.
            yield [
                (page, target)
                for page, _, target, kind, _ in links
                if target and kind in KINDS_TO_PAGES
            ]


def _links_in_tables(paths: Iterable[Path]) -> Iterator[Iterable[Pair]]:
    """Yield the links in Parquet files, in batches. Raise StoreError if one cannot be read."""
    try:
        from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - pyarrow is optional
    except ImportError as error:
        raise StoreError(missing("pyarrow")) from error
    for path in paths:
        try:
            for batch in batches(path, ("from_url", "to_url", "kind")):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                yield [(page, target) for page, target, kind in rows if kind in KINDS_TO_PAGES]
        except OSError as error:  # pyarrow's ArrowInvalid is a ValueError
            raise StoreError(f"{path}: {error}") from error
        except ValueError as error:
            raise StoreError(f"{path}: not a table: {error}") from error
