"""Takes back what failures did to hosts and links, when they turn out to have been our own network's."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappush

from webcrawl.base.model import Packed
from webcrawl.frontier.arguments import Gate
from webcrawl.frontier.charges import CUT_SHORT, Charge, Charges
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.lending import Lender
from webcrawl.frontier.rotation import Rotation
from webcrawl.store.jobdir.host_row import State

AT_ONCE = 0.0  # in a host's retries: it is due


class Pardon:
    """Undoes charges, the last one first."""

    def __init__(
        self,
        charges: Charges,
        parts: Lender,
        rotation: Rotation,
        enter: Callable[[Host], None],
        ask_again: Callable[[Host, Packed], None],
    ) -> None:
        """`enter` makes a host active; `ask_again` queues a link that was finished, as its host's first."""
        self._charges, self._rotation, self._enter, self._ask_again = charges, rotation, enter, ask_again
        self._hosts, self._back, self._book, self._counters = parts.hosts, parts.back, parts.book, parts.counters
        self.gate: Gate | None = None

    def since(self, when: float) -> int:
        """Takes back all failures of this time and later; returns how many there were."""
        count = 0
        for charge in self._charges.take(when):
            self._undo(charge)
            count += 1
        self._counters["forgiven"] += count
        return count

    def _undo(self, charge: Charge) -> None:
        if self.gate is not None and self.gate.foreign(charge.host):
            self._pass_on(self.gate, charge)
            return
        active = self._back.active.get(charge.host)
        host = active if active is not None else self._hosts.get(charge.host)
        self._hosts.touch(host)
        if active is None:
            self._rotation.aside.recall(host)
        charge.undo(host)
        host.ready_at = max(host.ready_at, charge.at + self._book.wait(host))  # it was asked, though
        self._restore(host, charge)
        if active is None:
            self._return(host)
        elif host.ticket:
            self._back.slots.judge(host)
            self._back.schedule(host, host.due())

    def _pass_on(self, gate: Gate, charge: Charge) -> None:
        """The host has gone with its record, and a link that comes again with its attempts; one that ended does too."""
        if charge.retry is None and _comes_back(charge):
            self._counters["finished"] -= 1
            self._counters[CUT_SHORT] -= charge.short
            gate.pass_on(charge.link.pack())

    def _restore(self, host: Host, charge: Charge) -> None:
        """Gives a link its attempt back, also if it was the last one; robots.txt comes when it is needed."""
        retry = charge.retry
        if retry is None:
            if not _comes_back(charge):
                return
            self._counters["finished"] -= 1
            self._counters[CUT_SHORT] -= charge.short
            self._ask_again(host, charge.link.pack())
        elif retry in host.later:  # else it is under way again
            host.later.remove(retry)
            heapify(host.later)
            heappush(host.later, (AT_ONCE, charge.link.pack()))
            self._counters["tried again"] -= 1

    def _return(self, host: Host) -> None:
        """Puts away a host that is not active, or lets it in if it has something to fetch."""
        if host.state is State.IDLE and host.waiting() and self._rotation.aside.keeps(host):
            self._rotation.rest(host, self._back.now)
        elif host.state is State.IDLE and host.waiting():
            self._enter(host)
        else:
            self._hosts.put_away(host)


def _comes_back(charge: Charge) -> bool:
    """True if a link whose attempts were used up comes again; for none a host was lent or a download cut.

    Of its own request's end a spider was told. A page that is fetched again has its next time already.
    """
    link = charge.link
    return bool(link.url) and not link.history and not link.is_own and not link.request
