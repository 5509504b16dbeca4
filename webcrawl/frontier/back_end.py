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
NEW = 2  # it was never asked
DOUBTFUL = 3  # its last request failed, or one of the last five was cut or took too long
UNPROVEN = (ANSWERED, NEW, DOUBTFUL)

SHARE = 16  # each unproven standing is sure of one slot in so many
# And better hosts of one slot in RESERVE, if there are as many hosts. Of these slots, hosts that
# have only answered for their robots.txt have half at most: in a crawl of one page per host,
# robots.txt takes longer than the page, which needs no new connection.
# Good pages of 300 hosts beside 1,000 that drip every other answer, and seconds for 5,000 hosts of
# two pages: with half of the slots kept 49,389 and 65 s, with a third 49,307 and 52 s, with a
# quarter 46,458 and 49 s.
RESERVE = 3
# An answer is slow after this many seconds, or after USUAL times what most answers take, if that is
# longer. The estimate of that begins at UNKNOWN and follows the median of all answers by one STEP
# each.
SLOW, USUAL, UNKNOWN, STEP = 5.0, 4.0, 15.0, 1.05


class FetchSlots:
    """Counts the active hosts of each standing and their requests in flight, and decides who may
    have a free slot.
    """

    def __init__(self, count: int = 0, awaited: Callable[[], bool] | None = None) -> None:
        """`count` is the number of slots, i.e. of requests in flight.

        0: no limit, so nothing is shared either.

        `awaited` says whether links are on their way that may be of hosts that have left for want
        of any.
        """
        self.hosts = [0, 0, 0, 0]
        self.asked = [0, 0, 0, 0]
        self.slow = UNKNOWN  # seconds after which an answer is slow
        self.resize(count)
        self._awaited = awaited
        self._left = 0  # proven hosts that have left for want of URLs, and not come back yet

    def resize(self, count: int) -> None:
        """There are so many slots from now on."""
        self.share: float = max(count // SHARE, 1) if count else float("inf")
        self._count: float = count or float("inf")
        reserve = max(count // RESERVE, int(count > 1))
        self._reserve = reserve
        self._reserves = (reserve, reserve // 2, reserve)

    # -- hosts

    def enter(self, host: Host) -> None:
        """Count a host that becomes active."""
        standing = host.standing = self._standing(host)
        self.hosts[standing] += 1
        if standing == PROVEN and self._left:
            self._left -= 1

    def leave(self, host: Host) -> None:
        self.hosts[host.standing] -= 1
        self._left += host.standing == PROVEN and not host.retired

    def gone(self, host: Host) -> None:
        """Keep no slot for a host that has left, since it does not come back."""
        self._left -= host.standing == PROVEN and not host.retired

    def answered(self, host: Host, seconds: float) -> None:
        """Take note that a host's last request took this long, as its record says too.

        What is slow follows the median, not the slowest.
        """
        slow = self.slow
        # Where all hosts are slow, none is: a fixed bound would make all of them doubtful.
        quick = USUAL * seconds <= slow
        if not quick:
            self.slow = slow * STEP
        elif slow > SLOW:
            self.slow = max(slow / STEP, SLOW)
        if not quick or host.standing != PROVEN or host.failures:
            self.judge(host)

    def judge(self, host: Host) -> None:
        """Judge anew the standing of a host whose record has changed."""
        standing = self._standing(host)
        if standing != host.standing:
            self.hosts[host.standing] -= 1
            self.hosts[standing] += 1
            if host.given is not None:  # of several in flight one has ended
                flights = len(host.flights())
                self.asked[host.standing] -= flights
                self.asked[standing] += flights
            host.standing = standing

    def patience(self, host: Host) -> float:
        """Return the seconds after which a request to this host may be cut.

        They are twice what one took lately, so that one ends.
        """
        # With the default time-out, this doubling cuts no URL more than three times in a row.
        return max(self.slow, 2 * max(host.times, default=0.0))

    def _standing(self, host: Host) -> int:
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
        return standing == PROVEN or self.asked[standing] < self.share or self.room(standing)

    def room(self, standing: int) -> bool:
        """Return whether one more unproven host of this standing may have a slot beyond the share.

        Its own hosts and all worse ones must leave the slots that are kept for better hosts; with
        the hosts between them and the proven, they must leave those that are kept for the proven;
        and so on.
        """
        hosts = self.hosts
        asked = self.asked
        share = self.share
        count = self._count
        held: float = 0
        for worse in range(standing + 1, len(hosts)):
            held += max(asked[worse], min(share, hosts[worse]))
        for one in range(standing, PROVEN, -1):
            held += asked[one]
            # A dozen times for each new host: what is kept is counted only if it matters.
            if held >= count - self._reserve and (held >= count or held >= count - self._kept(one)):
                return False
        return True

    def _kept(self, standing: int) -> int:
        """Return the slots that hosts of this standing leave to better ones."""
        kept = sum(map(min, self.hosts[:standing], self._reserves))
        # A proven host whose queue ran empty counts while links wait for a merge: they may be its
        # own.
        if kept < self._reserve and self._left and self._awaited is not None and self._awaited():
            kept += self._left
        return min(kept, self._reserve)


Entry = tuple[float, int, Host]  # when the host is due, its ticket

LATE = 1.0  # seconds after which a host that is due and not asked is waiting for a slot


class BackEnd:
    """Mercator 3.1: one queue per host, one host per queue, and no host is contacted before it is
    due.

    An unproven host may hold a slot until it times out. However many there are, they leave slots to
    better hosts.
    """

    def __init__(self, slots: FetchSlots) -> None:
        self.active: dict[str, Host] = {}
        self.slots = slots
        self._heaps: list[list[Entry]] = [[], [], [], []]  # one for each standing
        self._tickets = 0
        # entries without a valid ticket; usually none, and then the heaps are not searched for them
        self._stale = 0
        self.now = 0.0  # when somebody last asked for a URL

    def __len__(self) -> int:
        return len(self.active)

    def enter(self, host: Host) -> None:
        """Make a host with URLs active, scheduled behind those that already wait for a fetcher."""
        host.stay = 0
        self.active[host.name] = host
        self.slots.enter(host)
        self.schedule(host, self.now if ends(host) else max(host.due(), self.now))

    def leave(self, host: Host) -> None:
        self._stale += host.ticket > 0
        host.ticket = 0
        self.slots.leave(host)
        if host.lanes is not None:
            host.ready_at = host.rested_at()
            host.lanes = None
        del self.active[host.name]

    def schedule(self, host: Host, at: float) -> None:
        """Replace the host's entry.

        An older one loses its ticket and is skipped when it reaches the top.
        """
        self._stale += host.ticket > 0
        self._tickets += 1
        host.ticket = self._tickets
        heappush(self._heaps[host.standing], (at, self._tickets, host))

    def renew(self, host: Host) -> None:
        """Other URLs of the host have come: it is due when the first of them is."""
        self.schedule(host, self.now if ends(host) else host.due())

    def next_due(self) -> float | None:
        """Return the time at which the first host is due that would get a free slot, or None."""
        if self._stale:
            self._pass_over()
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

        The host stays out until scheduled again.

        Up to their share, unproven hosts are ordered by time like all others; beyond it only
        `pop_spare` gives them.
        """
        self.now = now
        if self._stale:
            self._pass_over()
        heaps = self._heaps
        asked = self.slots.asked
        share = self.slots.share
        first = heaps[PROVEN]
        for standing in UNPROVEN:
            heap = heaps[standing]
            if heap and asked[standing] < share and (not first or heap[0] < first[0]):
                first = heap
        return _pop(first) if first and first[0][0] <= now else None

    def pop_first(self, now: float, standings: Iterable[int]) -> Entry | None:
        """Remove and return a due host of the first of these standings that has one.

        It does not look whether a slot is free for it.
        """
        if self._stale:
            self._pass_over()
        for standing in standings:
            heap = self._heaps[standing]
            if heap and heap[0][0] <= now:
                return _pop(heap)
        return None

    def pop_spare(self, now: float) -> Entry | None:
        """Remove and return an unproven host beyond the share, the better ones first.

        It is like `pop_due`, for a slot that is left.
        """
        heap = self.spare(now)
        return _pop(heap) if heap is not None else None

    def spare(self, now: float) -> list[Entry] | None:
        """Return the heap from which `pop_spare` would return an entry."""
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
        """Return the number of hosts that are due. It takes 3 ms with 30,000 hosts."""
        return sum(self._ready(standing, now) for standing in range(len(self._heaps)))

    def starved(self, now: float, *, full: bool) -> int:
        """Return the number of hosts that wait for a slot, doubtful ones aside.

        `full`: none is free, for whatever host.

        It takes as long as `ready`.
        """
        waiting: Iterable[int] = (PROVEN, ANSWERED, NEW)
        if not full:
            waiting = [one for one in (ANSWERED, NEW) if not self.slots.open_to(one)]
        return sum(self._ready(standing, now - LATE) for standing in waiting)

    def _ready(self, standing: int, now: float) -> int:
        return sum(
            at <= now and host.ticket == ticket for at, ticket, host in self._heaps[standing]
        )


def ends(host: Host) -> bool:
    """Return whether none of the host's URLs is asked for any more.

    If so, they end at once, whatever it waited for.
    """
    return host.retired not in (0, Status.HOST_BUDGET)  # of one with its pages, revisits may be due


def _pop(heap: list[Entry]) -> Entry:
    entry = heappop(heap)
    entry[2].ticket = 0
    return entry
