"""The back-end: the active hosts, heaps of them by the time when each is due, and the slots that
they share.

A host's standing says how likely it is to hold a slot for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from webcrawl.base.model import Status
from webcrawl.frontier.hosts import Host

# A host's standing, best first. All but the first are unproven: they may hold a slot long after a
# page would be there.
PROVEN = 0  # its last requests were answered in good time, and it has given a page
ANSWERED = 1  # the same without a page, i.e. only its robots.txt has come so far
NEW = 2  # it was never requested
DOUBTFUL = 3  # its last request failed, or one of the last five was cancelled or took too long
UNPROVEN = (ANSWERED, NEW, DOUBTFUL)

SHARE = 16  # one slot in so many is sure for each unproven standing
# One slot in so many is kept for better hosts, if there are as many of them. Hosts that have only
# answered for their robots.txt get half of these slots at most: in a crawl of one page per host,
# robots.txt takes longer than the page, which needs no new connection.
# Good pages of 300 hosts beside 1,000 that drip every other answer, and seconds for 5,000 hosts of
# two pages: with half of the slots kept 49,389 and 65 s, with a third 49,307 and 52 s, with a
# quarter 46,458 and 49 s.
SLOTS_PER_RESERVED = 3
# An answer is slow after SLOW seconds, or after SLOW_TIMES_MEDIAN times the median of all answers
# if that is longer. The estimate of the latter begins at UNKNOWN seconds, and each answer moves it
# by the factor MEDIAN_STEP.
SLOW, SLOW_TIMES_MEDIAN, UNKNOWN, MEDIAN_STEP = 5.0, 4.0, 15.0, 1.05


class FetchSlots:
    """Counts the active hosts of each standing and their requests in flight, and decides who may
    have a free slot.
    """

    def __init__(self, count: int = 0, awaited: Callable[[], bool] | None = None) -> None:
        """`count`: the most requests in flight; 0: no limit, and no slots are kept.

        `awaited` returns whether links are on their way (e.g. in a merge) that may be of hosts
        which have left the back-end without URLs.
        """
        self.hosts = [0, 0, 0, 0]  # active hosts by standing
        self.in_flight = [0, 0, 0, 0]  # their requests in flight
        self.slow = UNKNOWN  # seconds after which an answer is slow
        self.resize(count)  # sets `share`, `_count` and the reserves
        self._awaited = awaited
        self._proven_left = 0  # proven hosts that left without URLs, less hosts that came back

    def resize(self, count: int) -> None:
        """Divide so many slots from now on; 0: no limit."""
        # the slots that are sure for each unproven standing
        self.share: float = max(count // SHARE, 1) if count else float("inf")
        self._count: float = count or float("inf")
        reserve = max(count // SLOTS_PER_RESERVED, int(count > 1))
        self._reserve = reserve  # slots kept for better hosts, of all standings together
        # of these at most, for PROVEN, ANSWERED and NEW hosts; none are kept for DOUBTFUL ones
        self._reserves_by_standing = (reserve, reserve // 2, reserve)

    # -- hosts

    def enter(self, host: Host) -> None:
        """Count a host that becomes active."""
        standing = host.standing = self._standing_of(host)
        self.hosts[standing] += 1
        if standing == PROVEN and self._proven_left:
            self._proven_left -= 1

    def leave(self, host: Host) -> None:
        """Stop counting a host that leaves the back-end; a proven one may come back."""
        self.hosts[host.standing] -= 1
        self._proven_left += host.standing == PROVEN and not host.retired

    def gone(self, host: Host) -> None:
        """Keep no slot for an active host that is about to leave and does not come back."""
        self._proven_left -= host.standing == PROVEN and not host.retired

    def record_answer_time(self, host: Host, seconds: float) -> None:
        """Move the bound of slow answers by one of a host, and judge the host's standing anew.

        `seconds`: of the answer, which the host's record has already. The bound follows the median
        of all answers, not the slowest.
        """
        slow = self.slow
        # Where all hosts are slow, none is: a fixed bound would make all of them doubtful.
        quick = SLOW_TIMES_MEDIAN * seconds <= slow
        if not quick:
            self.slow = slow * MEDIAN_STEP
        elif slow > SLOW:
            self.slow = max(slow / MEDIAN_STEP, SLOW)
        if not quick or host.standing != PROVEN or host.failures:
            self.judge(host)

    def judge(self, host: Host) -> None:
        """Judge anew the standing of an active host whose record has changed.

        Its counts move along, here and for its requests in flight.
        """
        standing = self._standing_of(host)
        if standing != host.standing:
            self.hosts[host.standing] -= 1
            self.hosts[standing] += 1
            if host.given is not None:  # others of its requests are still in flight
                flights = len(host.flights())
                self.in_flight[host.standing] -= flights
                self.in_flight[standing] += flights
            host.standing = standing

    def patience(self, host: Host) -> float:
        """Return the seconds after which a request to this host may be cancelled.

        They are twice the longest of its last downloads, so that one of the next ones ends in time.
        """
        # With the default time-out, this doubling cancels no URL more than three times in a row.
        return max(self.slow, 2 * max(host.times, default=0.0))

    def _standing_of(self, host: Host) -> int:
        """Return the standing that a host has by its record as it is now."""
        if host.retired:  # its URLs are dropped, which takes no slot
            return PROVEN
        times = host.times
        was_slow = bool(times) and max(times) > self.slow
        # The slowest of the last five, and not the last: of hosts that drip every other answer,
        # 1,000 took three quarters of the pages of 300 good ones by the last alone; by five, a
        # tenth.
        if host.failing() or was_slow:
            return DOUBTFUL
        if host.pages:
            return PROVEN
        return ANSWERED if times else NEW

    # -- who may have a slot

    def open_to(self, standing: int) -> bool:
        """Return whether a host of this standing would get a slot that is free."""
        return standing == PROVEN or self.in_flight[standing] < self.share or self.room(standing)

    def room(self, standing: int) -> bool:
        """Return whether one more unproven host of this standing may have a slot beyond the share.

        Slots must be left for better hosts. For each standing from this one up to the best unproven
        one, hosts of it and of all worse standings must not use the slots kept for better ones. A
        worse standing has a larger number.
        """
        hosts = self.hosts
        in_flight = self.in_flight
        share = self.share
        count = self._count
        taken: float = 0  # slots that are used by these standings, or sure for worse ones
        for worse in range(standing + 1, len(hosts)):
            taken += max(in_flight[worse], min(share, hosts[worse]))
        for up_to in range(standing, PROVEN, -1):
            taken += in_flight[up_to]
            if taken < count - self._reserve:
                continue
            # This runs a dozen times per new host, so kept slots are counted only if they matter.
            if taken >= count or taken >= count - self._slots_kept_for_better(up_to):
                return False
        return True

    def _slots_kept_for_better(self, standing: int) -> int:
        """Return the number of slots that hosts of this standing leave free for better ones."""
        kept = sum(map(min, self.hosts[:standing], self._reserves_by_standing))
        # A proven host whose queue ran empty counts while links wait for a merge: they may be its
        # own.
        if (
            kept < self._reserve
            and self._proven_left
            and self._awaited is not None
            and self._awaited()
        ):
            kept += self._proven_left
        return min(kept, self._reserve)


# The time when a host is due, its ticket, and the host: a tuple, because heaps compare it fast. An
# entry is valid as long as its host has this ticket.
Entry = tuple[float, int, Host]

# A host that has been due for so long, and was not requested, waits for a slot.
WAITS_FOR_SLOT_SECONDS = 1.0


class BackEnd:
    """Mercator 3.1: one queue per host, one host per queue, and no host is contacted before it is
    due.

    An unproven host may hold a slot until it times out. However many there are, they leave slots to
    better hosts.
    """

    def __init__(self, slots: FetchSlots) -> None:
        self.active: dict[str, Host] = {}  # by name
        self.slots = slots
        self._heaps: list[list[Entry]] = [[], [], [], []]  # one for each standing
        self._tickets = 0  # the last ticket that was given out
        # entries without a valid ticket; usually none, and then the heaps are not searched for them
        self._stale = 0
        self.now = 0.0  # the time of the last search for a URL

    def __len__(self) -> int:
        return len(self.active)

    def enter(self, host: Host) -> None:
        """Make a host with URLs active, scheduled behind those that already wait for a fetcher.

        Those are due before `now`, so the host is not due earlier than that.
        """
        host.stay = 0
        self.active[host.name] = host
        self.slots.enter(host)
        self.schedule(host, self.now if ends(host) else max(host.due(), self.now))

    def leave(self, host: Host) -> None:
        """Remove an active host: its entry becomes stale, and the waits of its lanes one wait."""
        self._stale += host.ticket > 0
        host.ticket = 0
        self.slots.leave(host)
        if host.lanes is not None:
            host.ready_at = host.rested_at()
            host.lanes = None
        del self.active[host.name]

    def schedule(self, host: Host, at: float) -> None:
        """Let the host be due at this time, by a new entry in its standing's heap.

        An older entry of the host loses its ticket, and is skipped when it reaches the top.
        """
        self._stale += host.ticket > 0
        self._tickets += 1
        host.ticket = self._tickets
        heappush(self._heaps[host.standing], (at, self._tickets, host))

    def renew(self, host: Host) -> None:
        """Schedule a host anew for which URLs have come: it is due when its first URL is."""
        self.schedule(host, self.now if ends(host) else host.due())

    def next_due(self) -> float | None:
        """Return the time at which the first host is due that would get a free slot.

        None if there is no such host.
        """
        if self._stale:
            self._drop_stale_tops()
        proven = self._heaps[PROVEN]
        first = proven[0][0] if proven else None
        for standing in UNPROVEN:
            heap = self._heaps[standing]
            # Without a slot for it, `take` would be called in vain when the host is due.
            if heap and (first is None or heap[0][0] < first) and self.slots.open_to(standing):
                first = heap[0][0]
        return first

    def pop_due(self, now: float) -> Entry | None:
        """Remove and return the first entry that is due, or None.

        `now` becomes the back-end's time. The host has no entry until it is scheduled again.
        Unproven hosts within their share are ordered by time like proven ones; beyond it only
        `pop_spare` returns them.
        """
        self.now = now
        if self._stale:
            self._drop_stale_tops()
        heaps = self._heaps
        in_flight = self.slots.in_flight
        share = self.slots.share
        first = heaps[PROVEN]
        for standing in UNPROVEN:
            heap = heaps[standing]
            if heap and in_flight[standing] < share and (not first or heap[0] < first[0]):
                first = heap
        return _pop_entry(first) if first and first[0][0] <= now else None

    def pop_first(self, now: float, standings: Iterable[int]) -> Entry | None:
        """Remove and return a due entry of the first of these standings that has one, or None.

        Whether a slot is free for the host is not checked.
        """
        if self._stale:
            self._drop_stale_tops()
        for standing in standings:
            heap = self._heaps[standing]
            if heap and heap[0][0] <= now:
                return _pop_entry(heap)
        return None

    def pop_spare(self, now: float) -> Entry | None:
        """Remove and return a due entry of an unproven host beyond its share, or None.

        It is for a slot that `pop_due` has left free. Better standings go first.
        """
        heap = self.spare(now)
        return _pop_entry(heap) if heap is not None else None

    def spare(self, now: float) -> list[Entry] | None:
        """Return the heap from which `pop_spare` would return an entry, or None."""
        if self._stale:
            self._drop_stale_tops()
        for standing in UNPROVEN:
            heap = self._heaps[standing]
            if heap and heap[0][0] <= now and self.slots.room(standing):
                return heap
        return None

    def _drop_stale_tops(self) -> None:
        """Remove entries without a valid ticket from the top of each heap."""
        for heap in self._heaps:
            while heap and heap[0][2].ticket != heap[0][1]:
                heappop(heap)
                self._stale -= 1

    def ready(self, now: float) -> int:
        """Return the number of hosts that are due. It takes 3 ms with 30,000 hosts."""
        return sum(self._count_due(standing, now) for standing in range(len(self._heaps)))

    def starved(self, now: float, *, full: bool) -> int:
        """Return the number of hosts that wait for a slot, not counting doubtful ones.

        `full`: no slot is free for any host. The call takes as long as `ready`.
        """
        without_slot: Iterable[int] = (PROVEN, ANSWERED, NEW)
        if not full:
            without_slot = [each for each in (ANSWERED, NEW) if not self.slots.open_to(each)]
        due_before = now - WAITS_FOR_SLOT_SECONDS
        return sum(self._count_due(standing, due_before) for standing in without_slot)

    def _count_due(self, standing: int, now: float) -> int:
        """Return the number of hosts of this standing that are due at this time."""
        return sum(
            at <= now and host.ticket == ticket for at, ticket, host in self._heaps[standing]
        )


def ends(host: Host) -> bool:
    """Return whether all URLs of the host end without a request, so that nothing is waited for."""
    return host.retired not in (0, Status.HOST_BUDGET)  # of one with its pages, revisits may be due


def _pop_entry(heap: list[Entry]) -> Entry:
    """Remove and return the first entry, whose host then has no ticket."""
    entry = heappop(heap)
    entry[2].ticket = 0
    return entry
