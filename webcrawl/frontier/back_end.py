"""The back-end: the active hosts, and heaps of them by the time when each is due."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from webcrawl.base.model import Status
from webcrawl.frontier.fetch_slots import ANSWERED, NEW, PROVEN, UNPROVEN, FetchSlots
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import State

Entry = tuple[float, int, Host]  # when the host is due, its ticket

LATE = 1.0  # seconds after which a host that is due and not asked is waiting for a slot


class BackEnd:
    """Mercator 3.1: one queue per host, one host per queue, and no host is contacted before it is due.

    An unproven host may hold a slot until it times out. However many there are, they leave slots to better hosts.
    """

    def __init__(self, slots: FetchSlots) -> None:
        self.active: dict[str, Host] = {}
        self.slots = slots
        self._heaps: list[list[Entry]] = [[], [], [], []]  # one for each standing
        self._tickets = 0
        self._stale = 0  # entries without a valid ticket; usually none, and then the heaps are not searched for them
        self.now = 0.0  # when somebody last asked for a URL

    def __len__(self) -> int:
        return len(self.active)

    def enter(self, host: Host) -> None:
        """Makes a host with URLs active, scheduled behind those that already wait for a fetcher."""
        host.state = State.ACTIVE
        host.stay = 0
        self.active[host.name] = host
        self.slots.enter(host)
        self.schedule(host, self.now if ends(host) else max(host.due(), self.now))

    def leave(self, host: Host, state: State) -> None:
        host.state = state
        self._stale += host.ticket > 0
        host.ticket = 0
        self.slots.leave(host)
        if host.lanes is not None:
            host.ready_at, host.lanes = host.rested_at(), None
        del self.active[host.name]

    def schedule(self, host: Host, at: float) -> None:
        """Replaces the host's entry: an older one loses its ticket and is skipped when it reaches the top."""
        self._stale += host.ticket > 0
        self._tickets += 1
        host.ticket = self._tickets
        heappush(self._heaps[host.standing], (at, self._tickets, host))

    def renew(self, host: Host) -> None:
        """Other URLs of the host have come: it is due when the first of them is."""
        self.schedule(host, self.now if ends(host) else host.due())

    def next_due(self) -> float | None:
        """The time at which the first host is due that would get a free slot, or None."""
        if self._stale:
            self._pass_over()
        proven = self._heaps[PROVEN]
        first = proven[0][0] if proven else None
        for standing in UNPROVEN:
            heap = self._heaps[standing]
            if heap and (first is None or heap[0][0] < first) and self.slots.open_to(standing):
                first = heap[0][0]
        return first

    def pop_due(self, now: float) -> Entry | None:
        """Removes and returns the first entry that is due, or None. The host stays out until scheduled again.

        Up to their share, unproven hosts are ordered by time like all others; beyond it only `pop_spare` gives them.
        """
        self.now = now
        if self._stale:
            self._pass_over()
        heaps, asked, share = self._heaps, self.slots.asked, self.slots.share
        first = heaps[PROVEN]
        for standing in UNPROVEN:
            heap = heaps[standing]
            if heap and asked[standing] < share and (not first or heap[0] < first[0]):
                first = heap
        return _pop(first) if first and first[0][0] <= now else None

    def pop_first(self, now: float, standings: Iterable[int]) -> Entry | None:
        """Removes and returns a due host of the first of these standings that has one, whoever has slots."""
        if self._stale:
            self._pass_over()
        heaps = (self._heaps[standing] for standing in standings)
        heap = next((heap for heap in heaps if heap and heap[0][0] <= now), None)
        return _pop(heap) if heap is not None else None

    def pop_spare(self, now: float) -> Entry | None:
        """Like `pop_due`, for an unproven host beyond the share, the better ones first: for a slot that is left."""
        heap = self.spare(now)
        return _pop(heap) if heap is not None else None

    def spare(self, now: float) -> list[Entry] | None:
        """The heap from which `pop_spare` would return an entry."""
        if self._stale:
            self._pass_over()
        for standing in UNPROVEN:
            heap = self._heaps[standing]
            if heap and heap[0][0] <= now and self.slots.room(standing):
                return heap
        return None

    def _pass_over(self) -> None:
        for heap in self._heaps:
            while heap and heap[0][2].ticket != heap[0][1]:
                heappop(heap)
                self._stale -= 1

    def ready(self, now: float) -> int:
        """The number of hosts that are due. It takes 3 ms with 30,000 hosts."""
        return sum(self._ready(standing, now) for standing in range(len(self._heaps)))

    def starved(self, now: float, *, full: bool) -> int:
        """The number of hosts that wait for a slot, doubtful ones aside; `full`: none is free, for whatever host.

        It takes as long as `ready`.
        """
        waiting = (PROVEN, ANSWERED, NEW) if full else [one for one in (ANSWERED, NEW) if not self.slots.open_to(one)]
        return sum(self._ready(standing, now - LATE) for standing in waiting)

    def _ready(self, standing: int, now: float) -> int:
        return sum(at <= now and host.ticket == ticket for at, ticket, host in self._heaps[standing])


def ends(host: Host) -> bool:
    """True if none of the host's URLs is asked for any more: they end at once, whatever it waited for."""
    return host.retired not in (0, Status.HOST_BUDGET)  # of one with its pages, revisits may be due


def _pop(heap: list[Entry]) -> Entry:
    entry = heappop(heap)
    entry[2].ticket = 0
    return entry
