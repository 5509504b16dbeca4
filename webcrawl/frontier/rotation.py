"""Which hosts have a queue in the back-end: they enter from the front-end and give way; n follows the demand."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.frontier.back import BackEnd
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.hosts import Host, State
from webcrawl.frontier.parts import Queues
from webcrawl.model import authority_of, url_of
from webcrawl.urls.hosts import host_of

MOVES = 1000  # URLs that one refill moves to active hosts' queues before it gives up: about 2 ms
STAY = 1000  # URLs after which a host gives way if others wait and there is no room for more queues


class Rotation:
    """Mercator 3.1's refill, BUbiNG's required front, and turns for hosts when there is no room for all."""

    def __init__(
        self,
        queues: Queues,
        back: BackEnd,
        limits: Limits,
        enter: Callable[[Host], None],
        ended: Callable[[bytes, int], None],
    ) -> None:
        """`enter` makes a host active; `ended` is called with each record of a retired host, and its Status."""
        self._front, self._parked, self._hosts, self._back = queues.front, queues.parked, queues.hosts, back
        self._least, self._most, self._ended = limits.queues, limits.max_queues, ended
        self._enter = enter
        self._parked_next = False
        self.width = limits.queues  # the current n

    def __repr__(self) -> str:
        return f"<Rotation n={self.width} parked={len(self._parked)}>"

    def can_grow(self) -> bool:
        return len(self._back.active) < self._most and self.others_wait()

    def others_wait(self) -> bool:
        """Whether there are URLs outside the back-end."""
        return bool(self._front.filled or self._parked)

    def grow(self) -> bool:
        """Adds a queue, because fetchers starve while URLs wait in the front-end (BUbiNG's required front)."""
        if not self.can_grow() or not self.refill():
            return False
        self.width = max(self.width, len(self._back))
        return True

    def shrink(self) -> None:
        """Removes a queue, because hosts wait for fetchers."""
        self.width = max(self.width - 1, self._least)

    def refill(self) -> bool:
        """Moves URLs from the front-end until one makes a host active; every other turn is a parked host's."""
        front = self._front
        self._parked_next = not self._parked_next
        if self._parked_next or not front.filled:
            name = self._parked.pop() if self._parked else None
            if name is not None:
                self._enter(self._hosts.get(name.decode()))
                return True
        for _ in range(MOVES if front.filled else 0):
            record = front.pop()
            if record is None:
                break
            if self._route(record):
                return True
        return False

    def _route(self, record: bytes) -> bool:
        """Moves a URL from front to back, once, whatever its host's state; returns whether a host became active."""
        name = _host(record)
        host = self._back.active.get(name)
        if host is not None:
            self._hosts.touch(host)
            queue = self._hosts.queue_for(host, record)
            queue.push(record)
            if queue.count == 1 and host.ticket:  # it was scheduled for a retry; now it has a URL
                self._back.schedule(host, host.due())
            return False
        host = self._hosts.get(name)
        if host.retired:
            self._ended(record, host.retired)
        else:
            self._hosts.touch(host)
            self._hosts.queue_for(host, record).push(record)
            if host.state is State.IDLE:
                self._enter(host)
                return True
        self._hosts.put_away(host)
        return False

    def must_yield(self, host: Host) -> bool:
        """Whether the host must give way: it is far over its share, others wait, and no more queues fit."""
        return host.stay >= STAY and len(self._back) >= self._most and self.others_wait() and not host.retired

    def park(self, host: Host) -> None:
        """Moves the host out of the back-end, behind all other parked hosts; its URLs stay in its queue."""
        self._back.leave(host, State.PARKED)
        self._parked.push(host.name.encode())
        self._parked_next = True  # so the next turn is the front-end's, and the host does not return at once


def _host(record: bytes) -> str:
    """The host that a packed link is queued under."""
    name = authority_of(record)
    return name if ":" not in name else host_of(url_of(record))
