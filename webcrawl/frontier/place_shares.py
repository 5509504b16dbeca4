"""Limits how many places in the back-end one owner can take, and queues what exceeds the limit.

A page can link to any number of hosts, and the owner of one domain can invent any number of names
in it. So active hosts are counted in groups, and a host of a full group waits while hosts of other
groups can use the place (docs/frontier-inside.md#shares-budgets-families).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from webcrawl.base.model import Packed, via_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host

MIN_PLACES = 4  # every domain may have as many active hosts: enough for www, m, img and one more
# how many times a domain's limit an address or an origin may have: innocent sites share servers
# By domains alone, six pages that named 84,000 domains each left good hosts 140 of 769 pages.
WIDE_FACTOR = 4
# Groups with a queue of their own. All further groups share one. Stochastic fair queueing has no
# tighter bound, and puts an innocent domain into the queue of a flood.
MAX_QUEUES = 1024
MAX_LOOKS = 16  # groups that `GroupQueues.pop` tries before it gives up

Group = str
"""A registered domain, such as `a.test`; an address, `@192.0.2.1`; or an origin, `<a.test`. Empty: none."""

SHARED_GROUP = "*"


class Groups(NamedTuple):
    """The groups in which an active host counts."""

    domain: Group
    address: Group  # empty until the host has answered
    origin: Group  # the domain of the page that linked to the host; empty if it is the host's own


class PlaceShares:
    """Counts the active hosts of each group, and knows which groups are full.

    A domain may have one place in `divisor`. Addresses and origins may have WIDE_FACTOR times as
    many. The limit of an address holds only while hosts of other known addresses are active.
    """

    def __init__(self, domain_of: Callable[[str], str], places: int, divisor: int) -> None:
        """`domain_of` returns the registered domain of a host.

        With a `divisor` of 1 there is no limit.
        """
        self.domain_of = domain_of
        # `places` is the least width of the back-end, and not what it is now: a flood makes that
        # grow.
        self._limit: float = max(places // divisor, MIN_PLACES) if divisor > 1 else float("inf")
        self._groups: dict[str, Groups] = {}  # by active host
        self._counts: dict[Group, int] = {}  # active hosts
        self._with_address = 0  # active hosts whose address is known

    def add(self, host: Host, origin: Group = "") -> None:
        """Count a host that has become active."""
        groups = Groups(self.domain_of(host.name), _address_of(host), origin)
        self._groups[host.name] = groups
        for group in groups:
            if group:
                self._counts[group] = self._counts.get(group, 0) + 1
        self._with_address += bool(groups.address)

    def remove(self, host: Host) -> Group:
        """Stop counting a host that is no longer active. Return its origin."""
        groups = self._groups.pop(host.name)
        for group in groups:
            if group and self._counts[group] > 1:
                self._counts[group] -= 1
            elif group:
                del self._counts[group]
        self._with_address -= bool(groups.address)
        return groups.origin

    def set_origin(self, host: Host, origin: Group) -> None:
        """Count an active host, which had no origin, for this one too.

        An empty origin changes nothing.
        """
        if origin:
            groups = self._groups[host.name]
            self._groups[host.name] = Groups(groups.domain, groups.address, origin)
            self._counts[origin] = self._counts.get(origin, 0) + 1

    def has_active(self, group: Group) -> bool:
        """Return whether a host of the group is active."""
        return group in self._counts

    def domains_of(self, hosts: Iterable[Host]) -> set[Group]:
        """Return the registered domains of these active hosts."""
        return {self._groups[host.name].domain for host in hosts}

    def origin_of(self, record: Packed, domain: str) -> Group:
        """Return the origin of a link to a host of `domain`.

        Empty if the link is a seed or comes from that domain.
        """
        via = via_of(record)
        if not via:
            return ""
        via_domain = self.domain_of(host_of(via))
        return f"<{via_domain}" if via_domain != domain else ""

    def is_full(self, group: Group) -> bool:
        """Return whether a further host of this group has to wait while others can use the place."""
        count = self._counts.get(group, 0)
        if count < self._limit:
            return False
        if group.startswith("@"):
            # Addresses are known after a first answer only, and where all hosts have one address
            # none waits for others.
            return count >= WIDE_FACTOR * self._limit and count < self._with_address
        # An origin counts when a host enters, and no host has to leave for it: a directory's links
        # would come and go.
        if group.startswith("<"):
            return count >= WIDE_FACTOR * self._limit
        return True

    def full_group_of(self, host: Host) -> Group | None:
        """Return the full group that keeps an inactive host out, or None if the host may become
        active.
        """
        domain = self.domain_of(host.name)
        if self.is_full(domain):
            return domain
        address = _address_of(host)
        return address if address and self.is_full(address) else None

    def is_over_limit(self, host: Host) -> bool:
        """Return whether an active host is one too many of its domain or address."""
        groups = self._groups[host.name]
        if self._counts[groups.domain] > self._limit:
            return True
        # The host has answered, or has another address, since it was counted: it is counted anew.
        if groups.address != _address_of(host):
            self.add(host, self.remove(host))
        address = _address_of(host)
        count = self._counts[address] if address else 0
        return WIDE_FACTOR * self._limit < count < self._with_address


class GroupQueues:
    """The disk queues of full groups. The groups take turns.

    A record is a packed link, or the name of a parked host, which contains no space.
    """

    def __init__(self, make: Callable[[bytes | None], Fifo], saved: Mapping[Group, bytes]) -> None:
        """`saved` is what `save` returned.

        `make` restores one queue from it, or makes an empty one from None.
        """
        self._make = make
        # the group whose turn is next first
        self.queues = OrderedDict((group, make(data)) for group, data in saved.items())

    def push(self, group: Group, record: bytes) -> None:
        """Append a record to the queue of its group, or to the shared queue if there are too many
        groups.
        """
        if group not in self.queues and len(self.queues) >= MAX_QUEUES:
            group = SHARED_GROUP
        if group not in self.queues:
            self.queues[group] = self._make(None)
        self.queues[group].push(record)

    def pop(self, is_full: Callable[[Group], bool]) -> bytes | None:
        """Remove and return the first record of the next group that is not full, or None if none is
        found soon.
        """
        for _ in range(min(MAX_LOOKS, len(self.queues))):
            group, queue = self.queues.popitem(last=False)
            if is_full(group):
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
        """Remove and return the first record of this group, or None. The group keeps its turn."""
        queue = self.queues.get(group)
        if queue is None:
            return None
        record = queue.pop()
        if not queue.count:
            queue.close()
            del self.queues[group]
        return record

    def save(self) -> dict[Group, bytes]:
        """Return the queues for a checkpoint, in the order of their turns."""
        return {group: queue.save() for group, queue in self.queues.items()}


def _address_of(host: Host) -> Group:
    return f"@{host.ip}" if host.ip else ""
