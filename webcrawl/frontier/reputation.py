"""Who links to whom, by registered domain: IRLbot's reputation, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from siphashc import siphash

from webcrawl.frontier.votes import TAG, Votes
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.hosts import host_of

PLACE = 8  # bytes of a pair in the filter
SCHEME = 9  # a slash from here on ends the host of a URL; one that ends a shorter URL's host earlier is passed over
KNOWN = 1 << 12  # domains whose links are remembered for the prioritizer
NUMBERED = 1 << 14  # hosts whose domains' numbers are remembered, 250 bytes each
LOAD = "SELECT sources FROM linked WHERE domain = ?"


class Reputation:
    """Hears the links of every page; knows for each domain how many others link to it.

    Most pairs of source and target come again and again: a filter of recent pairs drops those at 0.1 us each.
    """

    def __init__(self, db: CrawlDB, domain_of: Callable[[str], str], key: bytes, memory: int) -> None:
        """Half of `memory` bytes is for the filter, which forgets at each start, half for votes that wait."""
        self._db, self._domain_of, self._key = db, domain_of, key
        places = 1 << max(4, memory // 2 // PLACE).bit_length() - 1
        self._pairs = array("q", bytes(PLACE * places))
        self._mask = places - 1
        self._number_at = lru_cache(NUMBERED)(lambda url: self._number(domain_of(host_of(url))))
        self._votes = Votes(db, memory // 2, self._written)
        self._known: dict[str, int] = {}
        self.grown = False  # links were written; set to False by whoever is about to look at all domains
        self.elsewhere: Callable[[str, str], bool] | None = None  # takes domain and URL, if they are for another drone

    def __repr__(self) -> str:
        return f"<Reputation {self._votes!r}>"

    def heard(self, page: str, urls: Sequence[str]) -> None:
        """A page links to these canonical URLs. Those of its own host cost one comparison each."""
        own = page[: page.find("/", page.find("//") + 2) + 1]
        size = len(own)
        others = [url for url in urls if url[:size] != own]  # startswith takes 1.5 times as long
        if not others:
            return
        pairs, mask, fresh = self._pairs, self._mask, []
        for other in {url[: url.find("/", SCHEME) + 1] for url in others}:
            pair = hash((own, other))
            if pairs[pair & mask] != pair:
                pairs[pair & mask] = pair
                fresh.append(other)
        if fresh:
            self._vote(own, fresh)

    def _vote(self, own: str, others: Sequence[str]) -> None:
        number_at, full, elsewhere = self._number_at, self._votes.full, self.elsewhere
        source = number_at(own)
        if elsewhere is not None:
            domain = self._domain_of(host_of(own))
            others = [url for url in others if number_at(url) == source or not elsewhere(domain, url)]
        targets = [number for number in map(number_at, others) if number != source and number not in full]
        if targets:
            self._votes.add(targets, _tag(source))

    def vote(self, source: str, target: str) -> None:
        """A page of one registered domain links to another one."""
        self._votes.add([self._number(target)], _tag(self._number(source)))

    def _number(self, domain: str) -> int:
        return int(siphash(self._key, domain)) - 2**63  # SQLite's integers are signed

    def _written(self) -> None:
        self.grown = True
        self._known.clear()

    @property
    def waits(self) -> bool:
        """Whether links were heard that are not yet written."""
        return len(self._votes) > 0

    def links_to(self, domain: str) -> int:
        """How many other domains link to this one, as far as it is written; no more than MOST are counted."""
        rows = self._db.query(LOAD, (self._number(domain),))
        return len(rows[0][0]) // TAG if rows else 0

    def take(self, domain: str) -> bytes:
        """Removes and returns what is written of those that link to a domain; `save` writes the rest first."""
        number = self._number(domain)
        rows = self._db.query(LOAD, (number,))
        self._db.execute("DELETE FROM linked WHERE domain = ?", (number,))
        self._known.pop(domain, None)
        self._votes.full.discard(number)
        return bytes(rows[0][0]) if rows else b""

    def merge(self, domain: str, sources: bytes) -> None:
        """Adds what `take` gave elsewhere."""
        number = self._number(domain)
        self._votes.store((number, sources[at : at + TAG]) for at in range(0, len(sources), TAG))

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
        return self._votes.prepare()

    def save(self) -> None:
        for _ in self.prepare():
            pass


def _tag(number: int) -> int:
    """The low four bytes of a domain's hash, by which a row knows it."""
    return number & 0xFFFF_FFFF
