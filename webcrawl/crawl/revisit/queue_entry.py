"""An entry in the queue of revisits: when its turn comes, what that means, and the record of its page.

First 5 bytes of a time, in ticks; then one of the marks below; with TURN 5 more, when the page is due in any case; and
the record (record.py).
"""

from __future__ import annotations

from webcrawl.crawl.revisit.buckets import TIME, stamp, stamped
from webcrawl.crawl.revisit.record import PageRecord, pack, unpack

# The page is due; the policy is to be asked again; a listing is due; or a page whose host announces its changes has a
# turn, which passes while the host is believed.
DUE, ASK, LISTING, TURN = b"\0", b"\1", b"\2", b"\3"
MARKS = frozenset((DUE, ASK, LISTING, TURN))


def entry_of(at: int, mark: bytes, record: PageRecord) -> bytes:
    """Times are in ticks."""
    return stamp(at) + mark + pack(record)


def turn_of(at: int, due: int, packed: bytes) -> bytes:
    """Of a page that is not due before then: its turn at `at`, if that comes before. `packed`: the record."""
    return stamp(due) + DUE + packed if at >= due else stamp(at) + TURN + stamp(due) + packed


def mark_of(entry: bytes) -> bytes:
    return entry[TIME : TIME + 1]


def due_of(entry: bytes) -> int:
    """The time at which a page that has a turn is due in any case."""
    return stamped(entry[TIME + 1 :])


def packed_of(entry: bytes) -> bytes:
    """The record as it was packed."""
    return entry[TIME + 1 + (TIME if mark_of(entry) == TURN else 0) :]


def record_in(entry: bytes) -> PageRecord:
    """ValueError if this is no entry."""
    if mark_of(entry) not in MARKS:
        raise ValueError(f"not a page's record: {entry[:80]!r}")
    return unpack(packed_of(entry))
