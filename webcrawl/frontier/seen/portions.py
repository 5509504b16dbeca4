"""The links of large pages wait here and enter the crawl in portions, so that one page does not
hold up the links of others.

A portion is a row of crawl.db, and leaves it in the transaction in which its links are submitted.
So a page that a checkpoint knows as finished has all its links there: submitted, or in the table
(docs/decisions/crawl-operation.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from webcrawl.base import zstd_frame
from webcrawl.base.model import Link, unpack
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

PORTION = 1000  # links: 3 ms to submit them, 4 ms until they are in the frontier
# seconds between two portions: 20,000 links per second, in a seventh of the crawl's time
PACE = 0.05
INSERT = "INSERT INTO portion (turn, site, count, data, crc) VALUES (?, ?, ?, ?, ?)"
FIRST = "SELECT id, turn, site, count, data, crc FROM portion ORDER BY turn, id LIMIT 1"


@dataclass(slots=True)
class Portion:
    """Some links of a page as they were written, and the letter of each in the discovery path."""

    page: Link
    base: str
    links: list[str]
    hops: str

    def pack(self) -> bytes:
        fields = self.page.pack(), self.base, self.links, self.hops
        return bytes(msgpack.packb(fields, unicode_errors="surrogatepass"))

    @classmethod
    def unpack(cls, data: bytes) -> Portion:
        page, base, links, hops = msgpack.unpackb(data, unicode_errors="surrogatepass")
        if len(links) != len(hops) or not all(isinstance(link, str) for link in links):
            raise ValueError("not a portion of links")
        return cls(unpack(page), base, links, hops)


class Portions:
    """Portions of all pages. Sites take turns: a site with very many delays only its own."""

    def __init__(self, db: CrawlDB, site_of: Callable[[str], str]) -> None:
        """`site_of` names the site of a page's URL."""
        self._db = db
        self._site_of = site_of
        ((self.links, first),) = db.query("SELECT coalesce(sum(count), 0), min(turn) FROM portion")
        self._turn = first or 0
        self.ready_at = 0.0  # when the next portion may be taken

    def put(self, page: Link, base: str, links: Sequence[str], hops: str, start: int) -> None:
        """Keep a page's links from `start` on; `hops` has the letter of each, or one for all.

        A site's portions have consecutive turns, and the turns of all sites that wait overlap.
        """
        site = self._site_of(page.url)
        ((last,),) = self._db.query("SELECT max(turn) FROM portion WHERE site = ?", (site,))
        turn = max(self._turn, last or 0)
        rows: list[tuple[Any, ...]] = []
        for at in range(start, len(links), PORTION):
            some = list(links[at : at + PORTION])
            # A single letter holds for all links of the page.
            hops_of_some = hops * len(some) if len(hops) == 1 else hops[at : at + PORTION]
            portion = Portion(page, base, some, hops_of_some)
            turn += 1
            row = (turn, site, len(some), zstd_frame.pack(portion.pack()))
            rows.append((*row, rowcrc.portion(*row)))
        self._db.executemany(INSERT, rows)
        self.links += len(links) - start

    def pop_due(self, now: float, *, paced: bool = True) -> Portion | None:
        """Remove and return the next portion, or None if there is none, or not yet.

        The crawl calls this each time that it looks for a link to fetch, and submits the links it
        gets. The row goes in the same transaction, so that a kill loses and repeats no link.

        `paced`: portions come PACE seconds apart at least, because other links wait too. Where
        nothing else waits, 720,000 links that were left at the end of a crawl enter in less than a
        second, and by this pace in 55.

        Raise DamagedFile if the row cannot be read.
        """
        has_to_wait = paced and now < self.ready_at
        if not self.links or has_to_wait:
            return None
        self.ready_at = now + PACE
        number, turn, portion = self._read_first()
        self._db.execute("DELETE FROM portion WHERE id = ?", (number,))
        self._turn = turn
        self.links -= len(portion.links)
        return portion

    def _read_first(self) -> tuple[int, int, Portion]:
        """Return the first row in the order of turns: its id, its turn, and the portion.

        Raise DamagedFile if its checksum is wrong, or it holds no portion.
        """
        ((number, *row),) = self._db.query(FIRST)
        if not rowcrc.agrees(rowcrc.portion, row):
            raise DamagedFile(self._db.path, 0, f"table portion, {number}: wrong checksum")
        turn, _, _, packed, _ = row
        try:
            portion = Portion.unpack(zstd_frame.unpack(packed))
        except (ValueError, TypeError) as error:
            raise DamagedFile(self._db.path, 0, f"table portion, {number}: {error}") from error
        return number, turn, portion
