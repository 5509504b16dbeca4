"""Politeness per IP address (POLITENESS_PER_IP): hosts that share a server take turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from webcrawl.frontier.hosts import Host

SWEEP = 4096  # addresses kept before unneeded ones are removed


@dataclass(slots=True)
class Address:
    """An IP address that hosts share: who uses it, when it may be contacted, and who waits for it."""

    ready_at: float = 0.0  # no request before this time
    # a request to one of its hosts is in flight; when it ends, the first host of `waiting` is woken
    in_use: bool = False
    lent: bool = False  # an inline download asks one of its hosts
    waiting: deque[Host] = field(default_factory=deque)


class Addresses:
    """The addresses of hosts in the back-end, and when each may be contacted again."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}
        # host name -> the address it holds; DNS may have changed since
        self._held: dict[str, str] = {}
        self._sweep_at = SWEEP  # addresses beyond which unneeded ones are removed

    def __len__(self) -> int:
        return len(self._addresses)

    def delay_address(self, ip: str, ready_at: float) -> None:
        """Make the address wait until `ready_at` at least."""
        # A host's address is known after its first answer only, so its first request waits for no
        # address.
        address = self._addresses.setdefault(ip, Address())
        address.ready_at = max(address.ready_at, ready_at)

    def reserve_address(self, host: Host, now: float) -> float | None:
        """Reserve the host's address and return None; else return the time to try again.

        Infinity: the address is in use. `release` or `take_back` returns the host to be woken.
        """
        address = self._addresses.setdefault(host.ip, Address())
        if address.in_use or address.lent:
            address.waiting.append(host)
            return float("inf")
        if address.ready_at > now:
            return address.ready_at
        address.in_use = True
        self._held[host.name] = host.ip
        return None

    def release(self, host: Host, ready_at: float, now: float) -> Host | None:
        """Free the host's address, which must wait until `ready_at`.

        Return a host to wake, if one waits for it.
        """
        ip = self._held.pop(host.name, None)
        if ip is None:
            return None
        address = self._addresses[ip]
        address.in_use = False
        address.ready_at = max(address.ready_at, ready_at)
        if len(self._addresses) > self._sweep_at:
            self._forget(now)
        may_be_requested = bool(address.waiting) and not address.lent
        return address.waiting.popleft() if may_be_requested else None

    def dismiss(self, leaves: Callable[[str], bool]) -> list[Host]:
        """Let the hosts whose names `leaves` accepts wait for their addresses no more.

        Return hosts to wake: one of those that leave may have been woken for an address that is
        free now, so the next one is.
        """
        woken = []
        for address in self._addresses.values():
            if not address.waiting:
                continue
            address.waiting = deque(host for host in address.waiting if not leaves(host.name))
            is_free = not (address.in_use or address.lent)
            if address.waiting and is_free:
                woken.append(address.waiting.popleft())
        return woken

    # -- for inline downloads (frontier/lending.py)

    def ready_at(self, ip: str) -> float:
        """Return the time at which the address may be contacted; infinity while it is lent."""
        address = self._addresses.get(ip)
        if address is None:
            return 0.0
        return float("inf") if address.lent else address.ready_at

    def holder(self, ip: str) -> str | None:
        """Return the host whose request in flight holds the address."""
        return next((name for name, held in self._held.items() if held == ip), None)

    def lend(self, ip: str) -> None:
        self._addresses.setdefault(ip, Address()).lent = True

    def take_back(self, ip: str, ready_at: float) -> Host | None:
        """Let the address wait until `ready_at`. Return a host to wake, if one waits for it."""
        address = self._addresses[ip]
        address.lent = False
        address.ready_at = max(address.ready_at, ready_at)
        may_be_requested = bool(address.waiting) and not address.in_use
        return address.waiting.popleft() if may_be_requested else None

    def _forget(self, now: float) -> None:
        """Forget unused addresses that may be requested now, and set the size of the next sweep."""
        kept: dict[str, Address] = {}
        for ip, address in self._addresses.items():
            is_used = address.in_use or address.lent or address.waiting
            # An unused address whose wait is over has the same record as a new one.
            if is_used or address.ready_at > now:
                kept[ip] = address
        self._addresses = kept
        # The bound doubles with what is left, so that sweeps cost each new address a constant part.
        self._sweep_at = max(SWEEP, 2 * len(self._addresses))
