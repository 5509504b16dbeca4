"""A flood of hosts must not take every place: the back-end is shared by registered domain, address and origin."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from webcrawl.base.model import Packed, via_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host

LEAST = 4  # places that any domain may have: www, m, img and one more
WIDER = 4  # times a domain's share for an address, because innocent sites share servers, and for an origin
DOMAINS = 1024  # domains with a queue of their own; all further ones share one more
LOOKS = 16  # domains looked at for one that has room before `GroupQueues.pop` gives up

Group = str
"""A registered domain; @ and an address; or, for hosts that a site has brought, < and the site's domain."""


class PlaceShares:
    """Counts the active hosts of each group. Beyond its limit, others go first.

    An address counts once a host has answered from it, and its limit holds only while hosts of other known addresses
    are active. The origin of a host is the registered domain of the page whose link let it in, if that is another one:
    a page may name any number of new domains.
    """

    def __init__(self, domain_of: Callable[[str], str], places: int, divisor: int) -> None:
        """A domain may have one in `divisor` of these places; 1: there is no limit."""
        self.domain_of = domain_of
        self._limit: float = max(places // divisor, LEAST) if divisor > 1 else float("inf")
        self._active: dict[str, tuple[Group, Group, Group]] = {}  # domain, address, origin; empty: none
        self._counts: dict[Group, int] = {}
        self._located = 0  # active hosts whose address is known

    def enter(self, host: Host, origin: Group = "") -> None:
        """The host has become active."""
        groups = self._active[host.name] = (self.domain_of(host.name), _address(host), origin)
        counts = self._counts
        for group in groups:
            if group:
                counts[group] = counts.get(group, 0) + 1
        self._located += bool(host.ip)

    def leave(self, host: Host) -> Group:
        """The host is no longer active. Returns its origin."""
        groups = self._active.pop(host.name)
        for group in groups:
            if group and self._counts[group] > 1:
                self._counts[group] -= 1
            elif group:
                del self._counts[group]
        self._located -= bool(groups[1])
        return groups[2]

    def bring(self, host: Host, origin: Group) -> None:
        """Notes where a host that has just become active comes from."""
        if origin:
            domain, address, _ = self._active[host.name]
            self._active[host.name] = (domain, address, origin)
            self._counts[origin] = self._counts.get(origin, 0) + 1

    def has_active(self, group: Group) -> bool:
        """Return whether a host of the group is active."""
        return group in self._counts

    def domains_of(self, hosts: Iterable[Host]) -> set[Group]:
        """Return the registered domains of these active hosts."""
        return {self._active[host.name][0] for host in hosts}

    def origin(self, record: Packed, domain: str) -> Group:
        """The domain that a link comes from; empty if that is no page, or one of the same domain."""
        via = via_of(record)
        if not via:
            return ""
        brought = self.domain_of(host_of(via))
        return f"<{brought}" if brought != domain else ""

    def full(self, group: Group) -> bool:
        """True if these hosts have all places that they may have while others wait."""
        count = self._counts.get(group, 0)
        if count < self._limit:
            return False
        if group[0] not in "@<":
            return True
        return count >= WIDER * self._limit and (group[0] == "<" or count < self._located)

    def crowd(self, host: Host) -> Group | None:
        """The group of an inactive host that keeps it out, or None if it may enter."""
        domain = self.domain_of(host.name)
        if self.full(domain):
            return domain
        address = _address(host)
        return address if address and self.full(address) else None

    def exceeded(self, host: Host) -> bool:
        """True if an active host is one too many of its domain or address."""
        domain, address, _ = self._active[host.name]
        if self._counts[domain] > self._limit:
            return True
        if address[1:] != host.ip:  # learned or changed since the host entered
            self.enter(host, self.leave(host))
            address = _address(host)
        count = self._counts[address] if address else 0
        return WIDER * self._limit < count < self._located


class GroupQueues:
    """The queues of those whose domain or address has its share: one disk queue per group, and the groups take turns.

    A record is a packed link, or the name of a parked host, which has no space in it.
    """

    def __init__(self, make: Callable[[bytes | None], Fifo], saved: Mapping[Group, bytes]) -> None:
        """`make` restores a queue, or makes an empty one."""
        self._make = make
        self.queues = OrderedDict((group, make(data)) for group, data in saved.items())  # the next one first

    def push(self, group: Group, record: bytes) -> None:
        queue = self.queues.get(group)
        if queue is None:
            group = group if len(self.queues) < DOMAINS else "*"
            queue = self.queues.get(group) or self.queues.setdefault(group, self._make(None))
        queue.push(record)

    def pop(self, full: Callable[[Group], bool]) -> bytes | None:
        """The first record of the next group that is not full; None if the next few all are."""
        for _ in range(min(LOOKS, len(self.queues))):
            group, queue = self.queues.popitem(last=False)
            if full(group):
                self.queues[group] = queue
                continue
            record = queue.pop()
            if queue.count:
                self.queues[group] = queue
            else:
                queue.close()
            return record
        return None

    def pop_from(self, group: Group) -> bytes | None:
        """The first record of a group; its turn stays as it is."""
        queue = self.queues.get(group)
        record = queue.pop() if queue is not None else None
        if queue is not None and not queue.count:
            queue.close()
            del self.queues[group]
        return record

    def save(self) -> dict[Group, bytes]:
        """The part of a checkpoint, in the order of turns."""
        return {group: queue.save() for group, queue in self.queues.items()}


def _address(host: Host) -> Group:
    return f"@{host.ip}" if host.ip else ""
