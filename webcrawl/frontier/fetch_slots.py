"""Shares the slots among hosts: a host's standing says how likely it is to hold one for long."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.frontier.hosts import Host

# A host's standing, best first. All but the first are unproven: they may hold a slot long after a page would be there.
PROVEN = 0  # its last requests were answered in good time, and it has given a page
ANSWERED = 1  # the same without a page, i.e. only its robots.txt has come so far
NEW = 2  # it was never asked
DOUBTFUL = 3  # its last request failed, or one of the last five was cut or took too long
UNPROVEN = (ANSWERED, NEW, DOUBTFUL)

SHARE = 16  # each unproven standing is sure of one slot in so many
# And better hosts of one slot in RESERVE, if there are as many hosts. Of these slots, hosts that have only answered for
# their robots.txt have half at most: in a crawl of one page per host, robots.txt takes longer than the page, which
# needs no new connection. docs/decisions/frontier-hosts.md has the figures.
RESERVE = 3
# An answer is slow after this many seconds, or after USUAL times what most answers take, if that is longer. The
# estimate of that begins at UNKNOWN and follows the median of all answers by one STEP each.
SLOW, USUAL, UNKNOWN, STEP = 5.0, 4.0, 15.0, 1.05


class FetchSlots:
    """Counts the active hosts of each standing and their requests in flight, and decides who may have a free slot."""

    def __init__(self, count: int = 0, awaited: Callable[[], bool] | None = None) -> None:
        """`count` is the number of slots, i.e. of requests in flight; 0: no limit, so nothing is shared either.

        `awaited` says whether links are on their way that may be of hosts that have left for want of any.
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
        self._reserve, self._reserves = reserve, (reserve, reserve // 2, reserve)

    # -- hosts

    def enter(self, host: Host) -> None:
        """A host becomes active."""
        standing = host.standing = self._standing(host)
        self.hosts[standing] += 1
        if standing == PROVEN and self._left:
            self._left -= 1

    def leave(self, host: Host) -> None:
        self.hosts[host.standing] -= 1
        self._left += host.standing == PROVEN and not host.retired

    def gone(self, host: Host) -> None:
        """A host that has left does not come back: no slot is kept for it."""
        self._left -= host.standing == PROVEN and not host.retired

    def answered(self, host: Host, seconds: float) -> None:
        """Its last request took this long, as its record says too. What is slow follows the median, not the slowest."""
        slow = self.slow
        quick = USUAL * seconds <= slow
        if not quick:
            self.slow = slow * STEP
        elif slow > SLOW:
            self.slow = max(slow / STEP, SLOW)
        if not quick or host.standing != PROVEN or host.failures:
            self.judge(host)

    def judge(self, host: Host) -> None:
        """The record of a host that is neither scheduled nor asked has changed, and with it perhaps its standing."""
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
        """Seconds after which a request to this host may be cut: twice what one took lately, so that one ends."""
        return max(self.slow, 2 * max(host.times, default=0.0))

    def _standing(self, host: Host) -> int:
        if host.retired:  # its URLs are dropped, which takes no slot
            return PROVEN
        times = host.times
        if host.failing() or (times and max(times) > self.slow):
            return DOUBTFUL
        if host.pages:
            return PROVEN
        return ANSWERED if times else NEW

    # -- who may have a slot

    def open_to(self, standing: int) -> bool:
        """True if a host of this standing would get a slot that is free."""
        return standing == PROVEN or self.asked[standing] < self.share or self.room(standing)

    def room(self, standing: int) -> bool:
        """True if one more unproven host of this standing may have a slot beyond the share.

        Its own hosts and all worse ones must leave the slots that are kept for better hosts; with the hosts between
        them and the proven, they must leave those that are kept for the proven; and so on.
        """
        hosts, asked, share, count = self.hosts, self.asked, self.share, self._count
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
        """The slots that hosts of this standing leave to better ones."""
        kept = sum(map(min, self.hosts[:standing], self._reserves))
        if kept < self._reserve and self._left and self._awaited is not None and self._awaited():
            kept += self._left
        return min(kept, self._reserve)
