"""Results of pages that were fetched ahead of their turns, because a signal said that they have changed.

The record of such a page is still in a bucket, and there is no way from a URL to it. So what the fetch found waits
here, by the URL's fingerprint, until the record's turn comes and takes it over. A page that could not be fetched has no
record: of those that may be announced that is noted here too, so that they get one when they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from siphashc import siphash

from webcrawl.crawl.revisit.record import PageRecord, pack, unpack
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

MOST = 1_000_000  # rows; nobody's signals fill the disk
UNDER_WAY = 86_400  # seconds after which a link that was never heard of again is no longer waited for
LACKING = 200_000  # rows beyond which pages without a record are not noted
KEPT = 90 * 86_400  # seconds that a row waits for its record: a page that is not due by then is fetched once more
SIGN = 1 << 63  # SQLite's integers are signed


class Ahead:
    """The table `ahead`. A row is of a page whose link is under way since then, or that was fetched then."""

    def __init__(self, db: CrawlDB, key: bytes) -> None:
        """`key`: of the fingerprints, so that no site can choose two URLs with the same one."""
        db.need("ahead", "ahead_since")
        self._db, self._key = db, key
        self.count = int(db.query("SELECT count(*) FROM ahead")[0][0])

    def __len__(self) -> int:
        return self.count

    def begin(
        self, url: str, path: str, now: float, is_worth: Callable[[PageRecord | None], bool] = lambda _: True
    ) -> PageRecord | None:
        """A record for the link that fetches this page, with the validators of an earlier one; notes it as under way.

        None if such a link is under way, if there are too many rows, or if it is not worth it. Who says so gets what an
        earlier fetch found, if there was one, and may change it: that is kept.
        """
        key = self._fingerprint(url)
        row = self._row(key)
        if row is None and self.count >= MOST:
            return None
        since, found = row or (0, None)
        if since < 0 and now + since < UNDER_WAY:
            return None
        if not is_worth(found):
            if found is not None:
                self._set(key, since, found)
            return None
        self._set(key, -max(1, int(now)), found)
        return found or PageRecord(url, path)

    def last(self, url: str) -> float:
        """The time at which this page was last fetched ahead of its turn; 0 if that is not known."""
        row = self._row(self._fingerprint(url)) if self.count else None
        return row[1].fetched if row is not None and row[1] is not None else 0.0

    def known(self, url: str) -> PageRecord | None:
        """The record of a fetch ahead of this page's turn; None if there was none, or the page was not there."""
        row = self._row(self._fingerprint(url)) if self.count else None
        return row[1] if row is not None and row[1] is not None and row[1].digest else None

    def lack(self, url: str, path: str, now: float) -> None:
        """Notes that this page has no record: it was not there, and never before, or was forgotten."""
        key = self._fingerprint(url)
        if self.count < LACKING and self._row(key) is None:
            self._set(key, int(now), PageRecord(url, path, now, gone=1))

    def gone(self, record: PageRecord, now: float) -> None:
        """Notes that this page, which has a record, was not there in its turn."""
        key = self._fingerprint(record.url)
        row = self._row(key)
        if row is not None or self.count < LACKING:
            since = row[0] if row is not None else int(now)  # a link may be under way still
            # Of what is ahead, shape and span are of signals, and not of changes.
            self._set(key, since, replace(record, shape=0.0, span=0.0, visits=record.visits or 1))

    def fill(self, url: str) -> bool:
        """It gets one, if it has none: then nothing of it stays here."""
        if not self.count:
            return False
        key = self._fingerprint(url)
        row = self._row(key)
        if row is None or row[1] is None or not lacks(row[1]):
            return False
        self._remove(key)
        return True

    def found(self, record: PageRecord) -> None:
        """Takes what came of it: the record of the link, with what its fetch found."""
        self._set(self._fingerprint(record.url), int(record.fetched), record)

    def give_up(self, url: str) -> None:
        """Nothing came of it: the page was not fetched. What an earlier fetch found stays."""
        key = self._fingerprint(url)
        row = self._row(key)
        if row is None:
            return
        if row[1] is None:
            self._remove(key)
        else:
            self._set(key, int(row[1].fetched), row[1])

    def of(self, record: PageRecord, now: float) -> PageRecord | bool:
        """Returns what was found since the record's last fetch, and forgets it here.

        Else whether a link to the page is under way.
        """
        if not self.count:
            return False
        key = self._fingerprint(record.url)
        row = self._row(key)
        if row is None:
            return False
        since, found = row
        if since < 0 and now + since < UNDER_WAY:
            return True
        self._remove(key)
        return found if found is not None and found.fetched > record.fetched else False

    def expire(self, now: float) -> None:
        """Drops rows whose records never came."""
        if self.count:
            before = int(now) - KEPT
            self._db.execute(
                "DELETE FROM ahead WHERE since BETWEEN 0 AND ? OR since BETWEEN ? AND -1", (before, -before)
            )
            self.count = int(self._db.query("SELECT count(*) FROM ahead")[0][0])

    def _fingerprint(self, url: str) -> int:
        number: int = siphash(self._key, url)
        return number - 2 * SIGN if number >= SIGN else number

    def _row(self, key: int) -> tuple[int, PageRecord | None] | None:
        rows = self._db.query("SELECT key, since, data, crc FROM ahead WHERE key = ?", (key,))
        if not rows:
            return None
        _, since, data, _ = rows[0]
        if not rowcrc.agrees(rowcrc.ahead, rows[0]):
            raise DamagedFile(self._db.path, 0, f"table ahead, {key}: checksum")
        try:
            return since, unpack(data) if data else None
        except ValueError as error:
            raise DamagedFile(self._db.path, 0, f"table ahead, {key}: {error}") from error

    def _set(self, key: int, since: int, found: PageRecord | None) -> None:
        data = b"" if found is None else pack(found)
        known = self._db.query("SELECT 1 FROM ahead WHERE key = ?", (key,))
        self.count += not known
        row = (key, since, data)
        self._db.execute("INSERT OR REPLACE INTO ahead VALUES (?, ?, ?, ?)", (*row, rowcrc.ahead(*row)))

    def _remove(self, key: int) -> None:
        self._db.execute("DELETE FROM ahead WHERE key = ?", (key,))
        self.count -= 1


def lacks(found: PageRecord) -> bool:
    """True if what is known of a page that is fetched ahead of its turn is that it has no record."""
    return found.gone > 0 and not found.digest and not found.visits
