"""The back-end: the host table and the heaps of host queues by the time when each may be asked again."""

from __future__ import annotations

from heapq import heappop, heappush

from webcrawl.frontier.hosts import Host, State

Entry = tuple[float, int, Host]  # when the host may be asked, its ticket

# One in so many slots is the unproven hosts' own, since one of them may hold it for 30 s where a page takes 0.3. With
# 1/8 300 dead hosts among 3,000 cost 100 slots 14 % of twenty simulated minutes, with 1/16 9 %.
UNPROVEN = 16


class BackEnd:
    """Mercator 3.1: a host has one queue, a queue one host, and nobody is asked before his time.

    Unproven hosts may each hold a slot until a time-out. Beyond their share they go behind those that answer.
    """

    def __init__(self, fetchers: int = 0) -> None:
        """`fetchers` is how many hosts can be asked at once; 0: as many as there are, and nobody is in the way."""
        self.active: dict[str, Host] = {}
        self.asked_unproven = 0
        self._share: float = max(fetchers // UNPROVEN, 1) if fetchers else float("inf")
        self._proven: list[Entry] = []
        self._unproven: list[Entry] = []
        self._tickets = 0
        self._stale = 0  # entries without a valid ticket: mostly none, and then nobody looks for them
        self._now = 0.0

    def __len__(self) -> int:
        return len(self.active)

    def __repr__(self) -> str:
        return f"<BackEnd hosts={len(self.active)} asked_unproven={self.asked_unproven} next={self.next_due()}>"

    def enter(self, host: Host) -> None:
        """A host that has URLs gets its place, behind those that have waited for a fetcher before."""
        host.state = State.ACTIVE
        host.stay = 0
        self.active[host.name] = host
        self.schedule(host, max(host.due(), self._now))

    def leave(self, host: Host, state: State) -> None:
        host.state = state
        self._stale += host.ticket > 0
        host.ticket = 0
        del self.active[host.name]

    def schedule(self, host: Host, at: float) -> None:
        """The host's only entry is this one: an older one lost its ticket, and is passed over when it comes up."""
        self._stale += host.ticket > 0
        self._tickets += 1
        host.ticket = self._tickets
        heappush(self._unproven if host.unproven() else self._proven, (at, self._tickets, host))

    def next_due(self) -> float | None:
        """When the first host may be asked."""
        if self._stale:
            self._pass_over()
        proven, unproven = self._proven, self._unproven
        if proven and (not unproven or proven[0] < unproven[0]):
            return proven[0][0]
        return unproven[0][0] if unproven else None

    def pop_due(self, now: float) -> Entry | None:
        """The host whose turn it is, out of its heap until it is scheduled again; None if there is none.

        Unproven hosts have their share, in the order of time with all others; what is due beyond it is `pop_spare`'s.
        """
        self._now = now
        if self._stale:
            self._pass_over()
        heap, unproven = self._proven, self._unproven
        if unproven and self.asked_unproven < self._share and (not heap or unproven[0] < heap[0]):
            heap = unproven
        return _pop(heap) if heap and heap[0][0] <= now else None

    def has_spare(self, now: float) -> bool:
        """Whether `pop_spare` would give something."""
        if self._stale:
            self._pass_over()
        return bool(self._unproven) and self._unproven[0][0] <= now

    def pop_spare(self, now: float) -> Entry | None:
        """An unproven host that is due, for a slot that nobody else can use."""
        return _pop(self._unproven) if self.has_spare(now) else None

    def _pass_over(self) -> None:
        for heap in (self._proven, self._unproven):
            while heap and heap[0][2].ticket != heap[0][1]:
                heappop(heap)
                self._stale -= 1

    def ready(self, now: float) -> int:
        """Hosts that may be asked and are not: a figure for people, 3 ms at 30,000 hosts."""
        heaps = (self._proven, self._unproven)
        return sum(at <= now and host.ticket == ticket for heap in heaps for at, ticket, host in heap)


def _pop(heap: list[Entry]) -> Entry:
    entry = heappop(heap)
    entry[2].ticket = 0
    return entry
