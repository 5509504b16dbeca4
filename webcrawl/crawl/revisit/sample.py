"""A sample of the pages that are fetched again, by which the whole is judged: its freshness, and the pace of visits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappush, heapreplace
from struct import Struct

from siphashc import siphash

from webcrawl.crawl.revisit.change_rate import Prior
from webcrawl.crawl.revisit.record import PageRecord

MOST = 4096  # pages; a mean of what they have is then right within a few percent
ALL = (1 << 64) - 1
_HEAD = Struct("<Qd")
_ROW = Struct("<Qd4f2H")


@dataclass(slots=True)
class SampledPage:
    """A page as its last fetch left it."""

    fetched: float  # seconds since 1970
    weight: float = 1.0
    interval: float = 0.0  # seconds between its last two fetches; 0: there was only one
    shape: float = 0.0  # of what its visits say (change_rate.py)
    span: float = 0.0
    visits: int = 0
    changes: int = 0


class Sample:
    """The pages whose URLs have the smallest hashes: any page is as likely to be among them, however often it comes.

    The hash is keyed, so that no site can choose its URLs to be sampled.
    """

    def __init__(self, key: bytes = bytes(16), most: int = MOST) -> None:
        self.prior = Prior()
        self._key = key
        self._most = most
        self._bar = ALL  # the largest hash that belongs to the sample
        self._pages: dict[int, SampledPage] = {}  # by hash
        self._largest: list[int] = []  # a heap of the negated hashes

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[SampledPage]:
        return iter(self._pages.values())

    def put(self, record: PageRecord, interval: float) -> None:
        """Take a page as a fetch has left it, so many seconds after the one before."""
        number = siphash(self._key, record.url)
        if number > self._bar:
            return
        known = number in self._pages
        self._pages[number] = SampledPage(
            record.fetched, record.weight, interval, record.shape, record.span, record.visits, record.changes
        )
        if known:
            return
        if len(self._pages) <= self._most:
            heappush(self._largest, -number)
        else:
            del self._pages[-heapreplace(self._largest, -number)]
        if len(self._pages) == self._most:
            self._bar = -self._largest[0]

    def find(self, url: str) -> SampledPage | None:
        """Return this page, or None if it is not in the sample."""
        return self._pages.get(siphash(self._key, url))

    def drop(self, url: str) -> None:
        """Forget a page that is not fetched again. Its place goes to the next one with as small a hash."""
        number = siphash(self._key, url)
        if self._pages.pop(number, None) is not None:
            self._largest.remove(-number)  # rare enough for a search and a sort
            self._largest.sort()

    def save(self) -> bytes:
        """Return the state for a checkpoint."""
        rows = (
            _ROW.pack(
                number, page.fetched, page.weight, page.interval, page.shape, page.span, page.visits, page.changes
            )
            for number, page in self._pages.items()
        )
        return _HEAD.pack(self._bar, self.prior.mean) + b"".join(rows)

    def restore(self, data: bytes) -> None:
        """Go on from a state."""
        self._bar, self.prior.mean = _HEAD.unpack_from(data)
        self._pages = {row[0]: SampledPage(*row[1:]) for row in _ROW.iter_unpack(data[_HEAD.size :])}
        self._largest = sorted(-number for number in self._pages)
