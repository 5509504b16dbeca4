"""Politeness per IP address, for those who ask for it: hosts that share a server take turns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from webcrawl.frontier.hosts import Host

SWEEP = 4096  # addresses remembered before those that no longer matter are looked for


@dataclass(slots=True)
class Address:
    """`in_use`: a host behind it is being asked. Only the first of `waiting` is let go when that ends."""

    ready_at: float = 0.0
    in_use: bool = False
    waiting: deque[Host] = field(default_factory=deque)


class Addresses:
    """The addresses of the hosts in the back-end."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}
        self._held: dict[str, str] = {}  # host name -> the address it holds, though DNS may say another by then
        self._sweep_at = SWEEP

    def __len__(self) -> int:
        return len(self._addresses)

    def learn(self, ip: str, ready_at: float) -> None:
        """A host with this address may not be asked before."""
        address = self._addresses.setdefault(ip, Address())
        address.ready_at = max(address.ready_at, ready_at)

    def hold(self, host: Host, now: float) -> float | None:
        """None if the host may be asked now; else when to try again, or infinity: it waits here to be woken."""
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
        """The host is done, its address may be asked at `ready_at`; returns a host that waited for that."""
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
