"""The table `robots`: the rules of hosts' robots.txt files, kept as long as they may be needed."""

from __future__ import annotations

from collections.abc import Iterator

from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

META = "robots.swept"
SWEPT = 256  # rows examined per sweep: 0.1 ms, or 0.5 if all are removed
LOAD = "SELECT origin, until, rules, crc FROM robots WHERE origin = ?"
STORE = "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)"
NEXT = "SELECT origin, until FROM robots WHERE origin > ? ORDER BY origin LIMIT ?"
OF_HOST = "SELECT origin FROM robots WHERE origin = ? OR (origin > ? AND origin < ?) LIMIT ?"
SCHEMES = ("http", "https", "ftp")  # RFC 9309 2.3
REMOVE = "DELETE FROM robots WHERE origin = ?"


class RobotsRows:
    """Rules by origin (scheme, host and port).

    Sweeps go round the table and examine two rows for each row written. So expired rows never outnumber valid ones,
    however many hosts a crawl meets.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db, self._due = db, 0
        self._place = (db.get(META) or b"").decode()  # the last row examined
        db.join(self)

    def robots(self, origin: str) -> tuple[float, bytes] | None:
        """The time at which the rules expire, and the rules; None if there are none."""
        rows = self._db.query(LOAD, (origin,))
        if rows and not rowcrc.agrees(rowcrc.robots, rows[0]):
            raise DamagedFile(self._db.path, 0, f"table robots, {origin}: checksum")
        return rows[0][1:3] if rows else None

    def origins(self, host: str, most: int) -> list[str]:
        """Schemes and ports of a host whose rules are here."""
        found: list[str] = []
        for scheme in SCHEMES:
            origin = f"{scheme}://{host}"
            found += [name for (name,) in self._db.query(OF_HOST, (origin, f"{origin}:", f"{origin};", most))]
        return found[:most]

    def set_robots(self, origin: str, until: float, rules: bytes) -> None:
        self._db.execute(STORE, (origin, until, rules, rowcrc.robots(origin, until, rules)))
        self._due += 2

    def sweep(self, before: float) -> None:
        """Removes rows that expired before `before`; does nothing until enough rows were written."""
        if self._due < SWEPT:
            return
        self._due = 0
        rows = self._db.query(NEXT, (self._place, SWEPT))
        self._place = rows[-1][0] if len(rows) == SWEPT else ""
        self._db.executemany(REMOVE, [(origin,) for origin, until in rows if until < before])

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._db.set(META, self._place.encode())
