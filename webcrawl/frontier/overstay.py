"""Which downloads are cut because others need their slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from webcrawl.frontier.back import BackEnd
from webcrawl.frontier.slots import PROVEN
from webcrawl.model import Link
from webcrawl.urls.hosts import host_of

# Bytes per second of a download that is never cut: 2 MiB at less would not be complete within three minutes anyway,
# and what a faster one has brought would be asked for a second time.
STEADY = 10_000


class Running(Protocol):
    """A download under way."""

    @property
    def link(self) -> Link: ...

    @property
    def seconds(self) -> float:
        """How long it has had its slot."""
        ...

    @property
    def received(self) -> int:
        """Bytes of answer so far."""
        ...


R = TypeVar("R", bound=Running)


def overstaying(back: BackEnd, running: Sequence[R], *, full: bool) -> list[R]:
    """Those whose hosts' patience is over, the slowest first.

    While slots are free for proven hosts, only unproven hosts wait, and only slots of unproven hosts help them.
    """
    found = [one for one in running if one.seconds > back.slots.slow and _may_go(back, one, full=full)]
    return sorted(found, key=lambda one: one.received / one.seconds)


def _may_go(back: BackEnd, one: Running, *, full: bool) -> bool:
    host = back.active[host_of(one.link.url)]
    if one.received >= STEADY * one.seconds or not (full or host.standing != PROVEN):
        return False
    return one.seconds > back.slots.patience(host)
