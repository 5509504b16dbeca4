"""Listings that are read again: the last version, what a new one changes, and the turn.

A row of the table `listed` has a listing's URLs as sorted 64-bit keys and their dates in 32 bits,
both as columns of bytes, compressed: about 10 bytes per URL with dates at random, and 6 to 8 with
those of real sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from webcrawl.base.zstd_frame import pack_checked, unpack
from webcrawl.crawl.revisit.record import COUNT, PageRecord
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.rowcrc import crc32_of_many

LOAD = "SELECT listing, count, read, keys, dates, crc FROM listed WHERE listing = ?"
STORE = "INSERT OR REPLACE INTO listed VALUES (?, ?, ?, ?, ?, ?)"
MAX_URLS = 50_000  # URLs of one listing: sitemaps.org's limit
# seconds that a date may lie in the future: zones, and dates without a time of day
DATE_TOLERANCE = 86_400.0
LATEST = (1 << 32) - 1
HALF = 1 << 63  # SQLite's integers are signed

Keys = NDArray[np.uint64]
Dates = NDArray[np.uint32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Compared:
    """Positions among the entries that were given, in their order."""

    first: bool  # nothing was known of this listing
    new: Positions
    newer: Positions  # known before, with an older date
    kept: int  # URLs that are known of it now


def date_stamp(modified: float | None, now: float) -> int:
    """Return a date as it is stored: 0 if there is none, or if it lies in the future."""
    if modified is None or not 1 <= modified <= min(now + DATE_TOLERANCE, LATEST):
        return 0
    return int(modified)


class Listed:
    """The table `listed`.

    Time is seconds since 1970; a key stands for a URL as the listing writes it.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        db.need("listed")

    def compare(
        self,
        listing: int,
        keys: Sequence[int],
        dates: Sequence[int],
        now: float,
        *,
        whole: bool = True,
        room: int = MAX_URLS,
        most: int = MAX_URLS,
    ) -> Compared:
        """Return what these entries of a listing say that it did not say before, and keep them.

        `whole`: what is missing among them is listed no more. URLs beyond `room` are not kept. Of
        more than `most` newer ones the latest are returned, and the others the next time.
        """
        was_keys, was_dates, read = self._load(listing)
        # `places`: where each of the sorted keys stands among the entries that were given.
        now_keys, now_dates, places = _sorted(keys, dates)
        # Where each key is among the known ones, if it is one. What would come after the last of
        # them is looked for in the first place, where it is not either.
        at = np.searchsorted(was_keys, now_keys)
        at[at == len(was_keys)] = 0
        known = was_keys[at] == now_keys if len(was_keys) else np.zeros(len(now_keys), bool)
        before = was_dates[at] if len(was_keys) else np.zeros(len(now_keys), np.uint32)
        # What had no date has changed since if it has one now that is later than our last look.
        since = np.where(before > 0, before, np.uint32(min(max(read, 0), LATEST)))
        newer = known & (now_dates > since)
        beyond = int(newer.sum()) - most
        if beyond > 0:
            # The oldest of them wait for the next time.
            by_date = np.argsort(now_dates[newer], kind="stable")
            later = np.flatnonzero(newer)[by_date[:beyond]]
            newer[later] = False
            # With their old dates: else these dates would never be news again.
            now_dates[later] = since[later]
        first = read < 0
        if not whole and known.sum() < len(was_keys):
            now_keys, now_dates = _joined(was_keys, was_dates, now_keys, now_dates)
        size = min(room, MAX_URLS)
        kept = self._store(listing, now_keys[:size], now_dates[:size], now)
        return Compared(first, np.sort(places[~known]), np.sort(places[newer]), kept)

    def holds(self, listing: int, keys: Sequence[int]) -> list[bool]:
        known, _, _ = self._load(listing)
        found: list[bool] = np.isin(np.asarray(keys, np.uint64), known).tolist()
        return found

    # -- rows

    def _load(self, listing: int) -> tuple[Keys, Dates, int]:
        """Return keys, dates, and when they were read; -1 if never."""
        rows = self._db.query(LOAD, (listing - HALF,))
        if not rows:
            return np.empty(0, np.uint64), np.empty(0, np.uint32), -1
        row = rows[0]
        if not rowcrc.agrees(checksum, row):
            raise self._damaged(listing, "wrong checksum")
        _, count, read, keys, dates, _ = row
        deltas = self._columns(listing, count, keys, 8).view(np.uint64)
        return (
            np.cumsum(deltas, dtype=np.uint64),
            self._columns(listing, count, dates, 4).view(np.uint32),
            read,
        )

    def _store(self, listing: int, keys: Keys, dates: Dates, now: float) -> int:
        """Store a listing's sorted keys and their dates; return how many these are."""
        deltas = np.diff(keys, prepend=np.uint64(0))
        key_data, date_data = (pack_checked(_planes(column)) for column in (deltas, dates))
        row = (listing - HALF, len(keys), int(now), key_data, date_data)
        self._db.execute(STORE, (*row, checksum(*row)))
        return len(keys)

    def _columns(self, listing: int, count: int, data: bytes, width: int) -> NDArray[np.uint8]:
        """Return the bytes of a column of this listing's row. Raise DamagedFile for others."""
        try:
            return columns(count, data, width)
        except ValueError as error:
            raise self._damaged(listing, str(error)) from error

    def _damaged(self, listing: int, why: str) -> DamagedFile:
        return DamagedFile(self._db.path, 0, f"table listed, {listing - HALF}: {why}")


def columns(count: int, data: bytes, width: int) -> NDArray[np.uint8]:
    """Return the bytes of `count` numbers, each of `width` bytes, in their order.

    `data`: as `_planes` has ordered them, packed. Raise ValueError if it is of another number.
    """
    planes = np.frombuffer(unpack(data, MAX_URLS * width), np.uint8)
    if len(planes) != count * width:
        raise ValueError("wrong number of keys")
    return np.ascontiguousarray(planes.reshape(width, count).T).reshape(-1)


def checksum(listing: int, count: int, read: int, keys: bytes, dates: bytes) -> int:
    return crc32_of_many(dates, crc32_of_many(keys, crc32(b"%d %d %d" % (listing, count, read))))


def _sorted(keys: Sequence[int], dates: Sequence[int]) -> tuple[Keys, Dates, Positions]:
    """Return each key once, with its latest date, and where it stands."""
    all_keys, all_dates = np.asarray(keys, np.uint64), np.asarray(dates, np.uint32)
    places = np.lexsort((all_dates, all_keys))
    all_keys = all_keys[places]
    last = np.ones(len(all_keys), bool)
    last[:-1] = all_keys[1:] != all_keys[:-1]
    places = places[last]
    return all_keys[last], all_dates[places], places


def _joined(was_keys: Keys, was_dates: Dates, keys: Keys, dates: Dates) -> tuple[Keys, Dates]:
    """Return the keys of both with their dates; of a key in both, the date of the latter counts."""
    # `unique` gives the first place of each key, so that the latter ones have to come first.
    both, at = np.unique(np.concatenate((keys, was_keys)), return_index=True)
    return both, np.concatenate((dates, was_dates))[at]


def _planes(column: Keys | Dates) -> bytes:
    """Return all first bytes, then all second ones: leading zeros and years are equal."""
    return np.ascontiguousarray(column).view(np.uint8).reshape(-1, column.itemsize).T.tobytes()


# -- when a listing is read again
#
# A reading every D seconds costs 1 / D fetches per second, and lets the news that come every `gap`
# seconds wait for D / 2 on average. A fetch is worth what it is worth elsewhere, about the time of
# a round of all pages. So the best D is near the geometric mean of the two: a listing with much
# news is read often, and many news come with each reading. How often the listing changes itself
# does not matter.
#
# Of a listing's record, `shape` is what its readings brought, of which the latest count most, and
# `span` the seconds that this took.

HOUR = 3600.0  # seconds between two readings of listings of one host at least
# the same at most, of one that brings nothing; or a round, if that takes longer
WEEK = 7 * 86_400.0
# and this in any case: a budget of nothing may be one of something soon
LONGEST_INTERVAL = 30 * 86_400.0
KEEP = 0.9  # what is known of a listing loses the rest of its weight with each reading
PRIOR = 0.5  # news that a listing is given before anything is known, in so many rounds


def learn_reading(record: PageRecord, seconds: float, brought: int, *, changed: bool) -> None:
    """Note a reading, so long after the last one, that `brought` pages worth a fetch, or new."""
    record.shape = KEEP * record.shape + brought
    record.span = KEEP * record.span + max(seconds, 0.0)
    record.visits = min(record.visits + 1, COUNT)
    record.changes = min(record.changes + changed, COUNT)


def wait_of_listing(record: PageRecord, a_round: float, least: float = HOUR) -> float:
    """Return the seconds until the next reading.

    `a_round`: those in which all pages are fetched once.
    """
    a_round = min(a_round, LONGEST_INTERVAL)
    # seconds from one of the listing's news to the next
    gap = (record.span + PRIOR * a_round) / (record.shape + PRIOR)
    return min(max(sqrt(gap * a_round / 2), least), max(WEEK, a_round, least))
