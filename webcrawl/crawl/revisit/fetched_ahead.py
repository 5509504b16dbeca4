"""Pages that a signal has fetched ahead of their turns, and what these fetches found.

The record of such a page is still in a queue, and there is no way from a URL to it. So what the
fetch found waits here, by the URL's fingerprint, until the record's turn comes and takes it over. A
page that could not be fetched has no record: of those that may be announced that is noted here too,
so that they get one when they are there.
"""

from __future__ import annotations

from dataclasses import replace

from siphashc import siphash

from webcrawl.crawl.revisit.record import PageRecord, pack, unpack
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

MOST_ROWS = 1_000_000  # rows, so that no site's signals fill the disk
# seconds after which a link that was never heard of again is no longer waited for
UNDER_WAY = 86_400
MOST_ROWS_OF_UNKNOWN = 200_000  # rows beyond which pages without a record are not noted
# seconds that a row waits for its record: a page that is not due by then is fetched once more
KEPT_SECONDS = 90 * 86_400
SIGN = 1 << 63  # SQLite's integers are signed
# `since` of a row: QUEUED while a signal waits in the queue; the time when its link was begun,
# negated, while that is under way; the time of the fetch afterwards
QUEUED = 0


class Ahead:
    """The table `ahead`: a row for each page with a waiting signal, a link under way, or findings.

    A row is a pair here: since when, which also tells the three apart (see QUEUED), and the record
    that the last fetch ahead has left, or None.
    """

    def __init__(self, db: CrawlDB, key: bytes) -> None:
        """`key`: of the fingerprints, so that no site can choose two URLs with the same one."""
        db.need("ahead", "ahead_since")
        self._db = db
        self._key = key
        self.count = int(db.query("SELECT count(*) FROM ahead")[0][0])  # rows

    def __len__(self) -> int:
        return self.count

    def ask(self, url: str, now: float) -> bool:
        """Note that a signal of this page waits; return False if one does, or its link is away.

        False, too, if there are too many rows.
        """
        key = self._fingerprint(url)
        row = self._row(key)
        if row is None:
            if self.count >= MOST_ROWS:
                return False
            self._set(key, QUEUED, None)
            return True
        since, found = row
        if since == QUEUED or _is_under_way(since, now):
            return False
        self._set(key, QUEUED, found)
        return True

    def begin(self, record: PageRecord, now: float) -> PageRecord | None:
        """Return the record for the link of a waiting signal, with an earlier fetch's findings.

        The link counts as under way from now on. None if the page has had its own turn meanwhile.
        """
        key = self._fingerprint(record.url)
        row = self._row(key)
        if row is None:
            return None
        since, found = row
        if since != QUEUED:
            return None
        self._set(key, -max(1, int(now)), found)
        return record if found is None else replace(found, signal=record.signal)

    def asks(self, url: str) -> bool:
        """Return whether a signal of this page waits."""
        row = self._row(self._fingerprint(url)) if self.count else None
        return row is not None and row[0] == QUEUED

    def known(self, url: str) -> PageRecord | None:
        """Return what a fetch ahead of this page's turn found, or None.

        None, too, if the page was not there. The record says nothing of how often the page changes:
        only visits in its own turns are counted.
        """
        row = self._row(self._fingerprint(url)) if self.count else None
        if row is None:
            return None
        found = row[1]
        if found is None or not found.digest:
            return None
        return replace(found, shape=0.0, span=0.0, visits=0, changes=0)

    def lack(self, url: str, path: str, now: float) -> None:
        """Note that this page has no record: it was not there, and never before, or was forgotten."""
        key = self._fingerprint(url)
        if self.count < MOST_ROWS_OF_UNKNOWN and self._row(key) is None:
            self._set(key, int(now), PageRecord(url, path, now, gone=1))

    def gone(self, record: PageRecord, now: float) -> None:
        """Note that this page, which has a record, was not there in its turn."""
        key = self._fingerprint(record.url)
        row = self._row(key)
        if row is not None or self.count < MOST_ROWS_OF_UNKNOWN:
            since = row[0] if row is not None else int(now)  # a link may be under way still
            # With a visit, as `lacks` takes a page without any for one that has no record.
            self._set(key, since, replace(record, visits=record.visits or 1))

    def fill(self, url: str) -> bool:
        """Return whether this page had no record; it gets one now, and nothing of it stays here."""
        key = self._fingerprint(url)
        row = self._row(key) if self.count else None
        if row is None or row[1] is None or not lacks(row[1]):
            return False
        self._remove(key)
        return True

    def found(self, record: PageRecord) -> None:
        """Take the record of a link that has ended, with what its fetch found."""
        self._set(self._fingerprint(record.url), max(1, int(record.fetched)), record)

    def give_up(self, url: str) -> None:
        """Forget a link, or a signal, of which nothing came. What an earlier fetch found stays."""
        key = self._fingerprint(url)
        row = self._row(key) if self.count else None
        if row is None:
            return
        found = row[1]
        if found is None:
            self._remove(key)
        else:
            self._set(key, max(1, int(found.fetched)), found)

    def is_under_way(self, url: str, now: float) -> bool:
        """Return whether a link to this page is under way."""
        row = self._row(self._fingerprint(url)) if self.count else None
        return row is not None and _is_under_way(row[0], now)

    def pop_findings(self, record: PageRecord) -> PageRecord | None:
        """Return what was found since the record's last fetch, and forget all of this page."""
        key = self._fingerprint(record.url)
        row = self._row(key) if self.count else None
        if row is None:
            return None
        self._remove(key)
        found = row[1]
        return found if found is not None and found.fetched > record.fetched else None

    def expire(self, now: float) -> None:
        """Drop rows that are older than KEPT_SECONDS: their records never came.

        A waiting signal has no time, and stays.
        """
        if self.count:
            before = int(now) - KEPT_SECONDS
            # Links under way have their times negated: the old ones are those near 0.
            self._db.execute(
                "DELETE FROM ahead WHERE since BETWEEN 1 AND ? OR since BETWEEN ? AND -1",
                (before, -before),
            )
            self.count = int(self._db.query("SELECT count(*) FROM ahead")[0][0])

    def _fingerprint(self, url: str) -> int:
        number: int = siphash(self._key, url)
        # As a signed integer of 64 bits.
        return number - 2 * SIGN if number >= SIGN else number

    def _row(self, key: int) -> tuple[int, PageRecord | None] | None:
        """Return since when this row holds, and the page's record once it was fetched, or None.

        Raise DamagedFile if the row cannot be read.
        """
        rows = self._db.query("SELECT key, since, data, crc FROM ahead WHERE key = ?", (key,))
        if not rows:
            return None
        _, since, data, _ = rows[0]
        if not rowcrc.agrees(rowcrc.ahead, rows[0]):
            raise DamagedFile(self._db.path, 0, f"table ahead, {key}: wrong checksum")
        try:
            return since, unpack(data) if data else None
        except ValueError as error:
            raise DamagedFile(self._db.path, 0, f"table ahead, {key}: {error}") from error

    def _set(self, key: int, since: int, found: PageRecord | None) -> None:
        data = b"" if found is None else pack(found)
        known = self._db.query("SELECT 1 FROM ahead WHERE key = ?", (key,))
        self.count += not known
        row = (key, since, data)
        self._db.execute(
            "INSERT OR REPLACE INTO ahead VALUES (?, ?, ?, ?)", (*row, rowcrc.ahead(*row))
        )

    def _remove(self, key: int) -> None:
        self._db.execute("DELETE FROM ahead WHERE key = ?", (key,))
        self.count -= 1


def _is_under_way(since: int, now: float) -> bool:
    """Return whether a link is under way since then, and not for too long; `since` as in a row."""
    return since < 0 and now + since < UNDER_WAY


def lacks(found: PageRecord) -> bool:
    """Return whether a page that was fetched ahead of its turn is known to have no record."""
    return found.gone > 0 and not found.digest and not found.visits
