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

KINDS = frozenset((*FOLLOWED, REDIRECT))  # links that lead to pages
CHUNK = 1 << 20  # pairs that wait to be counted
ROWS = 1 << 16  # of a table, at once
Pair = tuple[str, str]  # URLs
Numbers = npt.NDArray[np.uint64]


class HostGraph:
    """Numbers hosts in the order in which they are met, and counts the links between them.

    A host costs some 150 bytes, an edge 16.
    """

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[str, int] = {}  # by authority, which may have a port
        self._waiting = array("Q")
        self._edges: Numbers = np.empty(0, np.uint64)
        self._links: Numbers = np.empty(0, np.uint64)
        self.left_out: list[str] = []  # links that are in no file that is here, in words

    @property
    def size(self) -> int:
        self._count()
        return len(self._edges)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Count links, given by the URLs of page and target."""
        number, waiting = self._number, self._waiting
        for source, target in pairs:
            try:
                one, other = number(source), number(target)
            except (IndexError, ValueError):  # no URL: the line is damaged
                continue
            if one != other:
                waiting.append(one << 32 | other)
        if len(waiting) >= max(CHUNK, len(self._edges)):
            self._count()

    def _number(self, url: str) -> int:
        authority = url.split("/", 3)[2]
        known = self._known.get(authority)
        if known is None:
            host = host_of(url)
            known = self._known[authority] = self._numbers.setdefault(host, len(self.hosts))
            if known == len(self.hosts):
                self.hosts.append(host)
        return known

    def _count(self) -> None:
        if not self._waiting:
            return
        fresh, counts = np.unique(np.asarray(self._waiting, np.uint64), return_counts=True)
        edges, places = np.unique(np.concatenate((self._edges, fresh)), return_inverse=True)
        links = np.zeros(len(edges), np.uint64)
        np.add.at(links, places, np.concatenate((self._links, counts.astype(np.uint64))))
        self._edges = edges
        self._links = links
        del self._waiting[:]

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Yield from, to, and number of links, in the order of the numbers."""
        self._count()
        for at in range(0, len(self._edges), ROWS):
            some, links = self._edges[at : at + ROWS], self._links[at : at + ROWS]
            yield from zip(
                (some >> 32).tolist(), (some & 0xFFFF_FFFF).tolist(), links.tolist(), strict=True
            )


def write_graph(jobdir: Path, folder: Path) -> HostGraph:
    """Write hosts.tsv and edges.tsv. Raise StoreError if the crawl has written no links."""
    graph = HostGraph()
    for pairs in _links(jobdir, graph.left_out):
        graph.add(pairs)
    folder.mkdir(parents=True, exist_ok=True)
    _write(
        folder / "edges.tsv", (f"{one}\t{other}\t{links}\n" for one, other, links in graph.edges())
    )
    _write(folder / "hosts.tsv", (f"{number}\t{host}\n" for number, host in enumerate(graph.hosts)))
    return graph


def _write(path: Path, lines: Iterable[str]) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("x", encoding="utf-8") as file:  # follows no link that was put there
            file.writelines(lines)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _links(jobdir: Path, left_out: list[str]) -> Iterator[Iterable[Pair]]:
    """Yield the links as of the last checkpoint, in batches; of tables the finished ones here."""
    for crawl in crawls_of(jobdir):
        length = JobDir.open(crawl).read(lengths).get(LINKS_LOG)
        if length is not None:
            yield from _of_log(crawl / LINKS_LOG, length)
            continue
        made = CrawlTable("links")
        made.add(crawl)
        if not made.files:
            why = made.left_out or [
                f"{crawl}: has no links yet; the graph needs links or tables in OUTPUTS"
            ]
            raise NoCrawl(why[0])
        left_out += made.left_out
        yield from _of_tables(made.files)


def _of_log(path: Path, length: int) -> Iterator[Iterable[Pair]]:
    with regular(path) as log:
        for _, lines in pieces_between(log, 0, length):
            links = [link for link in map(read_link, lines.split(b"\n")) if link is not None]
            # A link that is no URL for a crawler has no canonical form.
            yield [(source, to) for source, _, to, kind, _ in links if to and kind in KINDS]


def _of_tables(paths: Iterable[Path]) -> Iterator[Iterable[Pair]]:
    try:
        from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - pyarrow is optional
    except ImportError as error:
        raise StoreError(missing("pyarrow")) from error
    for path in paths:
        try:
            for batch in batches(path, ("from_url", "to_url", "kind")):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                yield [(source, target) for source, target, kind in rows if kind in KINDS]
        except OSError as error:  # pyarrow's ArrowInvalid is a ValueError
            raise StoreError(f"{path}: {error}") from error
        except ValueError as error:
            raise StoreError(f"{path}: not a table: {error}") from error
