"""Hosts, domains and their URLs on their way from one crawl's frontier to another's, in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from webcrawl.base.model import Link, Packed, unpack
from webcrawl.frontier.core import Core, Gate
from webcrawl.frontier.handover_records import (
    DomainMoves,
    Later,
    merge_host,
    merge_origins,
    pack_host,
    pack_later,
    unpack_later,
)
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host, host_name
from webcrawl.frontier.lending import HostLender
from webcrawl.frontier.place_shares import Group
from webcrawl.store.jobdir.host_row import HostState

SLICE = 64  # rows looked at in one slice
PIECE = 4 << 10  # bytes of URLs in a piece, unless the first one is longer
PIECES = 32  # of one host or domain in a slice
NAMES = 256  # names of waiting hosts looked at in one slice

Piece = list[Any]
"""[kind, name of a host or domain, value]: urls, later, host; held, domain. Of plain values that msgpack knows."""


class HostHandover:
    """Moves hosts, with their URLs, between the crawls of a hive.

    A *foreign* host belongs to another crawl. `guard` and `freeze` stop asking such hosts, `sweep`
    takes them out of the queues, `hosts` and `domains` export them in pieces: what is exported is
    gone from here. `urls`, `later`, `host`, `held` and `domain` import a piece of each kind. What
    was imported waits until `arrive` is called for its host.

    All of it is in the open transaction, and between two slices the frontier is whole: a checkpoint
    may be taken there.
    """

    def __init__(
        self, core: Core, states: HostStates, lending: HostLender, refund: Callable[[Link], None]
    ) -> None:
        """`refund` takes URLs that a domain was charged for here, but that another crawl asks for."""
        self._core = core
        self._states = states
        self._lending = lending
        self._refund = refund
        self._queues = core.queues
        self._hosts = core.hosts
        self._back = core.back
        self._domains = DomainMoves(core.queues.budgets)

    # -- the gate

    def guard(self, foreign: Callable[[str], bool], leave: Callable[[Packed], None]) -> None:
        """Stop asking hosts that are `foreign`; whatever URL of theirs turns up goes to `leave`.

        Call `freeze` whenever more hosts have become foreign.
        """
        core = self._core

        def turn_away(record: Packed, charged: bool) -> None:  # noqa: FBT001 - the rotation's callback
            core.queued -= 1
            core.counters["turned away"] += 1
            # A page of its domain's budget was taken for it here. The receiver takes another.
            if charged:
                self._refund(unpack(record))
            leave(record)

        core.gate = Gate(foreign, turn_away, leave)

    @property
    def gate(self) -> Gate | None:
        """What becomes of foreign hosts; None as long as all hosts are the frontier's own."""
        return self._core.gate

    def freeze(self) -> None:
        """Take foreign hosts out of the back-end.

        Those that are being requested leave it when that ends.
        """
        gate = self._core.gate
        if gate is None:
            return
        # The receiver asks these hosts only after the last piece of them has come, so no host is
        # requested by both crawls.
        for host in [host for host in self._back.active.values() if gate.foreign(host.name)]:
            if host.given is not None:
                gate.requested.add(host.name)
            else:
                self._states.deactivate(host, HostState.MOVING, self._back.now)
        self._core.dismiss(gate.foreign)

    def busy(self) -> bool:
        """Return whether a foreign host is being requested."""
        gate = self._core.gate
        return gate is not None and (
            bool(gate.requested) or any(map(gate.foreign, self._lending.lent))
        )

    # -- out

    def sweep(self) -> Iterator[None]:
        """Remove what is foreign from the queues in which hosts and URLs wait for a place."""
        # The front-end stays as it is: to read a hundred million URLs would hold up the move for
        # minutes. Its foreign URLs are turned away when they surface.
        parked = self._queues.parked
        for at in range(parked.count):
            name = parked.pop()
            if name is None:
                break
            if not self._withdraw(name.decode()):
                parked.push(name)
            if at % NAMES == NAMES - 1:
                yield
        for group in list(self._queues.lines.queues):
            yield from self._sweep_line(group)
        yield

    def _sweep_line(self, group: Group) -> Iterator[None]:
        """Remove what is foreign from the queue of a full group."""
        lines = self._queues.lines
        queue = lines.queues.get(group)
        if queue is None:
            return
        for at in range(queue.count):
            record = lines.pop_from(group)
            if record is None:
                break
            if not self._turned_away(record):
                lines.push(group, record)
            if at % NAMES == NAMES - 1:
                yield

    def _withdraw(self, name: str) -> bool:
        """Let a host that waits for a place leave if it is foreign. Return whether it is."""
        if not self._core.is_foreign(name):
            return False
        host = self._hosts.get(name)
        self._states.leave_hive(host)
        self._hosts.put_away(host)
        return True

    def _turned_away(self, record: bytes) -> bool:
        """Turn away what waits in a full group's queue if it is foreign. Return whether it is.

        `record` is a packed link, which has spaces, or the name of a parked host.
        """
        if b" " not in record:
            return self._withdraw(record.decode())
        gate = self._core.gate
        if gate is None or not gate.foreign(host_name(record)):
            return False
        gate.turn_away(record, True)
        return True

    def hosts(
        self, leaves: Callable[[str], bool], now: Callable[[], float]
    ) -> Iterator[list[Piece]]:
        """Yield all hosts that leave, in slices of pieces: first the URLs of each, then its record.

        None of them may be active. `now` returns the time, which passes between two slices.
        """
        # Names are read from the table, so all hosts have to be rows.
        for _ in self._hosts.prepare():
            yield []
        after = ""
        while names := self._hosts.names(after, SLICE):
            after = names[-1]
            slice_: list[Piece] = []
            for name in filter(leaves, names):
                whole = False
                while not whole:
                    slice_ += self._part_of(name, now())
                    whole = slice_[-1][0] == "host"
                    if len(slice_) >= PIECES:
                        yield slice_
                        slice_ = []
            yield slice_

    def _part_of(self, name: str, now: float) -> list[Piece]:
        """Return the next pieces of a host. The last piece of all is its record; then it is gone."""
        host = self._hosts.get(name)
        self._states.leave_hive(host)
        before = host.waiting()
        records = [host, *(host.origins or {}).values()]
        pieces = _url_pieces(name, records, now)
        self._core.queued -= before - host.waiting()
        if host.waiting():
            self._hosts.touch(host)
            self._hosts.put_away(host)
        else:
            pieces.append(["host", name, pack_host(host, now)])
            self._hosts.forget(host)
        return pieces

    def domains(self, leaves: Callable[[str], bool]) -> Iterator[list[Piece]]:
        """Yield all registered domains that leave: first the URLs over budget, then the record."""
        for pieces, released in self._domains.exported(leaves, PIECE, PIECES):
            self._core.queued -= released
            yield pieces

    def drain(self, most: int) -> bool:
        """Turn away `most` URLs that the front-end holds or, once it has none, the budgets.

        It is for a crawl that has no hosts any more. Return whether nothing is left.
        """
        gate = self._core.gate
        front = self._queues.front
        if gate is None:
            return False
        for _ in range(most):
            record = front.pop()
            if record is None:
                break
            gate.turn_away(record, False)
        if not front.filled:
            for record in self._domains.released(most):
                gate.turn_away(record, False)
        return not self._core.queued

    # -- in

    def urls(self, name: str, records: list[Packed]) -> None:
        """Take URLs of a host, in their order, behind those that it has."""
        host, active = self._core.open(name)
        for record in records:
            self._hosts.queue_for(host, record).push(record)
        self._joined(host, len(records), active=active)

    def later(self, name: str, later: Later, now: float) -> None:
        """Take URLs of a host that wait for a time of their own, or go first."""
        host, active = self._core.open(name)
        for entry in unpack_later(later, now):
            heappush(host.later, entry)
        self._joined(host, len(later), active=active)

    def host(self, value: list[Any], now: float) -> None:
        """Take a host's record, after its URLs.

        The host waits its turn again, because this crawl may have requested it already: it may have
        read the record before, and been killed before its next checkpoint.
        """
        host, active = self._core.open(value[0])
        before = host.due() if host.waiting() else 0.0
        merge_host(host, value, now)
        merge_origins(host, value, now, self._hosts.new_origin)
        host.ready_at = max(host.ready_at, now + self._core.book.wait(host))
        if active and host.ticket and host.due() > before:
            self._back.schedule(host, host.due())
        self._joined(host, 0, active=active)

    def _joined(self, host: Host, urls: int, *, active: bool) -> None:
        """Count the URLs that a host has got. An active one is scheduled, any other put away."""
        self._core.queued += urls
        self._hosts.touch(host)
        if active:
            if urls and host.ticket:
                self._back.renew(host)
            return
        self._states.import_urls(host, urls)
        self._hosts.put_away(host)

    def arrive(self, name: str, now: float) -> None:
        """Let a host that was imported wait for its turn like all others, as it is ours now."""
        host, active = self._core.open(name)
        if active:  # it waits for its turn already
            return
        self._states.arrive(host, now)
        self._hosts.put_away(host)

    def held(self, name: str, records: list[Packed]) -> None:
        """Take URLs over a domain's budget."""
        self._domains.queue_urls(name, records)
        self._core.queued += len(records)

    def domain(self, name: str, value: list[Any]) -> None:
        """Take a domain's record, after its URLs."""
        self._domains.merge(name, value)

    def strays(self) -> list[str]:
        """Return all hosts that were imported and have not arrived, or are about to leave.

        It is for the rare case of a loss.
        """
        for _ in self._hosts.prepare():
            pass
        return self._hosts.moving()


def _url_pieces(name: str, records: list[Host], now: float) -> list[Piece]:
    """Remove and return the next pieces with URLs of a host and its origins, whose `records` these are.

    URLs that wait for a time of their own come first.
    """
    retries = next((one.later for one in records if one.later), None)
    if retries:
        first_retries = [heappop(retries) for _ in range(min(len(retries), PIECES))]
        return [["later", name, pack_later(first_retries, now)]]
    pieces: list[Piece] = []
    for _ in range(PIECES):
        urls = next(filter(None, map(_next_urls, records)), None)
        if not urls:
            break
        pieces.append(["urls", name, urls])
    return pieces


def _next_urls(host: Host) -> list[Packed]:
    """Remove and return the host's next URLs, by priority: as many as make a piece."""
    records: list[Packed] = []
    size = 0
    while size < PIECE:
        ranked = host.ranked
        if ranked is None or not ranked.queues:
            record = host.queue.pop()
        # Queues of a priority above 0 go before `host.queue`, all others after it.
        elif ranked.before() or not host.queue.count:
            record = ranked.pop()
        else:
            record = host.queue.pop()
        if record is None:
            break
        records.append(record)
        size += len(record)
    return records
