"""The hosts whose pages sitemaps and feeds announce: their listings, and how far these are right."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import msgpack

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable

LAYOUT = struct.Struct("<4fdf")
OLDER = struct.Struct("<4fd")  # before changes in a row were counted
FADE = 0.98  # what is known loses so much of its weight with each thing that is learned
PRIOR = 1.0  # signals, true and false, that a host is given before anything is known
DOUBT = 0.5  # changes that it may not have announced, though none was found
TRIED = 4.0  # signals that must have been followed before a host is judged
BELIEVED = 0.8  # share of them that must have been true: at a random time, most pages have changed since the last visit
TRY = 8  # signals of one reading of a listing that are followed, of a host that is not judged yet
SILENT = 5  # changes in a row that were not announced: a host that said all does not say anything any more
LEAST = 0.01  # of the changes of a host that never failed are looked for all the same: it may fall silent one day
QUIET = 6.0  # news that its listings should have had, and had none: by chance that is so once in 400 times
AGAIN = 7 * 86_400.0  # seconds after which a host that is not believed is tried with one signal more

LISTINGS = 1000  # of one host that are remembered


@dataclass(slots=True)
class Trust:
    """Counts that fade, so that a host that changes its ways is known by the new ones."""

    true: float = 0.0  # signals after which the page was changed
    false: float = 0.0
    announced: float = 0.0  # changes that a signal told of
    unannounced: float = 0.0
    asked: float = 0.0  # when it was last tried although it was not believed, seconds since 1970
    silent: float = 0.0  # changes in a row that no signal told of
    quiet: float = 0.0  # news that were expected of readings without any, in a row; not saved

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
    def recall(self) -> float:
        """The share of its changes that it announces; none until there is a reason to believe it."""
        return self.announced / (self.announced + self.unannounced + DOUBT)

    @property
    def missed(self) -> float:
        """The share of changes that no signal announces; if signals are not followed, they announce nothing."""
        return max(1.0 - self.recall, LEAST) if self.is_believed and self.silent < SILENT else 1.0

    def worth(self, signals: int, now: float) -> int:
        """The number of these signals that are worth a fetch."""
        if self.is_believed:
            return signals
        if not self.is_judged:
            return min(TRY, signals)
        if not signals or 0.0 <= now - self.asked < AGAIN:
            return 0
        self.asked = now
        return 1

    def signalled(self, *, changed: bool) -> None:
        """A page was fetched because of a signal."""
        self.true, self.false = FADE * self.true + changed, FADE * self.false + (not changed)
        if changed:
            self.tells()

    def tells(self) -> None:
        """It has announced a change, whether that was known or not."""
        self.announced, self.unannounced = FADE * self.announced + 1.0, FADE * self.unannounced
        self.silent = self.quiet = 0.0

    def found(self) -> None:
        """A page that listings name was changed, and no signal had told of it."""
        self.announced, self.unannounced = FADE * self.announced, FADE * self.unannounced + 1.0
        self.silent += 1.0

    def read(self, news: int, expected: float) -> None:
        """A listing had so many news, and should have had so many by those of earlier readings."""
        self.quiet = 0.0 if news else self.quiet + expected
        if self.quiet >= QUIET:
            self.silent = max(self.silent, SILENT)

    def pack(self) -> bytes:
        return LAYOUT.pack(self.true, self.false, self.announced, self.unannounced, self.asked, self.silent)

    @classmethod
    def unpack(cls, data: bytes) -> Trust:
        return cls(*(LAYOUT if len(data) == LAYOUT.size else OLDER).unpack(data))


@dataclass(slots=True)
class Announcer:
    """One host. `listings` are the keys of those that name pages of it with a date, and how many URLs they have."""

    trust: Trust = field(default_factory=Trust)
    listings: dict[int, int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """URLs of all its listings."""
        return sum(self.listings.values())

    def pack(self) -> bytes:
        return bytes(msgpack.packb((self.trust.pack(), self.listings)))

    @classmethod
    def unpack(cls, data: bytes) -> Announcer:
        trust, listings = msgpack.unpackb(data, strict_map_key=False)
        return cls(Trust.unpack(trust), listings)


class Announcers(HostTable[Announcer]):
    """The table `announcer`. None for a host of which no listing was ever heard."""

    def __init__(self, db: CrawlDB) -> None:
        super().__init__(db, "announcer", Announcer, Announcer.unpack)
