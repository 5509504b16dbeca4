"""What all parts of a frontier share: where its hosts are, by which rules they are asked, and how many URLs it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webcrawl.base.model import Link
from webcrawl.frontier.arguments import Gate, Hooks, Queues, Rules
from webcrawl.frontier.back_end import BackEnd
from webcrawl.frontier.booking import Booking
from webcrawl.frontier.charges import Charges
from webcrawl.frontier.fetch_slots import FetchSlots
from webcrawl.frontier.host_origins import Origins
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.hosts_set_aside import SetAside


class Core:
    """The kernel: every part is made with it, and with those other parts that it calls."""

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, resumed: float) -> None:
        """`resumed`: requests from the last checkpoint until then are unknown, so that every host waits its turn."""
        self.queues, self.hosts = queues, queues.hosts
        self.back = BackEnd(FetchSlots(rules.limits.fetchers, hooks.awaited))
        self.aside = SetAside(queues.aside, queues.hosts, queues.parked, rules.limits.host_failures)
        self.book = Booking(rules.politeness, rules.limits)
        self.origins = Origins(queues.hosts, self.book)
        self.addresses, self.admission, self.resumed = hooks.addresses, hooks.admission, resumed
        self.charges = Charges()
        self.gate: Gate | None = None
        self.width = rules.limits.queues  # the current n (rotation.py)
        self.queued = 0
        self.in_flight = 0
        self.counters: Counter[str] = Counter()
        self.dropped: list[Callable[[Link, int], None]] = []  # are told of each URL that ends without a download

    def is_foreign(self, name: str) -> bool:
        """True if the host belongs to another crawl of the hive."""
        return self.gate is not None and self.gate.foreign(name)

    def drop(self, link: Link, status: int) -> None:
        """Ends a URL that is not asked for, and that has left its queue."""
        self.counters[f"dropped/{status}"] += 1
        for tell in self.dropped:
            tell(link, status)

    def dismiss(self, leaves: Callable[[str], bool]) -> None:
        """These hosts do not wait for their addresses any more, which would schedule them once more."""
        for host in self.addresses.dismiss(leaves) if self.addresses is not None else ():
            self.back.schedule(host, host.due())

    def open(self, name: str) -> tuple[Host, bool]:
        """The record of a host, and whether it is in the back-end; if not, `close` is to be called."""
        host = self.back.active.get(name)
        return (self.hosts.get(name), False) if host is None else (host, True)

    def close(self, host: Host, *, active: bool) -> None:
        if not active:
            self.hosts.put_away(host)

    @contextmanager
    def opened(self, name: str) -> Iterator[Host]:
        """The record of a host, in the back-end or not; one that is not may leave memory afterwards."""
        host, active = self.open(name)
        try:
            yield host
        finally:
            self.close(host, active=active)
