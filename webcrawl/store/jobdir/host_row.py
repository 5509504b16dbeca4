"""A row of the table `host`: the memory of one host, and the words for its states."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from itertools import chain
from typing import Any, NamedTuple, Protocol

import msgpack

from webcrawl.base.model import Packed, Status
from webcrawl.store import rowcrc
from webcrawl.store.jobdir.queue_row import count_of
from webcrawl.store.jobdir.snapshot import Snapshot

COLUMNS = "name, state, data, crc"
ALL = f"SELECT {COLUMNS} FROM host"
# The types of the fields in a row's `data`, in their order
FIELDS = (float, list, float, int, int, int, str, list, list | None, float | None, bytes | None)
# likewise of its failures in a row; older rows lack the last ones
FAILED = (float, float, int, int, bool, int, float, float, list)
# and of the fields behind these, which only some rows have
MORE = (list | bytes, list | None, bytes, bool, list | None, list)
# how many of MORE a row may have: not two, as block_pages and missing came together
FURTHER_FIELDS = (0, 1, 3, 4, 5, 6)
ORIGIN = (int, str, float, int, int, list | None, list, bytes | None, list)  # one of its origins
BLOCK_PAGES = (str, float, int, tuple)
LISTED = (int, bool, float, list, list)
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, struct.error)
Row = tuple[str, int, bytes, int]
PLAIN_FIELDS = 8  # fields of a FailedRow that are numbers; behind them are `errors_in_a_row`
RETRIES_PLACE = 7  # the index of the retries in `data`
ORIGINS_PLACE = len(FIELDS) + 5  # the index of the origins, the last of MORE
FAILED_PLACE = len(FIELDS) - 3  # the index of the failures in a row


class HostState(IntEnum):
    """The place of a host; the numbers are stored in the database.

    frontier/host_state.py has the ways between them.
    """

    # is on its way to another crawl of the hive, or has come from one and is not yet ours
    # (host_handover.py)
    MOVING = -3
    DEFERRED = -2  # its next turn is far away: waits on disk, with its URLs (deferred_hosts.py)
    PARKED = -1  # gave way to other hosts, with URLs in its queue
    IDLE = 0  # has nothing to fetch
    ACTIVE = 1  # in the back-end: scheduled, or with a request in flight


STATES = {int(state): state for state in HostState}  # ten times as fast as State(number)
PLACES = {
    HostState.MOVING: "on its way to another drone",
    HostState.DEFERRED: "deferred",
    HostState.PARKED: "waits for a place",
    HostState.IDLE: "nothing queued",
    HostState.ACTIVE: "waits for its turn",
}


class Health(Enum):
    """The health of a host, in the one word that every command has for it."""

    HEALTHY = "healthy"  # its last answer was one
    FAILING = "failing"  # it is tried at growing intervals, in its place
    DEFERRED = "deferred"  # the same, but its URLs wait on disk: one is tried at each of them
    SPENT = "spent"  # it has given all its pages: HOST_MAX_PAGES
    GIVEN_UP = "given up"  # its URLs end, because it was away for too long
    # it answers with block pages only: it is deferred, and one URL is tried at growing intervals
    BLOCKED = "blocked"


class HostLike(Protocol):
    """A host, in memory or as a row."""

    @property
    def failures(self) -> int:
        """Return the number of failures since the last success."""

    @property
    def retired(self) -> int:
        """Return the Status with which all URLs of the host end; 0 if they do not."""

    @property
    def pages(self) -> int:
        """Return the number of pages that the host has given."""

    @property
    def block_pages(self) -> BlockPageRow | None:
        """Return the record of the host's block pages in a row; None if it shows none."""


MIN_BLOCK_PAGES = 3  # in a row: a host that has given pages before is blocked


class BlockPageRow(NamedTuple):
    """The block pages of one host, while it gives nothing else; stored with the host."""

    vendor: str
    since: float
    answers: int  # in a row
    # the links that got one before the host was known to be blocked
    waiting_links: tuple[Packed, ...] = ()


def is_blocked(host: HostLike) -> bool:
    """Return whether a host answers with block pages only."""
    if host.block_pages is None:
        return False
    # The first answer decides for a host that has given no page yet
    return host.block_pages.answers >= MIN_BLOCK_PAGES or not host.pages


def given_up(host: HostLike) -> bool:
    """Return whether all URLs of the host end because it was away for too long."""
    return host.retired not in (0, Status.HOST_BUDGET)


def health_of(host: HostLike, max_failures: int) -> Health:
    """Return the health of this host now.

    After `max_failures` in a row it is deferred: HOST_MAX_FAILURES.
    """
    if given_up(host):
        return Health.GIVEN_UP
    if host.failures:
        return Health.DEFERRED if host.failures >= max_failures else Health.FAILING
    if is_blocked(host):
        return Health.BLOCKED
    return Health.SPENT if host.retired else Health.HEALTHY


class FailedRow(NamedTuple):
    """The failures in a row of one host, beside their number; stored with it."""

    at: float  # when the last one was
    away: float  # seconds for which the host was away, as far as we have looked
    status: int  # that all its URLs end with if the host is given up now
    only: int  # a checksum of the URL that alone has failed; 0: there were several
    # it was never reached, and the name servers say that there is no such name, or none that may be
    # requested
    gone: bool
    # a checksum of the only scheme and port that have failed; 0: there were several, -1: none yet
    origin: int = 0
    planned: float = 0.0  # seconds for which it was to be left alone after that
    retry_after: float = 0.0  # of these, what it has demanded itself
    # Before it fails: checksums of the URLs that its last answers, all of them errors, were charged
    # to; negative if the URL had been charged before (health.py)
    errors_in_a_row: tuple[int, ...] = ()


def stored_row(fields: Iterable[Any]) -> FailedRow:
    """Return the row that was stored with these fields, or sent by another drone."""
    known = [*fields]
    # `errors_in_a_row` is a tuple, where msgpack has lists alone. Older rows have no such field
    known[PLAIN_FIELDS:] = map(tuple, known[PLAIN_FIELDS:])
    return FailedRow(*known)


class OriginRow(NamedTuple):
    """One origin of a host, which fails or waits while others may be requested; stored with the host."""

    key: int  # a checksum of scheme, host and port; SHARED if several have this record together
    origin: str  # scheme, host and port; empty if several share it
    ready_at: float  # no request before this time
    failures: int
    retired: int
    failed: FailedRow | None
    later: list[tuple[float, Packed]]  # when to retry, and what
    queue: bytes | None
    ranked: list[tuple[int, bytes]]


def stored_origin(fields: Iterable[Any]) -> OriginRow:
    key, origin, ready_at, failures, retired, failed, later, queue, ranked = fields
    row = stored_row(failed) if failed is not None else None
    retries = sorted((at, record) for at, record in later)
    return OriginRow(
        key, origin, ready_at, failures, retired, row, retries, queue, saved_queues(ranked)
    )


class HostRow(NamedTuple):
    """A row as the last checkpoint has it; all after the state is packed in `data`, in this order."""

    name: str
    state: HostState
    ready_at: float  # no request before this time
    times: list[float]  # the last five downloads, seconds
    crawl_delay: float
    failures: int
    pages: int
    retired: int
    ip: str
    later: list[tuple[float, Packed]]  # when to retry, and what
    failed: FailedRow | None
    deferred_until: float  # when it comes back, while it is DEFERRED
    queue: bytes | None
    # its queues by priority: above 0 before the queue, below 0 after it
    ranked: list[tuple[int, bytes]]
    block_pages: BlockPageRow | None = None
    # what it shows for a URL that cannot exist, if it says that this is a page
    missing: bytes = b""
    http2: bool = False  # it speaks nothing else
    listed: list[Any] | None = None  # what its sitemaps have brought (frontier/host_queues.py)
    # those that fail or wait alone; their retries are among the host's, too
    origins: Sequence[OriginRow] = ()

    @property
    def queues(self) -> list[bytes]:
        """Return its saved queues, as they are served; then those of its origins."""
        parts: list[HostRow | OriginRow] = [self, *self.origins]
        return [saved for part in parts for saved in _in_serving_order(part.queue, part.ranked)]

    @property
    def waiting(self) -> int:
        """Return the number of its URLs, with those in flight."""
        return len(self.later) + sum(map(count_of, self.queues))

    @property
    def due(self) -> float:
        """Return the time before which no request is made."""
        return max(self.ready_at, self.deferred_until)


def _in_serving_order(queue: bytes | None, ranked: Iterable[tuple[int, bytes]]) -> list[bytes]:
    """Return the saved queues in the order in which they are served."""
    queues = [*ranked]
    # The plain queue has the priority 0, which no other queue has
    if queue is not None:
        queues.append((0, queue))
    queues.sort(key=lambda one: one[0], reverse=True)
    return [saved for _, saved in queues]


# Packs the fields as FIELDS has them; then queues by priority, block_pages, missing, http2, listed and
# origins, if there are any.
pack: Callable[[tuple[Any, ...]], bytes] = msgpack.packb


def unpack(data: bytes) -> tuple[Any, ...]:
    """Return the fields of a HostRow behind its state, from the packed `data` of a row.

    Fields that older rows lack get their defaults. Raise one of UNREADABLE if these are none.
    """
    (
        ready_at,
        times,
        crawl_delay,
        failures,
        pages,
        retired,
        ip,
        later,
        failed,
        deferred_until,
        queue,
        *later_fields,
    ) = msgpack.unpackb(data)
    # Each version of the program has added fields at the end, which older rows lack
    ranked = saved_queues(*later_fields[:1])
    block_pages, missing = later_fields[1:3] or (None, b"")  # these two came together
    is_http2 = later_fields[3:4] == [True]
    listed = later_fields[4] if len(later_fields) > 4 else None
    origins = [*map(stored_origin, later_fields[5])] if len(later_fields) > 5 else []
    if later:
        later = sorted((at, record) for at, record in later)
    failed_row = stored_row(failed) if failed is not None else None
    plain_fields = ready_at, times, crawl_delay, failures, pages, retired, ip
    return (
        *(*plain_fields, later, failed_row, deferred_until or 0.0, queue),
        *(ranked, stored_block_pages(block_pages), missing, is_http2, listed, origins),
    )


def stored_block_pages(fields: Iterable[Any] | None) -> BlockPageRow | None:
    """Return the row that was stored with these fields, or sent by another drone."""
    if fields is None:
        return None
    vendor, since, answers, waiting_links = fields
    return BlockPageRow(vendor, since, answers, tuple(waiting_links))


def saved_queues(ranked: Iterable[tuple[int, bytes]] | bytes = ()) -> list[tuple[int, bytes]]:
    """Return a host's queues by priority, as its row has them.

    Earlier rows of this version have one for all above 0.
    """
    if isinstance(ranked, bytes):
        return [(1, ranked)]
    return [(priority, saved) for priority, saved in ranked]


def read(row: Row) -> HostRow:
    """Return the fields of a row, with the retries of its origins among its own.

    Raise ValueError if the row is damaged.
    """
    name, number, data, _ = row
    if not rowcrc.agrees(rowcrc.host, row):
        raise ValueError("wrong checksum")
    if number not in STATES:
        raise ValueError(f"{number} is not a valid State")
    try:
        fields = unpack(data)
    except UNREADABLE as error:
        raise ValueError(repr(error)) from error
    if origins := fields[-1]:
        retries = [*fields[RETRIES_PLACE], *chain.from_iterable(one.later for one in origins)]
        fields = (*fields[:RETRIES_PLACE], sorted(retries), *fields[RETRIES_PLACE + 1 :])
    return HostRow(name, STATES[number], *fields)


def check(row: Row) -> HostRow:
    """Return the row's fields. Raise ValueError if anything in the row is wrong."""
    found = read(row)
    values = msgpack.unpackb(row[2])
    for words, has_flaw in FLAWS:
        if has_flaw(found, values):
            raise ValueError(words)
    return found


def _has_other_fields(_: HostRow, values: list[Any]) -> bool:
    further = len(values) - len(FIELDS)
    return further not in FURTHER_FIELDS or not _have_types(values, (*FIELDS, *MORE))


def _has_bad_block_pages(found: HostRow, _: list[Any]) -> bool:
    return found.block_pages is not None and not _have_types(found.block_pages, BLOCK_PAGES)


def _has_bad_listed(found: HostRow, _: list[Any]) -> bool:
    return found.listed is not None and not _have_types(found.listed, LISTED)


def _has_bad_origins(found: HostRow, values: list[Any]) -> bool:
    return bool(found.origins) and not all(map(_is_origin, values[ORIGINS_PLACE]))


def _has_bad_priorities(found: HostRow, _: list[Any]) -> bool:
    return not all(isinstance(priority, int) and priority for priority, _ in found.ranked)


def _has_bad_amounts(found: HostRow, _: list[Any]) -> bool:
    amounts = (found.ready_at, *found.times, found.crawl_delay, found.failures, found.pages)
    return not found.name or min(amounts) < 0


def _has_bad_failures(_: HostRow, values: list[Any]) -> bool:
    return not _is_failed(values[FAILED_PLACE])


# What is wrong with a row, in words, and the function that finds it by the row's fields and by the
# values as they are packed. In this order: what comes later relies on the types that were checked before.
FLAWS: tuple[tuple[str, Callable[[HostRow, list[Any]], bool]], ...] = (
    ("not a host record", _has_other_fields),
    ("not a valid record of a block page", _has_bad_block_pages),
    ("not a valid list of sitemaps", _has_bad_listed),
    ("not a valid origin", _has_bad_origins),
    ("not a valid priority", _has_bad_priorities),
    ("negative times or counts, or no name", _has_bad_amounts),
    ("not a valid record of failures", _has_bad_failures),
)


def _have_types(fields: Iterable[Any], types: Iterable[Any]) -> bool:
    """Return whether each field has the type in its place, up to the end of the shorter one."""
    return all(map(isinstance, fields, types))


def _is_failed(fields: list[Any] | None) -> bool:
    """Return whether these are failures in a row, or None for no failures."""
    if fields is None:
        return True
    missing = len(FAILED) - len(fields)  # in rows of earlier versions
    return 0 <= missing <= 3 and _have_types(fields, FAILED)


def _is_origin(fields: list[Any]) -> bool:
    return len(fields) == len(ORIGIN) and _have_types(fields, ORIGIN) and _is_failed(fields[5])


def host_rows(snapshot: Snapshot) -> Iterator[Row]:
    yield from snapshot.rows(ALL)
