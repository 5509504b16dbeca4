"""Who links to whom, by registered domain: IRLbot's reputation, in bounded memory.

The table `linked` has a row for each domain that a page of another one links to: hashes of those others, at most MOST.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from siphashc import siphash

from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.hosts import host_of

MOST = 64  # domains counted that link to one
TAG = 4  # bytes of a source's hash: two of 64 sources collide once in two million domains
PLACE = 8  # bytes of a pair in the filter
VOTE = 48  # bytes of a vote that waits: 12, once more while it is sorted, and 24 for its order and its Python objects
SCHEME = 9  # a slash from here on ends the host of a URL; one that ends a shorter URL's host earlier is passed over
SLICE = 64  # votes written at once: 0.3 ms
KNOWN = 1 << 12  # domains whose links are remembered for the prioritizer
# `||` makes text of its operands, without changing a byte. Tags of a row that is full, or has them, are dropped.
STORE = (
    "INSERT INTO linked VALUES (?, ?) ON CONFLICT (domain) DO UPDATE SET sources = CAST(sources || excluded.sources AS "
    f"BLOB) WHERE length(sources) < {MOST * TAG} AND instr(sources, excluded.sources) = 0"
)
LOAD = "SELECT length(sources) FROM linked WHERE domain = ?"


class Reputation:
    """Hears the links of every page; knows for each domain how many others link to it.

    Most pairs of source and target come again and again: a filter of recent pairs drops those at 0.1 us each. What
    passes is sorted by target and written in batches, because a table of millions of rows is read and written in pages.
    """

    def __init__(self, db: CrawlDB, domain_of: Callable[[str], str], key: bytes, memory: int) -> None:
        """Half of `memory` bytes is for the filter, which forgets at each start, half for votes that wait."""
        self._db, self._domain_of, self._key = db, domain_of, key
        places = 1 << max(4, memory // 2 // PLACE).bit_length() - 1
        self._pairs = array("q", bytes(PLACE * places))
        self._mask = places - 1
        self._room = max(memory // 2 // VOTE, 1)
        self._targets, self._tags = array("q"), array("I")
        self._sorted: npt.NDArray[np.int64] = np.empty((0, 2), np.int64)  # targets and tags
        self._written = 0  # of those
        self._known: dict[str, int] = {}
        self.grown = False  # links were written; set to False by whoever is about to look at all domains
        self.elsewhere: Callable[[str, str], bool] | None = None  # takes domain and URL, if they are for another drone

    def __repr__(self) -> str:
        return f"<Reputation waiting={len(self._targets) + len(self._sorted) - self._written} room={self._room}>"

    def heard(self, page: str, urls: Sequence[str]) -> None:
        """A page links to these canonical URLs. Those of its own host cost one comparison each."""
        scheme, _, host, *_ = page.split("/", 3)
        own = f"{scheme}//{host}/"
        size = len(own)
        others = [url for url in urls if url[:size] != own]  # startswith takes 1.5 times as long
        if not others:
            return
        pairs, mask, fresh = self._pairs, self._mask, []
        for other, url in {url[: url.find("/", SCHEME)]: url for url in others}.items():
            number = hash((own, other))
            if pairs[number & mask] != number:
                pairs[number & mask] = number
                fresh.append(url)
        if fresh:
            self._votes(self._domain_of(host_of(page)), fresh)

    def _votes(self, source: str, urls: Sequence[str]) -> None:
        tag, elsewhere = self._tag(source), self.elsewhere
        for url in urls:
            target = self._domain_of(host_of(url))
            if source != target and (elsewhere is None or not elsewhere(source, url)):
                self._add(target, tag)

    def vote(self, source: str, target: str) -> None:
        """A page of one registered domain links to another one."""
        self._add(target, self._tag(source))

    def _add(self, target: str, tag: int) -> None:
        self._targets.append(self._number(target))
        self._tags.append(tag)
        if self._written < len(self._sorted) and len(self._targets) % SLICE == 0:
            self._write()
        if len(self._targets) >= self._room:
            self.flush()
            self._sort()

    def _tag(self, domain: str) -> int:
        return int(siphash(self._key, domain)) & 0xFFFF_FFFF

    def _number(self, domain: str) -> int:
        return int(siphash(self._key, domain)) - 2**63  # SQLite's integers are signed

    def _sort(self) -> None:
        """Orders what waits, so that each page of the table is visited once."""
        votes = np.column_stack((np.asarray(self._targets, np.int64), np.asarray(self._tags, np.int64)))
        self._sorted, self._written = votes[np.argsort(votes[:, 0], kind="stable")], 0
        self._targets, self._tags = array("q"), array("I")

    def _write(self) -> None:
        """Writes the next of the sorted votes."""
        some = self._sorted[self._written : self._written + SLICE].tolist()
        self._db.executemany(STORE, [(target, tag.to_bytes(TAG, "little")) for target, tag in some])
        self._written += len(some)
        self.grown = True
        self._known.clear()

    @property
    def waits(self) -> bool:
        """Whether links were heard that are not yet written."""
        return self._written < len(self._sorted) or len(self._targets) > 0

    def links_to(self, domain: str) -> int:
        """How many other domains link to this one, as far as it is written; no more than MOST are counted."""
        rows = self._db.query(LOAD, (self._number(domain),))
        return rows[0][0] // TAG if rows else 0

    def take(self, domain: str) -> bytes:
        """Removes and returns what is written of those that link to a domain; `save` writes the rest first."""
        number = self._number(domain)
        rows = self._db.query("SELECT sources FROM linked WHERE domain = ?", (number,))
        self._db.execute("DELETE FROM linked WHERE domain = ?", (number,))
        self._known.pop(domain, None)
        return bytes(rows[0][0]) if rows else b""

    def merge(self, domain: str, sources: bytes) -> None:
        """Adds what `take` gave elsewhere."""
        number = self._number(domain)
        tags = (sources[at : at + TAG] for at in range(0, len(sources), TAG))
        self._db.executemany(STORE, [(number, tag) for tag in tags])
        self.grown = True
        self._known.pop(domain, None)

    def remembered(self, domain: str) -> int:
        """The same, for those who ask again and again."""
        links = self._known.get(domain)
        if links is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            links = self._known[domain] = self.links_to(domain)
        return links

    def prepare(self) -> Iterator[None]:
        """Writes in slices what waits now."""
        while self._written < len(self._sorted):
            self._write()
            yield
        if self._targets:
            self._sort()
        while self._written < len(self._sorted):
            self._write()
            yield

    def flush(self) -> None:
        """Writes the rest of what is being written; `save` all."""
        while self._written < len(self._sorted):
            self._write()

    def save(self) -> None:
        for _ in self.prepare():
            pass
