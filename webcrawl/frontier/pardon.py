"""Takes back what failures did to hosts and links, when they turn out to have been our own network's."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappush

from webcrawl.frontier.charges import Charge, Charges
from webcrawl.frontier.hosts import Host, State
from webcrawl.frontier.lending import NO_PAGE, Lender
from webcrawl.frontier.rotation import Rotation
from webcrawl.model import Packed

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

    def __repr__(self) -> str:
        return f"<Pardon {self._charges!r}>"

    def since(self, when: float) -> int:
        """Takes back all failures of this time and later; returns how many there were."""
        count = 0
        for charge in self._charges.take(when):
            self._undo(charge)
            count += 1
        self._counters["forgiven"] += count
        return count

    def _undo(self, charge: Charge) -> None:
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

    def _restore(self, host: Host, charge: Charge) -> None:
        """Gives a link its attempt back, also if it was the last one; robots.txt comes when it is needed."""
        if charge.link is NO_PAGE:  # only the host was charged
            return
        retry = charge.retry
        if retry is None:
            if not charge.link.url or charge.link.path.endswith("P") or charge.link.request:
                return  # a host was lent or a download cut; or a spider was told of its request's end
            self._counters["finished"] -= 1
            self._ask_again(host, charge.link.pack())
        elif retry in host.later:  # else it is under way again
            host.later.remove(retry)
            heapify(host.later)
            heappush(host.later, (AT_ONCE, charge.link.pack()))
            self._counters["tried again"] -= 1

    def _return(self, host: Host) -> None:
        """Puts away a host that is not active, or lets it in if it has something to fetch."""
        if host.state is State.IDLE and host.waiting():
            self._enter(host)
        else:
            self._hosts.put_away(host)
