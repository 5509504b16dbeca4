"""The downloads that are cut because others need their slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Link
from webcrawl.frontier.back_end import BackEnd
from webcrawl.frontier.rotation import Rotation
from webcrawl.frontier.slots import PROVEN

# Bytes per second of a download that is never cut: 2 MiB at less would not be complete within three minutes anyway,
# and what a faster one has brought would be asked for a second time.
STEADY = 10_000
LOOKS = 4  # hosts let in to find one that waits for a slot


class Running(Protocol):
    """A download under way."""

    @property
    def link(self) -> Link: ...

    @property
    def seconds(self) -> float:
        """The seconds for which it has had its slot."""
        ...

    @property
    def received(self) -> int:
        """Bytes of answer so far."""
        ...


R = TypeVar("R", bound=Running)


class Overstay:
    """Finds them, and how many slots others need."""

    def __init__(self, back: BackEnd, rotation: Rotation) -> None:
        self._back, self._rotation = back, rotation

    def downloads(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Those whose hosts' patience is over, the slowest first; `full`: no slot is free.

        While slots are free for proven hosts, only unproven hosts wait, and only slots of unproven hosts help them.
        """
        found = [one for one in running if one.seconds > self._back.slots.slow and self._may_go(one, full=full)]
        return sorted(found, key=lambda one: one.received / one.seconds)

    def starved(self, now: float, *, full: bool) -> int:
        """The number of hosts that wait for a slot."""
        waiting = self._back.starved(now, full=full)
        if full and not waiting:  # then nobody has looked whether others wait outside
            for _ in range(LOOKS):
                if self._rotation.can_grow():
                    self._rotation.grow()
        return waiting

    def _may_go(self, one: Running, *, full: bool) -> bool:
        host = self._back.active[host_of(one.link.url)]
        if one.received >= STEADY * one.seconds or not (full or host.standing != PROVEN):
            return False
        return one.seconds > self._back.slots.patience(host)
