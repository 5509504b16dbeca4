"""An outage of our own network: the hosts that are requested all the same, and the pardon after it."""

from __future__ import annotations

from heapq import heapify, heappush

from webcrawl.base.model import Link
from webcrawl.frontier.back_end import ANSWERED, DOUBTFUL, NEW, PROVEN
from webcrawl.frontier.core import TRUNCATED_PAGES, Charge, Core, Gate
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.url_selection import UrlSelection
from webcrawl.store.jobdir.host_row import HostState

AT_ONCE = 0.0  # in a host's retries: it is due
STEPS = 64  # hosts examined for one probe


class Outage:
    """What the frontier does for an outage of our own network.

    While it lasts, a *probe* is a link that is fetched to find out whether it is over. Afterwards the
    *pardon* takes back the failures that hosts were charged with, the last one first.
    """

    def __init__(self, core: Core, rotation: Rotation, selection: UrlSelection) -> None:
        self._core = core
        self._states = rotation.states
        self._rotation = rotation
        self._selection = selection
        self._hosts = core.hosts
        self._back = core.back
        self._counters = core.counters

    def probe(self, now: float, *, anyone: bool) -> Link | None:
        """Return a link of a due host: of one that answered last time, if there is one.

        `anyone`: of a new or failing host, if there is one. None if no due host has a link.
        """
        self._rotation.begin()
        order = (NEW, ANSWERED, DOUBTFUL, PROVEN) if anyone else (PROVEN, ANSWERED, NEW, DOUBTFUL)
        for _ in range(STEPS):
            entry = self._back.pop_first(now, order)
            if entry is None:
                break
            link = self._selection.hand_out(entry[2], now)
            if link is not None:
                return link
        return None

    def pardon(self, since: float) -> int:
        """Take back all failures of this time and later, and return how many there were."""
        count = 0
        for charge in self._core.charges.pop_since(since):
            self._undo(charge)
            count += 1
        self._counters["forgiven"] += count
        return count

    def _undo(self, charge: Charge) -> None:
        """Undo one failure: restore its host's record and the link's attempt.

        The host is scheduled, let in or put away by its new state. For a host of another crawl only
        the link is passed on.
        """
        gate = self._core.gate
        if gate is not None and gate.foreign(charge.host):
            self._pass_on(gate, charge)
            return
        host, active = self._core.open(charge.host)
        self._hosts.touch(host)
        if not active:
            self._states.recall(host)
        record = self._core.origins.own(host, charge.link.url) or host
        charge.undo(record)
        # The host was requested all the same, and politeness counts from then.
        host.ready_at = max(host.ready_at, charge.at + self._core.book.wait(host))
        self._restore(record, charge)
        self._core.origins.tidy(host)
        if not active:
            self._return(host)
        elif host.ticket:
            self._back.slots.judge(host)
            self._back.schedule(host, host.due())

    def _pass_on(self, gate: Gate, charge: Charge) -> None:
        """Pass on a link that had ended and comes again, as its host has gone with its record."""
        if charge.retry is None and _comes_back(charge):
            self._counters["finished"] -= 1
            self._counters[TRUNCATED_PAGES] -= charge.short
            gate.pass_on(charge.link.pack())

    def _restore(self, host: Host, charge: Charge) -> None:
        """Give a link its attempt back, also if it was the last one.

        A robots.txt comes when it is needed.
        """
        retry = charge.retry
        if retry is None:
            if not _comes_back(charge):
                return
            # The URL had ended by this failure. It gets a second line in crawl.log.
            self._counters["finished"] -= 1
            self._counters[TRUNCATED_PAGES] -= charge.short
            self._selection.put_back(host, charge.link.pack())
        elif retry in host.later:  # else it is under way again
            host.later.remove(retry)
            heapify(host.later)
            heappush(host.later, (AT_ONCE, charge.link.pack()))
            self._counters["tried again"] -= 1

    def _return(self, host: Host) -> None:
        """Put away a host that is not active, or let it in if it has something to fetch."""
        if host.state is HostState.IDLE and host.waiting():
            self._states.wake(host)
        else:
            self._hosts.put_away(host)


def _comes_back(charge: Charge) -> bool:
    """Return whether a link whose attempts were used up comes again.

    A charge for a lent host, or for a download that was cancelled, has no URL. Of its own request's
    end a spider was told. A page that is fetched again has its next time already.
    """
    link = charge.link
    return bool(link.url) and not link.history and not link.is_own and not link.request
