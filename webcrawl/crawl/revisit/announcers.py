"""The hosts whose pages sitemaps and feeds announce: their listings, and how often their signals were true."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random

import msgpack

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable

LAYOUT = struct.Struct("<2f")
FADE = 0.98  # what is known loses so much of its weight with each thing that is learned
PRIOR = 1.0  # signals, true and false, that a host is given before anything is known
TRIED = 4.0  # signals that must have been followed before a host is judged
BELIEVED = 0.8  # share of them that must have been true: at a random time, most pages have changed since the last visit
TRY = 8  # signals of one reading of a listing that are followed, of a host that is not judged yet
AGAIN = 0.1  # of the readings and pushes of a host that is not believed: after so many, one signal is followed

LISTINGS = 1000  # of one host that are remembered


@dataclass(slots=True)
class Announcer:
    """One host. `listings` are the keys of those that name pages of it with a date, and how many URLs they have.

    Signals that were true or false fade, so that a host that changes its ways is known by the new ones.
    """

    true: float = 0.0  # signals after which the page was changed
    false: float = 0.0
    listings: dict[int, int] = field(default_factory=dict)

    @property
    def tried(self) -> float:
        return self.true + self.false

    @property
    def precision(self) -> float:
        """The share of its signals that are true."""
        return (self.true + PRIOR) / (self.tried + 2 * PRIOR)

    @property
    def is_judged(self) -> bool:
        """True if enough is known of it."""
        return self.tried >= TRIED

    @property
    def is_believed(self) -> bool:
        """True if a signal is worth a fetch."""
        return self.is_judged and self.precision >= BELIEVED

    @property
    def entries(self) -> int:
        """URLs of all its listings."""
        return sum(self.listings.values())

    def worth(self, signals: int, random: Random) -> int:
        """The number of these signals, of one reading or push, that are worth a fetch."""
        if self.is_believed:
            return signals
        if not self.is_judged:
            return min(TRY, signals)
        return min(1, signals) if random.random() < AGAIN else 0

    def signalled(self, *, changed: bool) -> None:
        """A page was fetched because of a signal."""
        self.true = FADE * self.true + changed
        self.false = FADE * self.false + (not changed)

    def pack(self) -> bytes:
        return bytes(msgpack.packb((LAYOUT.pack(self.true, self.false), self.listings)))

    @classmethod
    def unpack(cls, data: bytes) -> Announcer:
        """The inverse; in states of earlier crawls more follows the two numbers."""
        counts, listings = msgpack.unpackb(data, strict_map_key=False)
        true, false = LAYOUT.unpack_from(counts)
        return cls(true, false, listings)


class Announcers(HostTable[Announcer]):
    """The table `announcer`. None for a host of which no listing was ever heard."""

    def __init__(self, db: CrawlDB) -> None:
        super().__init__(db, "announcer", Announcer, Announcer.unpack)
