"""Decides how many hosts are let in when slots are free, and which downloads are cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.frontier.back_end import NEW, PROVEN
from webcrawl.frontier.core import Core
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.rotation import Rotation

# Hosts let in to find one that answers, before an unproven host gets a slot beyond its share.
# Without them, hosts that answer had no URL in the back-end and got no slot.
LOOKS = 4
# seconds that a proven host waits for a fetcher or the processor, before we count as busy
LATE = 0.05
# Slots alone do not show that the crawl is busy: where the processor is the bottleneck they are
# idle, and floods of hosts got them.
CALM = 0.2  # seconds after that in which no host beyond its domain's share is let in
# seconds a due host waits for a fetcher before n shrinks: there are more queues than fetchers need
OVERDUE = 10.0
# Bytes per second of a download that is never cancelled: 2 MiB at less would not be complete within
# three minutes anyway, and what a faster one has brought would be requested a second time.
STEADY = 10_000


class RunningDownload(Protocol):
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


R = TypeVar("R", bound=RunningDownload)


class Demand:
    """Compares what may be requested with the slots that are left for it."""

    def __init__(self, core: Core, rotation: Rotation) -> None:
        self._back = core.back
        self._slots = core.back.slots
        self._rotation = rotation
        # Hosts beyond their domain's share may be let in from then on: a while after a proven host
        # was late.
        self._calm_at = 0.0
        self._paused_until = 0.0  # nothing was taken before, so no host was late for want of a slot

    # -- how many hosts are let in

    def grow(self, now: float, step: int, *, spare: bool) -> bool:
        """Let one more host in, if it may be requested at once or this `take` has let in few.

        Return whether one came in. `step`: the steps that this `take` has made so far. `spare`: hosts
        beyond their domain's share may come in.
        """
        no_unproven_waits = self._back.spare(now) is None
        may_be_requested = no_unproven_waits and self._slots.open_to(NEW)
        if step >= LOOKS and not may_be_requested:
            return False
        is_calm = now >= self._calm_at
        return self._rotation.grow(beyond_share=may_be_requested and spare and is_calm)

    def next_growth(self) -> float | None:
        """Return the time at which one more host may be let in (0 is now), as far as one can say.

        None if no host may come in until something is added or done.
        """
        rotation = self._rotation
        look_at = rotation.next_budget_look()
        may_grow = rotation.can_grow() and self._slots.open_to(NEW)
        if not may_grow:
            return look_at
        if rotation.others_wait():
            return 0.0
        return self._calm_at if look_at is None else min(look_at, self._calm_at)

    def late(self, host: Host, seconds: float, now: float) -> None:
        """Take note that a due host had to wait for so long, more than LATE."""
        # Only what has passed since a pause is for want of a fetcher.
        seconds = min(seconds, now - self._paused_until)
        if seconds <= LATE:
            return
        if host.standing == PROVEN:
            self._calm_at = now + CALM
        if seconds > OVERDUE:
            self._rotation.shrink()

    def paused_until(self, now: float) -> None:
        """Note that nothing was taken until now, so that hosts are late because of that."""
        self._paused_until = now

    # -- what is wanted

    def holds_back(self, now: float) -> bool:
        """Return whether only hosts beyond a share can be requested.

        Those are unproven hosts, or hosts of domains that have their share of the places.
        """
        rotation = self._rotation
        if rotation.others_wait():
            return False
        return rotation.lines_wait or self._back.spare(now) is not None

    def wants_hosts(self, now: float) -> bool:
        """Return whether only hosts beyond their domain's share can be requested.

        Any new host would go before them.
        """
        rotation = self._rotation
        if not rotation.lines_wait or self._back.spare(now) is not None:
            return False
        return not rotation.others_wait()

    def takes_new(self) -> bool:
        """Return whether a host that was never requested would get a slot."""
        return self._slots.open_to(NEW)

    def set_slots(self, slots: int) -> None:
        """Divide so many slots from now on; 0: no limit."""
        self._slots.resize(slots)

    # -- downloads that are cancelled because others need their slots

    def overstaying(self, running: Sequence[R], *, full: bool) -> list[R]:
        """Return the downloads that may be cancelled for others, the slowest first.

        They have taken longer than `FetchSlots.patience` of their hosts. `full`: no slot is free.
        While slots are free for proven hosts, only unproven hosts wait, and only slots of unproven
        hosts help them.
        """
        # Patience is never less than `slow`, and takes a look at the host.
        found = [
            download
            for download in running
            if download.seconds > self._slots.slow and self._may_be_cancelled(download, full=full)
        ]
        return sorted(found, key=lambda download: download.received / download.seconds)

    def _may_be_cancelled(self, download: RunningDownload, *, full: bool) -> bool:
        """Return whether a download is too slow and too long, and its slot helps hosts that wait."""
        host = self._back.active[host_of(download.link.url)]
        is_steady = download.received >= STEADY * download.seconds
        helps_waiting_hosts = full or host.standing != PROVEN
        if is_steady or not helps_waiting_hosts:
            return False
        return download.seconds > self._slots.patience(host)

    def starved(self, now: float, *, full: bool) -> int:
        """Return the number of hosts that wait for a slot; `full`: no slot is free.

        If none does then, a few hosts from outside the back-end are let in, to wait next time.
        """
        waiting = self._back.starved(now, full=full)
        # Without a free slot no `take` has looked for hosts outside the back-end.
        if full and not waiting:
            for _ in range(LOOKS):
                if self._rotation.can_grow():
                    self._rotation.grow()
        return waiting
