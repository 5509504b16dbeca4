"""Some pages by which all are judged: those whose URLs have the smallest hashes, as their last fetch left them."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappush, heapreplace
from struct import Struct

from siphashc import siphash

from webcrawl.revisit.figures import Sampled
from webcrawl.revisit.prior import Prior
from webcrawl.revisit.record import PageRecord
from webcrawl.store.crawldb import CrawlDB

MOST = 4096  # pages: a mean over them is right within a percent or two
ALL = (1 << 64) - 1
META = "revisits/watched"
BAR, ROW = Struct("<Q"), Struct("<Qd4f")


class Watched:
    """Any page is as likely to be among them, however often it is fetched. Part of each checkpoint.

    `key` is the crawl's: no site can choose its URLs so that they are watched.
    """

    def __init__(self, db: CrawlDB, key: bytes, most: int = MOST) -> None:
        self._db, self._key, self._most = db, key, most
        self.prior = Prior()
        data = db.get(META) or BAR.pack(ALL)
        (self._bar,) = BAR.unpack_from(data)  # no page with a larger hash is watched
        self._pages = {row[0]: Sampled(*row[1:]) for row in ROW.iter_unpack(data[BAR.size :])}
        self._largest = sorted(-number for number in self._pages)  # a heap
        db.join(self)

    def __repr__(self) -> str:
        return f"<Watched {len(self)}>"

    def __len__(self) -> int:
        return len(self._pages)

    def __iter__(self) -> Iterator[Sampled]:
        """Of a page that was never seen again, what is believed of such pages."""
        shape, span = self.prior.shape, self.prior.span
        for page in self._pages.values():
            yield page if page.shape > 0.0 else Sampled(page.fetched, shape, span, *page[3:])

    def put(self, record: PageRecord, interval: float) -> None:
        """A page was fetched, so many seconds after the last time; 0 if there was none."""
        number = siphash(self._key, record.url)
        if number > self._bar:
            return
        if number not in self._pages:
            if len(self._pages) < self._most:
                heappush(self._largest, -number)
            else:
                del self._pages[-heapreplace(self._largest, -number)]
            if len(self._largest) == self._most:
                self._bar = -self._largest[0]
        self._pages[number] = Sampled(record.fetched, record.shape, record.span, record.weight, interval)

    def renew(self, url: str, fetched: float) -> None:
        """A page was fetched; what is learned from that comes later."""
        number = siphash(self._key, url)
        if number in self._pages:
            self._pages[number] = Sampled(fetched, *self._pages[number][1:])

    def drop(self, url: str) -> None:
        """A page is fetched no more. Its place goes to the next one whose hash is as small."""
        number = siphash(self._key, url)
        if self._pages.pop(number, None) is not None:
            self._largest.remove(-number)  # rare enough for a search and a sort
            self._largest.sort()

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        rows = (ROW.pack(number, *page) for number, page in self._pages.items())
        self._db.set(META, BAR.pack(self._bar) + b"".join(rows))
