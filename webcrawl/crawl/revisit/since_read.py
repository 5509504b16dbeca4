"""Results of visits to listed pages since their listings were read.

When a listing is read again, some of its later dates are of changes that a visit has found meanwhile. They are no news:
a fetch would find nothing, and that would be no lie of the site's. But they tell that such a change is announced; and
of a change that was found, and that no listing of its page tells of when it is read again, that it is not.
"""

from __future__ import annotations

from struct import Struct

import msgpack

# Pages of listings that are remembered, a page of two listings twice: 10 MB. If there are more, a listing is settled.
MOST = 50_000
PATIENCE = 30 * 86_400.0  # seconds after which a listing that was not read again has told of nothing
DAY = 86_400
_ROW = Struct("<2Qd")
_PAGE = Struct("<Qd?BI")


class Visit:
    """The last fetch of a page that is noted."""

    __slots__ = ("at", "changed", "host", "left", "listings")

    def __init__(self, at: float, host: str, *, changed: bool = False, left: int = 0) -> None:
        self.at = at  # seconds since 1970
        self.host = host
        self.changed = changed  # one of the fetches since then has found a change, of which earlier dates tell
        self.left = left  # listings that have not been read since it found a change; 0: none may tell of one any more
        self.listings = 0  # in which it is noted


class SinceRead:
    """Pages and listings are keys. Part of the checkpoint: a crawl may run for an hour each night."""

    def __init__(self, saved: bytes = b"") -> None:
        self._visits: dict[int, Visit] = {}
        self._pages: dict[int, dict[int, float]] = {}  # by listing: its pages, and when each was noted first
        self.count = 0
        self.is_stale = False  # differs from what was saved last
        if saved:
            self._restore(saved)

    def note(self, page: int, listings: list[int], host: str, at: float, *, changed: bool, may_be_told: bool) -> None:
        """A page of these listings was fetched. `may_be_told`: it was changed, and they may tell of that yet."""
        visit = self._visits.get(page)
        if visit is None:
            visit = self._visits[page] = Visit(at, host)
        visit.at, visit.changed = at, visit.changed or changed
        if may_be_told:
            visit.left = len(listings)
        for listing in listings:
            self._put(listing, page, at)
        self.is_stale = True

    def _put(self, listing: int, page: int, at: float) -> None:
        pages = self._pages.setdefault(listing, {})
        if page not in pages:
            pages[page] = at
            self._visits[page].listings += 1
            self.count += 1

    def overdue(self, at: float) -> int | None:
        """A listing that is to be taken although it was not read, or None."""
        for listing, pages in self._pages.items():  # the first one is the one that was not read for the longest
            return listing if self.count > MOST or at - next(iter(pages.values())) > PATIENCE else None
        return None

    def of(self, page: int) -> Visit | None:
        """The note about a page."""
        return self._visits.get(page)

    def take(self, listing: int) -> list[Visit]:
        """Those of its pages, for it was read again."""
        pages = self._pages.pop(listing, {})
        found = [self._visits[page] for page in pages]
        self.count -= len(found)
        self.is_stale = self.is_stale or bool(found)
        for page, visit in zip(pages, found, strict=True):
            visit.listings -= 1
            if not visit.listings:
                del self._visits[page]
        return found

    # -- the checkpoint

    def save(self) -> bytes:
        self.is_stale = False
        names = dict.fromkeys(visit.host for visit in self._visits.values())
        hosts = {host: number for number, host in enumerate(names)}
        visits = (
            _PAGE.pack(page, one.at, one.changed, one.left, hosts[one.host]) for page, one in self._visits.items()
        )
        rows = (_ROW.pack(one, page, at) for one, pages in self._pages.items() for page, at in pages.items())
        return bytes(msgpack.packb(([*hosts], b"".join(visits), b"".join(rows))))

    def _restore(self, saved: bytes) -> None:
        hosts, visits, rows = msgpack.unpackb(saved)
        for page, at, changed, left, host in _PAGE.iter_unpack(visits):
            self._visits[page] = Visit(at, hosts[host], changed=changed, left=left)
        for listing, page, at in _ROW.iter_unpack(rows):
            self._put(listing, page, at)


def is_after(date: int, at: float) -> bool:
    """True if a change with this date may be later than a fetch; a date without a time of day is a whole day."""
    return date + (0 if date % DAY else DAY) > at
