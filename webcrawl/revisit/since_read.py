"""What was fetched of listed pages since their listings were read.

When a listing is read again, its later dates announce some changes that a visit has found meanwhile. They are no news,
and the fetch that they would lead to finds nothing. But they tell that such a change would have been announced.
"""

from __future__ import annotations

from typing import NamedTuple

MOST = 50_000  # pages that are remembered; if there are more, those of one listing are forgotten
DAY = 86_400


class Visit(NamedTuple):
    """The last fetch of a page."""

    at: float  # seconds since 1970
    host: str
    is_open: bool  # it found a change that its listing may still announce


class SinceRead:
    """In memory only: after a restart some signals lead to fetches that find nothing."""

    def __init__(self) -> None:
        self._visits: dict[int, dict[int, Visit]] = {}  # by listing and page, both as keys
        self.count = 0

    def __repr__(self) -> str:
        return f"<SinceRead {self.count} of {len(self._visits)} listings>"

    def note(self, listing: int, page: int, visit: Visit) -> None:
        """A page of this listing was fetched."""
        pages = self._visits.setdefault(listing, {})
        before = pages.get(page)
        if before is None:
            self.count += 1
        elif before.is_open:
            visit = visit._replace(is_open=True)
        pages[page] = visit
        while self.count > MOST:
            self.take(next(iter(self._visits)))

    def take(self, listing: int) -> dict[int, Visit]:
        """By page, for the listing is read now."""
        found = self._visits.pop(listing, {})
        self.count -= len(found)
        return found


def is_after(date: int, at: float) -> bool:
    """Whether a change with this date may be later than a fetch; a date without a time of day is a whole day."""
    return date + (0 if date % DAY else DAY) > at
