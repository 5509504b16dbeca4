"""The links between registered domains: IRLbot's reputation, in bounded memory.

The table `linked` has a row for each domain that a page of another one links to: hashes of those
others, at most MOST. Links are sorted on their way there, and written a few at a time.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from siphashc import siphash

from webcrawl.base.url_text import host_of
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.domain_row import MOST, TAG

# bytes of a vote that waits: 12, once more while it is sorted, and 24 for its order and its Python
# objects
VOTE = 48
# Votes written at once: 0.2 ms. Sorted beforehand, a vote takes 1.0 us in place of 2.3, if 20 of 64
# go to each domain.
SLICE = 64
FULL = 1 << 12  # domains remembered that have MOST already
LOAD_LINKED = "SELECT domain, sources FROM linked WHERE domain IN (?{more})"
REPLACE = "INSERT OR REPLACE INTO linked VALUES (?, ?)"
# `||` makes text of its operands, without changing a byte. Tags of a row that is full, or has them,
# are dropped.
APPEND = (
    "INSERT INTO linked VALUES (?, ?) ON CONFLICT (domain) DO UPDATE SET sources = CAST(sources || excluded.sources AS "
    f"BLOB) WHERE length(sources) < {MOST * TAG} AND instr(sources, excluded.sources) = 0"
)

PLACE = 8  # bytes of a pair in the filter
KNOWN = 1 << 12  # domains whose links are remembered for the prioritizer
NUMBERED = 1 << 14  # hosts whose domains' numbers are remembered, 250 bytes each
# a slash from here on ends the host of a URL; one that ends a shorter URL's host earlier is passed
# over
SCHEME = 9
LOAD = "SELECT sources FROM linked WHERE domain = ?"


class Votes:
    """The links between domains that wait to be written to the table `linked`.

    A vote is the number of a domain that is linked to (target), and the tag of one that links to
    it. Votes are collected, sorted when the memory is full, and then written a few at a time, while
    the next are collected. The order is that of the table, because one of millions of rows is read
    and written in pages. What a row gets more than once in a slice is joined before.
    """

    def __init__(self, db: CrawlDB, memory: int, on_write: Callable[[], None]) -> None:
        """`memory`: bytes for votes. `on_write` is called whenever some were written."""
        self._db = db
        self._on_write = on_write
        self.room = max(memory // VOTE, 1)  # votes that are collected before they are sorted
        # the votes that are collected, as two columns
        self._targets = array("q")
        self._tags = array("I")
        # votes added since the last slice was written: with SLICE of them the next one is due
        self._owed = 0
        # the votes that are being written: rows of target and tag
        self._sorted: npt.NDArray[np.int64] = np.empty((0, 2), np.int64)
        self._written = 0  # rows of `_sorted` that are written
        self.full: set[int] = set()  # some of the domains for which no vote counts any more

    def __len__(self) -> int:
        """Return the number of votes that are not written yet."""
        return len(self._targets) + len(self._sorted) - self._written

    def add(self, targets: Sequence[int], tag: int) -> None:
        """Note that the domain with this tag links to these. For each vote added, one is written."""
        self._targets.extend(targets)
        self._tags.extend([tag] * len(targets))
        self._owed += len(targets)
        if self._owed >= SLICE and self._written < len(self._sorted):
            self._write()
        if len(self._targets) >= self.room:
            self.flush()  # `_sort` replaces the sorted ones, which must be written by then
            self._sort()

    def _sort(self) -> None:
        """Sort the collected votes by target, to be written next, and begin to collect anew."""
        votes = np.column_stack(
            (np.asarray(self._targets, np.int64), np.asarray(self._tags, np.int64))
        )
        self._sorted = votes[np.argsort(votes[:, 0], kind="stable")]
        self._written = 0
        self._targets = array("q")
        self._tags = array("I")

    def _write(self) -> None:
        """Write the next slice of the sorted votes."""
        some = self._sorted[self._written : self._written + SLICE]
        self._written = self._written + len(some)
        self._owed = 0
        targets = some[:, 0]
        tags = some[:, 1].astype("<u4").view(f"V{TAG}")
        self.store(zip(targets.tolist(), tags.tolist(), strict=True))

    def store(self, votes: Iterable[tuple[int, bytes]]) -> None:
        """Write these at once. A row that is full, or has a tag, stays as it is."""
        tags_of: defaultdict[int, list[bytes]] = defaultdict(list)
        for target, tag in votes:
            tags_of[target].append(tag)
        # A row that gets one tag is changed by SQLite alone; one that gets more is read before.
        single = [(target, tags[0]) for target, tags in tags_of.items() if len(tags) == 1]
        for target, _ in single:
            del tags_of[target]
        self._db.executemany(APPEND, single)
        if tags_of:
            self._join(tags_of)
        self._on_write()

    def _join(self, votes: Mapping[int, Sequence[bytes]]) -> None:
        """Read these rows, add all tags to each, and write it once. Note the rows that are full."""
        rows: dict[int, bytes] = dict(
            self._db.query(LOAD_LINKED.format(more=", ?" * (len(votes) - 1)), [*votes])
        )
        joined = []
        for target, tags in votes.items():
            sources = rows.get(target, b"")
            for tag in tags:
                if tag not in sources and len(sources) < MOST * TAG:
                    sources += tag
            joined.append((target, sources))
        self._db.executemany(REPLACE, joined)
        if len(self.full) >= FULL:
            self.full.clear()
        self.full.update(target for target, sources in joined if len(sources) >= MOST * TAG)

    def flush(self) -> None:
        """Write the rest of what is sorted."""
        for _ in self._write_rest():
            pass

    def _write_rest(self) -> Iterator[None]:
        while self._written < len(self._sorted):
            self._write()
            yield

    def prepare(self) -> Iterator[None]:
        """Write in slices what waits now."""
        yield from self._write_rest()
        if self._targets:
            self._sort()
        yield from self._write_rest()


# Other domains are counted because domains cost money, and pages do not (IRLbot).
class Reputation:
    """Hears the links of every page; knows for each domain how many others link to it.

    Most pairs of source and target come again and again: a filter of recent pairs drops those at
    0.1 us each.
    """

    def __init__(
        self, db: CrawlDB, domain_of: Callable[[str], str], key: bytes, memory: int
    ) -> None:
        """Half of `memory` bytes is for the filter, which forgets at each start, half for votes
        that wait.
        """
        self._db = db
        self._domain_of = domain_of
        self._key = key
        places = 1 << max(4, memory // 2 // PLACE).bit_length() - 1
        # the filter: at a pair's place the hash of the last one seen there
        self._pairs = array("q", bytes(PLACE * places))
        self._mask = places - 1
        self._number_at = lru_cache(NUMBERED)(lambda url: self._number(domain_of(host_of(url))))
        self._votes = Votes(db, memory // 2, self._written)
        self._known: dict[str, int] = {}  # by domain, what `remembered` returns
        # Links were written. A caller that is about to look at all domains sets it to False.
        self.grown = False
        # Takes a domain and a URL that it links to, and returns whether these are another drone's.
        self.elsewhere: Callable[[str, str], bool] | None = None

    def record_links(self, page: str, urls: Sequence[str]) -> None:
        """Count the links of a page, which are canonical URLs, to other domains."""
        own = page[: page.find("/", page.find("//") + 2) + 1]  # scheme and host, as of `other`
        size = len(own)
        pairs = self._pairs
        mask = self._mask
        fresh = []
        # Links within the host need no filter. `startswith` takes 1.5 times as long.
        for other in {url[: url.find("/", SCHEME) + 1] for url in urls if url[:size] != own}:
            pair = hash((own, other))
            if pairs[pair & mask] != pair:
                pairs[pair & mask] = pair
                fresh.append(other)
        if fresh:
            self._vote(own, fresh)

    def _vote(self, own: str, others: Sequence[str]) -> None:
        """Add the vote of one host for others, by their domains.

        `own` and `others` are URLs of hosts. Votes within a domain do not count, and `elsewhere`
        takes the votes that belong to other drones.
        """
        number_at = self._number_at
        full = self._votes.full
        elsewhere = self.elsewhere
        source = number_at(own)
        if elsewhere is not None:
            domain = self._domain_of(host_of(own))
            others = [
                url for url in others if number_at(url) == source or not elsewhere(domain, url)
            ]
        # A full row gets no further tag, so the votes for its domain need not be sorted.
        targets = [
            number for number in map(number_at, others) if number != source and number not in full
        ]
        if targets:
            self._votes.add(targets, _tag(source))

    def vote(self, source: str, target: str) -> None:
        """A page of one registered domain links to another one."""
        self._votes.add([self._number(target)], _tag(self._number(source)))

    def _number(self, domain: str) -> int:
        """Return the hash by which the table knows a domain."""
        return int(siphash(self._key, domain)) - 2**63  # SQLite's integers are signed

    def _written(self) -> None:
        """Note that rows have changed, so what is remembered of them may be old."""
        self.grown = True
        self._known.clear()

    @property
    def waits(self) -> bool:
        """Return whether links were heard that are not yet written."""
        return len(self._votes) > 0

    def links_to(self, domain: str) -> int:
        """Return the number of other domains that link to this one, as far as it is written.

        No more than MOST are counted.
        """
        rows = self._db.query(LOAD, (self._number(domain),))
        return len(rows[0][0]) // TAG if rows else 0

    def pop_linkers(self, domain: str) -> bytes:
        """Remove and return what is written of those that link to a domain.

        `save` writes the rest first.
        """
        number = self._number(domain)
        rows = self._db.query(LOAD, (number,))
        self._db.execute("DELETE FROM linked WHERE domain = ?", (number,))
        self._known.pop(domain, None)
        self._votes.full.discard(number)
        return bytes(rows[0][0]) if rows else b""

    def merge(self, domain: str, sources: bytes) -> None:
        """Add what `pop_linkers` gave elsewhere."""
        number = self._number(domain)
        self._votes.store((number, sources[at : at + TAG]) for at in range(0, len(sources), TAG))

    def remembered(self, domain: str) -> int:
        """Return the number of other domains that link to this one, for those who ask again and
        again.
        """
        links = self._known.get(domain)
        if links is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            links = self._known[domain] = self.links_to(domain)
        return links

    def prepare(self) -> Iterator[None]:
        """Write in slices what waits now."""
        return self._votes.prepare()

    def save(self) -> None:
        for _ in self.prepare():
            pass


def _tag(number: int) -> int:
    """Return the low four bytes of a domain's hash, by which a row knows it."""
    return number & 0xFFFF_FFFF
