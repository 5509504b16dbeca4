"""What is fetched again: a level of its own in the front-end, and places beyond n."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Packed
from webcrawl.frontier.core import Core
from webcrawl.frontier.rotation import Rotation

BRINGS = 256  # URLs to be fetched again that are moved to their hosts in one turn


class Revisits:
    """Its part of all turns is the front-end's `share`."""

    def __init__(self, core: Core, rotation: Rotation) -> None:
        self._core, self._front, self._rotation = core, core.queues.front, rotation

    def add(self, records: Sequence[Packed]) -> None:
        """Puts packed links of pages that are due again into the level of their own."""
        for record in records:
            self._front.push_old(record)
        self._core.queued += len(records)
        self._core.counters["due again"] += len(records)

    def bring(self, now: float) -> None:
        """Moves these to their hosts, as far as there are places."""
        old = self._front.old
        if old is not None and old.count:
            self._core.back.now = now
            self._rotation.bring(BRINGS)

    def set_share(self, share: float) -> None:
        """From now on this part of the turns is for what is fetched again: of the front-end, and of each host."""
        self._front.set_revisit_share(share)
