"""Host records: what a polite crawler remembers of every host, in bounded memory (Mischel's domain records)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import msgpack

from webcrawl.frontier.fifo import Fifo, Pool
from webcrawl.frontier.rows import HostRows, Row
from webcrawl.model import is_urgent
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

SORTED = 1 << 13  # hosts put in order at once: 3 ms
SLICE = 32  # rows written before the event loop breathes; each may write a block of its queue too
FIRST = -1.0  # handed out before a crash: a robots.txt comes before the URL that asked for it, or it would come twice


class State(IntEnum):
    """Where a host stands; the numbers lie in the database."""

    PARKED = -1  # gave way to others, with URLs in its queue
    IDLE = 0  # nothing to fetch
    ACTIVE = 1  # in the back-end: waiting for its time, or being asked


STATES = {int(state): state for state in State}  # ten times as fast as State(number)


@dataclass(slots=True, eq=False)
class Host:
    """A host's queue, its times and its failures. Nothing of it is forgotten when the queue runs empty."""

    name: str
    queue: Fifo
    state: State = State.IDLE
    ready_at: float = 0.0  # not to be asked before
    times: list[float] = field(default_factory=list)  # the last five downloads, seconds
    crawl_delay: float = 0.0  # robots.txt's
    failures: int = 0  # in a row
    pages: int = 0
    retired: int = 0  # the Status that its URLs end with from now on
    ip: str = ""
    given: bytes | None = None  # the record handed out and not done: it comes again if the process dies
    later: list[tuple[float, bytes]] = field(default_factory=list)  # a heap: records to be tried again, and when
    stay: int = 0  # URLs handed out since it became active
    ticket: int = 0  # of its valid entry in the back-end's heap; 0: it has none
    dirty: bool = False  # not in this form in the open transaction
    urgent: Fifo | None = None  # goes before the queue; made when the first URL comes that asks for it

    def unproven(self) -> bool:
        """Its last request had no answer, or a refusal, or there was none yet; one retired takes nobody's slot."""
        return (self.failures > 0 or not self.times) and not self.retired

    def waiting(self) -> int:
        """URLs of this host that are neither handed out nor in the front-end."""
        return self.queue.count + len(self.later) + (self.urgent.count if self.urgent is not None else 0)

    def due(self) -> float:
        """When the host's next URL may be asked for; it has one."""
        if self.queue.count or (self.urgent is not None and self.urgent.count):
            return self.ready_at
        return max(self.ready_at, self.later[0][0])

    def queues(self) -> tuple[Fifo, ...]:
        """All that it has."""
        return (self.queue,) if self.urgent is None else (self.queue, self.urgent)

    def pack(self) -> bytes:
        later = [*self.later, (FIRST, self.given)] if self.given is not None else self.later
        fields = (
            self.ready_at,
            self.times,
            self.crawl_delay,
            self.failures,
            self.pages,
            self.retired,
            self.ip,
            later,
            self.queue.save() if self.queue.count else None,
        )
        urgent = (self.urgent.save(),) if self.urgent is not None and self.urgent.count else ()
        return bytes(msgpack.packb(fields + urgent))


class HostTable:
    """The hosts in use as objects, as many idle ones beside them as there is room for, and all others as rows."""

    def __init__(self, db: CrawlDB, pool: Pool, room: int, packed: int = 0) -> None:
        """`room` is how many hosts may be objects, `packed` how many bytes of rows may stay in memory."""
        self._db, self._pool, self._room = db, pool, room
        self._rows = HostRows(db, packed)
        self._held = 0
        self._idle: OrderedDict[str, Host] = OrderedDict()
        self._dirty: dict[str, Host] = {}
        pool.on_spill = self.touch

    def __repr__(self) -> str:
        return f"<HostTable idle={len(self._idle)} dirty={len(self._dirty)} {self._rows!r}>"

    def get(self, name: str) -> Host:
        """The host's record, which the caller now holds until it puts it away."""
        self._held += 1
        host = self._idle.pop(name, None)
        if host is None:
            row, written = self._rows.take(name)
            host = Host(name, self._pool.fifo()) if row is None else self._unpack(*row)
            host.queue.owner = host
            if not written:
                self.touch(host)
        return host

    def active(self) -> Iterator[Host]:
        """The hosts that the last checkpoint left in the back-end."""
        for row in self._rows.active():
            self._held += 1
            host = self._unpack(*row)
            host.queue.owner = host
            yield host

    def _unpack(self, name: str, state: int, data: bytes) -> Host:
        try:
            ready_at, times, crawl_delay, failures, pages, retired, ip, later, queue, *urgent = msgpack.unpackb(data)
            fifo = self._pool.fifo(queue)
            host = Host(name, fifo, STATES[state], ready_at, times, crawl_delay, failures, pages, retired, ip)
            if urgent:
                self._make_urgent(host, *urgent)
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(self._db.path, 0, f"table host, {name}: {error!r}") from error
        if later:
            host.later = sorted((at, record) for at, record in later)
        return host

    def queue_for(self, host: Host, record: bytes) -> Fifo:
        """Where a record of this host goes."""
        if not is_urgent(record):
            return host.queue
        return host.urgent if host.urgent is not None else self._make_urgent(host)

    def _make_urgent(self, host: Host, saved: bytes | None = None) -> Fifo:
        host.urgent = self._pool.fifo(saved)
        host.urgent.owner = host
        return host.urgent

    def put_away(self, host: Host) -> None:
        """Gives a record back: it stays an object while there is room."""
        self._held -= 1
        self._idle[host.name] = host
        if self._held + len(self._idle) > self._room:
            oldest = self._idle.popitem(last=False)[1]
            written = self._dirty.pop(oldest.name, None) is None
            self._rows.put(_row(oldest), written=written)
            for queue in oldest.queues():
                queue.close()

    def touch(self, host: Host) -> None:
        """The record is no more what the open transaction has."""
        if not host.dirty:
            host.dirty = True
            self._dirty[host.name] = host

    def prepare(self) -> Iterator[None]:
        """Writes what has changed, some rows at a time, and again what changed meanwhile, while that gets less.

        In the order of the table, thousands after each other, so that each page of it is looked for once.
        """
        before = len(self._dirty) + len(self._rows.changed) + 1
        while 0 < (count := len(self._dirty) + len(self._rows.changed)) < before:
            before = count // 2  # a pass that leaves more than half as many was not worth its work
            names = [*self._dirty, *self._rows.changed]
            for at in range(0, count, SORTED):
                some = sorted(names[at : at + SORTED])
                for start in range(0, len(some), SLICE):
                    self._write(some[start : start + SLICE])
                    yield

    def save(self) -> None:
        self._write([*self._dirty, *self._rows.changed])

    def _write(self, names: Iterable[str]) -> None:
        hosts = [host for name in names if (host := self._dirty.pop(name, None)) is not None]
        self._rows.store(map(_row, hosts))
        self._rows.write(names)


def _row(host: Host) -> Row:
    row = host.name, int(host.state), host.pack()
    host.dirty = False  # only now: packing may spill the queue, which touches the host
    return row
