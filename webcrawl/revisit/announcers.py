"""What is known of the hosts whose pages sitemaps and feeds announce: their listings, and how far these are right."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

import msgpack

from webcrawl.revisit.trust import Trust
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

LOAD = "SELECT host, data, crc FROM announcer WHERE host = ?"
STORE = "INSERT OR REPLACE INTO announcer VALUES (?, ?, ?)"
CACHED = 4096  # hosts in memory, with and without a row: 2 MB
LISTINGS = 1000  # of one host that are remembered


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


class Announcers:
    """The table `announcer`, and the hosts of it that were asked for last."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        db.need("announcer")
        self._known: OrderedDict[str, Announcer | None] = OrderedDict()  # None: it has no row
        self._changed: set[str] = set()
        db.join(self)

    def __repr__(self) -> str:
        return f"<Announcers cached={len(self._known)} changed={len(self._changed)}>"

    def get(self, host: str) -> Announcer | None:
        """None for a host of which no listing was ever heard."""
        if host in self._known:
            self._known.move_to_end(host)
            return self._known[host]
        rows = self._db.query(LOAD, (host,))
        return self._keep(host, self._read(rows[0]) if rows else None)

    def change(self, host: str) -> Announcer:
        """The same, to be changed at once; a new one if there is none."""
        found = self.get(host)
        if found is None:
            found = Announcer()
            self._keep(host, found)
        self._changed.add(host)
        return found

    def _read(self, row: tuple[str, bytes, int]) -> Announcer:
        if not rowcrc.agrees(checksum, row):
            raise DamagedFile(self._db.path, 0, f"table announcer, {row[0]}: checksum")
        return Announcer.unpack(row[1])

    def _keep(self, host: str, found: Announcer | None) -> Announcer | None:
        self._known[host] = found
        self._known.move_to_end(host)
        while len(self._known) > CACHED:
            old, announcer = self._known.popitem(last=False)
            if old in self._changed and announcer is not None:
                self._changed.discard(old)
                self._write([(old, announcer)])
        return found

    def _write(self, some: list[tuple[str, Announcer]]) -> None:
        packed = [(host, announcer.pack()) for host, announcer in some]
        self._db.executemany(STORE, [(host, data, checksum(host, data)) for host, data in packed])

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        known = [(host, self._known[host]) for host in sorted(self._changed)]
        self._write([(host, announcer) for host, announcer in known if announcer is not None])
        self._changed.clear()


def checksum(host: str, data: bytes) -> int:
    """Of a row."""
    return crc32(data, crc32(host.encode()))
