"""Host records: the memory of a polite crawler about every host, in bounded room.

Mischel calls them domain records.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from webcrawl.base.model import Packed, authority_of, is_listed, is_revisit, priority_of, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.fifo import Fifo, Pool
from webcrawl.frontier.host_queues import (
    CHOSEN,
    LISTED,
    REVISITS,
    Lanes,
    PriorityQueues,
    SitemapQuota,
)
from webcrawl.frontier.host_rows import HostRows, Row
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import (
    STATES,
    UNREADABLE,
    BlockPageRow,
    FailedRow,
    HostState,
    OriginRow,
    pack,
    unpack,
)

SORTED = 1 << 13  # names of hosts that are sorted at once: 3 ms
# rows written between two turns of the event loop; each may write a block of its queue too
SLICE = 32
# Due time of a record that is to be handed out again, in flight at a crash or put back: robots.txt
# must precede the URL that needs it, or comes twice.
FIRST = -1.0
NEVER = float("inf")


@dataclass(slots=True, eq=False)
class Host:
    """A host's queue, times and failures, which are kept when the queue runs empty.

    The record of one of its origins is a Host as well, with `whole` as the host that it belongs to.
    """

    name: str
    queue: Fifo
    state: HostState = HostState.IDLE
    ready_at: float = 0.0  # no request before this time
    times: list[float] = field(default_factory=list)  # the last five downloads, seconds
    crawl_delay: float = 0.0  # from robots.txt
    failures: int = 0  # in a row
    failed: FailedRow | None = None  # what is known of these failures
    pages: int = 0  # answers that are no server's errors
    retired: int = 0  # if not 0, the Status with which all its URLs end
    ip: str = ""
    # the record in flight, or one of several: after a crash it is handed out again
    given: bytes | None = None
    # a heap of (when to retry, record)
    later: list[tuple[float, bytes]] = field(default_factory=list)
    stay: int = 0  # URLs handed out since it became active
    ticket: int = 0  # of its valid entry in the back-end's heaps; 0: it has none
    standing: int = 0  # while it is active: one of the back-end's
    dirty: bool = False  # changed since it was last written
    # when it comes back, while it is DEFERRED: an entry of that queue with another time is stale
    deferred_until: float = 0.0
    # goes before the queue or after it; created for the first URL with a priority
    ranked: PriorityQueues | None = None
    said: int = 0  # the status of its last failure; forgotten when it is no object any more
    of_robots: bool = False  # that was its robots.txt's; likewise
    # it is left alone until then by this rule, not for what it did; likewise
    left: tuple[float, str] = (0.0, "")
    block_pages: BlockPageRow | None = None  # while it gives nothing but block pages (health.py)
    # kinds of URLs that fail while it is well; not stored
    bad: dict[int, int] = field(default_factory=dict)
    # what it shows for a URL that cannot exist, if it says that this is a page
    missing: bytes = b""
    http2: bool = False  # it speaks nothing else
    listed: SitemapQuota | None = None  # if it has sitemaps
    lanes: Lanes | None = None  # while it is active, if it may get several requests at once
    # Those of its origins that fail while URLs of others wait (host_origins.py): each has a record,
    # with its URLs
    origins: dict[int, Host] | None = None
    origin: str = ""  # of such a record: scheme, host and port; empty if several share it
    whole: Host | None = None  # of such a record: the host that it belongs to

    def waiting(self) -> int:
        """Return the number of its URLs in the back-end that are not in flight."""
        count = self.queue.count + len(self.later)
        if self.ranked is not None:
            count += self.ranked.count
        if self.origins is None:
            return count
        return count + sum(origin.waiting() for origin in self.origins.values())

    def has_due_always(self) -> bool:
        """Return whether the record has URLs that wait for nothing but the host's turn."""
        return self.queue.count > 0 or (self.ranked is not None and bool(self.ranked.queues))

    def due(self) -> float:
        """Return the time at which the host's next URL may be requested; it must have URLs."""
        ready = self.ready_at
        if self.lanes is not None:
            ready = max(ready, self.lanes.free_at(self.failures))
        if self.origins is not None:
            return max(ready, self._first_due(self.origins.values()))
        if self.queue.count or (self.ranked is not None and self.ranked.queues):
            return ready
        return max(ready, self.later[0][0])

    def _first_due(self, origins: Iterable[Host]) -> float:
        """Return the time at which the host's first URL is due, by its record or its origins'.

        0.0 is now. NEVER if all origins with URLs are being requested.
        """
        if self.has_due_always():
            return 0.0
        waiting = [one for one in origins if one.given is None and one.waiting()]
        # The URLs of an origin that is given up end at once.
        times = [0.0 if one.retired else one.due() for one in waiting]
        if self.later:
            times.append(self.later[0][0])
        return min(times, default=NEVER)

    def failing(self) -> int:
        """Return the failures in a row of the host.

        If all its URLs wait for origins, these are the failures of the origin with the fewest.
        """
        if self.origins is None or self.has_due_always() or self.later:
            return self.failures
        of_origins = [one.failures for one in self.origins.values() if one.waiting()]
        return max(self.failures, min(of_origins, default=0))

    def flights(self) -> Collection[bytes]:
        """Return all records in flight."""
        if self.lanes is not None:
            return self.lanes.flights.values()
        return [self.given] if self.given is not None else []

    def rested_at(self) -> float:
        """Return the time from which the host has rested after all requests that have ended."""
        lanes = self.lanes
        if lanes is None or not lanes.rests:
            return self.ready_at
        return max(self.ready_at, lanes.rests[-1])

    def queues(self) -> tuple[Fifo, ...]:
        """Return all queues of this host, including those of its origins."""
        own = self.own_queues()
        if self.origins is None:
            return own
        return (*own, *(queue for one in self.origins.values() for queue in one.queues()))

    def own_queues(self) -> tuple[Fifo, ...]:
        """Return the queues of this record, without those of its origins."""
        if self.ranked is None:
            return (self.queue,)
        return (self.queue, *(queue for _, queue in self.ranked.queues))

    def pack(self) -> bytes:
        """Return the host as the bytes of its row, with its URLs in flight among the retries.

        The row ends with the last field that is set.
        """
        later = self.later
        # What is in flight when a crash comes is handed out again, and first.
        if self.given is not None:
            later = [*later, *((FIRST, record) for record in self.flights())]
        queue, ranked = self._saved_queues()
        fields = (
            self.rested_at(),
            self.times,
            self.crawl_delay,
            self.failures,
            self.pages,
            self.retired,
            self.ip,
            later,
            self.failed,
            self.deferred_until or None,
            queue,
        )
        # A row ends with the last field that says something
        if self.origins is not None:
            origins = [one.saved_origin(key) for key, one in self.origins.items()]
            listed = None if self.listed is None else self.listed.save()
            return pack(
                (*fields, ranked, self.block_pages, self.missing, self.http2, listed, origins)
            )
        if self.listed is not None:
            return pack(
                (*fields, ranked, self.block_pages, self.missing, self.http2, self.listed.save())
            )
        if self.http2:
            return pack((*fields, ranked, self.block_pages, self.missing, self.http2))
        if self.block_pages is not None or self.missing:
            return pack((*fields, ranked, self.block_pages, self.missing))
        if ranked:
            return pack((*fields, ranked))
        return pack(fields)

    def saved_origin(self, key: int) -> OriginRow:
        """Return the record of an origin, with its key, as its host's row has it.

        Its URLs in flight are among the host's own retries.
        """
        saved = self._saved_queues()
        return OriginRow(
            key,
            self.origin,
            self.ready_at,
            self.failures,
            self.retired,
            self.failed,
            self.later,
            *saved,
        )

    def _saved_queues(self) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        """Return the queue and the queues by priority, as a row has them."""
        queue = self.queue.save() if self.queue.count else None
        ranked = self.ranked.save() if self.ranked is not None and self.ranked.queues else []
        return queue, ranked


class HostTable:
    """The records of all hosts: objects while in use or while there is room, and rows otherwise."""

    def __init__(self, db: CrawlDB, pool: Pool, room: int, packed: int = 0) -> None:
        """`room`: objects that are kept at most, beside those in use; `packed`: bytes of rows."""
        self._db = db
        self._pool = pool
        self._room = room
        self._rows = HostRows(db, packed)
        self._held = 0  # hosts that callers hold
        # objects that no caller holds, the one used longest ago first
        self._idle: OrderedDict[str, Host] = OrderedDict()
        self._dirty: dict[str, Host] = {}  # objects that have changed, held or not
        # A queue that is spilled has another saved form, so its host's row is old.
        pool.on_spill = self.touch
        self.revisits = False  # whether there can be URLs that are fetched again

    def __repr__(self) -> str:
        return f"<HostTable idle={len(self._idle)} dirty={len(self._dirty)} {self._rows!r}>"

    def get(self, name: str) -> Host:
        """Return the host's record; the caller holds it until `put_away`."""
        self._held += 1
        host = self._idle.pop(name, None)
        if host is None:
            row, written = self._rows.pop_row(name)
            host = Host(name, self._pool.fifo()) if row is None else self._unpack(*row)
            host.queue.owner = host
            if not written:
                self.touch(host)
        return host

    def active(self) -> Iterator[Host]:
        """Yield the hosts that the last checkpoint left in the back-end."""
        for row in self._rows.active():
            self._held += 1
            host = self._unpack(*row)
            host.queue.owner = host
            yield host

    def _unpack(self, name: str, state: int, data: bytes) -> Host:
        """Return the host of a row. Raise DamagedFile if the row is unreadable."""
        try:
            ready_at, times, crawl_delay, failures, pages, retired, ip, later, row, *more = unpack(
                data
            )
            deferred_until, queue, ranked, block_pages, missing, http2, listed, origins = more
            fifo = self._pool.fifo(queue)
            host = Host(
                name,
                fifo,
                STATES[state],
                ready_at,
                times,
                crawl_delay,
                failures,
                row,
                pages,
                retired,
                ip,
            )
            host.later = later
            host.deferred_until = deferred_until
            host.block_pages = block_pages
            host.missing = missing
            host.http2 = http2
            host.listed = SitemapQuota(*listed) if listed is not None else None
            for priority, saved in ranked:
                self._ranked(host, priority, saved)
            for one in origins:
                self._restore_origin(host, one)
        except UNREADABLE as error:
            raise DamagedFile(self._db.path, 0, f"table host, {name}: {error!r}") from error
        return host

    def new_origin(self, host: Host, key: int, origin: str, queue: bytes | None = None) -> Host:
        """Return a new record for one origin of a host."""
        one = Host(host.name, self._pool.fifo(queue), origin=origin, whole=host)
        one.queue.owner = host
        if host.origins is None:
            host.origins = {}
        host.origins[key] = one
        return one

    def _restore_origin(self, host: Host, row: OriginRow) -> None:
        """Give a host the origin that its row has, with its queues."""
        one = self.new_origin(host, row.key, row.origin, row.queue)
        one.ready_at = row.ready_at
        one.failures = row.failures
        one.retired = row.retired
        one.failed = row.failed
        one.later = row.later
        for priority, saved in row.ranked:
            self._ranked(one, priority, saved)

    def queue_for(self, host: Host, record: bytes) -> Fifo:
        """Return the queue that a record of this host belongs in."""
        if self.revisits and is_revisit(record):
            return self._ranked(host, REVISITS)
        if host.listed is not None and is_listed(record):
            return self._ranked(host, LISTED)
        priority = priority_of(record)
        return self._ranked(host, priority) if priority else host.queue

    def chosen(self, host: Host) -> Fifo:
        """Return the queue of the host's URLs that go first because they are worth more."""
        return self._ranked(host, CHOSEN)

    def _ranked(self, host: Host, priority: int, saved: bytes | None = None) -> Fifo:
        """Return the queue of this priority, made anew or from its saved bytes if need be."""
        if host.ranked is None:
            host.ranked = PriorityQueues()
        queue = host.ranked.queue(priority, partial(self._pool.fifo, saved))
        queue.owner = host.whole or host
        return queue

    def put_away(self, host: Host) -> None:
        """Release a host that the caller held. The one used longest ago may become a row."""
        self._held -= 1
        self._idle[host.name] = host
        if self._held + len(self._idle) > self._room:
            oldest = self._idle.popitem(last=False)[1]
            written = self._dirty.pop(oldest.name, None) is None
            self._rows.put(_row(oldest), written=written)
            for queue in oldest.queues():
                queue.close()

    def blank(self, name: str) -> Host:
        """Return the record of a new host, only for reading: the table does not keep it."""
        return Host(name, Fifo(self._pool))

    def place(self, name: str) -> str:
        """Return where the record of a host that is not in use is; empty if there is none."""
        return "in memory" if name in self._idle else self._rows.place(name)

    def idle(self) -> list[Host]:
        """Return hosts in memory that are not in use, only for reading."""
        return [*self._idle.values()]

    def names(self, after: str, most: int) -> list[str]:
        """Return at most so many names of written hosts, the next ones after `after` by name."""
        return self._rows.names(after, most)

    def moving(self) -> list[str]:
        """Return the names of all hosts that were written as MOVING."""
        return self._rows.of_state(HostState.MOVING)

    def forget(self, host: Host) -> None:
        """Remove a host that the caller holds, and that has no URLs.

        It belongs to another crawl now.
        """
        self._held -= 1
        self._dirty.pop(host.name, None)
        for queue in host.queues():
            queue.close()
        self._rows.delete(host.name)

    def touch(self, host: Host) -> None:
        """Mark the host as changed since it was last written."""
        if not host.dirty:
            host.dirty = True
            self._dirty[host.name] = host

    def prepare(self) -> Iterator[None]:
        """Write changed hosts in slices, and yield after each slice.

        Hosts that change meanwhile are written in further passes, while each pass leaves less than
        half as many. Rows are written in the table's order, thousands at a time, so that each of
        its pages is visited once.
        """
        limit = len(self._dirty) + len(self._rows.changed) + 1  # so the first pass is made anyway
        while 0 < (count := len(self._dirty) + len(self._rows.changed)) < limit:
            limit = count // 2
            names = [*self._dirty, *self._rows.changed]
            for at in range(0, count, SORTED):
                in_table_order = sorted(names[at : at + SORTED])
                for start in range(0, len(in_table_order), SLICE):
                    self._write(in_table_order[start : start + SLICE])
                    yield

    def save(self) -> None:
        self._write([*self._dirty, *self._rows.changed])

    def _write(self, names: Iterable[str]) -> None:
        """Write the rows of these hosts: from objects that have changed, or from changed rows."""
        hosts = [host for name in names if (host := self._dirty.pop(name, None)) is not None]
        self._rows.store(map(_row, hosts))
        self._rows.write(names)


def _row(host: Host) -> Row:
    """Return the row of a host, which counts as written from now on."""
    row = host.name, int(host.state), host.pack()
    host.dirty = False  # after packing, which may spill the queue and so touch the host
    return row


def host_name(record: Packed) -> str:
    """Return the host that a packed link is queued under."""
    name = authority_of(record)
    return name if ":" not in name else host_of(url_of(record))
