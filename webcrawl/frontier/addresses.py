"""Politeness per IP address (POLITENESS_PER_IP): hosts that share a server take turns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from webcrawl.frontier.hosts import Host

SWEEP = 4096  # addresses kept before unneeded ones are removed


@dataclass(slots=True)
class Address:
    """`in_use`: a request to one of its hosts is in flight. When it ends, the first host of `waiting` is woken."""

    ready_at: float = 0.0
    in_use: bool = False
    waiting: deque[Host] = field(default_factory=deque)


class Addresses:
    """The addresses of hosts in the back-end, and when each may be contacted again."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}
        self._held: dict[str, str] = {}  # host name -> the address it holds; DNS may have changed since
        self._sweep_at = SWEEP

    def __len__(self) -> int:
        return len(self._addresses)

    def learn(self, ip: str, ready_at: float) -> None:
        """Makes the address wait until `ready_at` at least."""
        address = self._addresses.setdefault(ip, Address())
        address.ready_at = max(address.ready_at, ready_at)

    def hold(self, host: Host, now: float) -> float | None:
        """Reserves the host's address and returns None; else the time to try again, or infinity: it will be woken."""
        address = self._addresses.setdefault(host.ip, Address())
        if address.in_use:
            address.waiting.append(host)
            return float("inf")
        if address.ready_at > now:
            return address.ready_at
        address.in_use = True
        self._held[host.name] = host.ip
        return None

    def release(self, host: Host, ready_at: float, now: float) -> Host | None:
        """Frees the host's address, which must wait until `ready_at`. Returns a host to wake, if one waits for it."""
        ip = self._held.pop(host.name, None)
        if ip is None:
            return None
        address = self._addresses[ip]
        address.in_use = False
        address.ready_at = max(address.ready_at, ready_at)
        if len(self._addresses) > self._sweep_at:
            self._forget(now)
        return address.waiting.popleft() if address.waiting else None

    def _forget(self, now: float) -> None:
        self._addresses = {
            ip: address
            for ip, address in self._addresses.items()
            if address.in_use or address.waiting or address.ready_at > now
        }
        self._sweep_at = max(SWEEP, 2 * len(self._addresses))
