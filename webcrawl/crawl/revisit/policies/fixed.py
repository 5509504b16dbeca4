"""Every page REVISIT_AGE seconds after its last fetch."""

from __future__ import annotations

from webcrawl.crawl.revisit.change_rate import at_first, observe
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord


class Fixed:
    """Nobody is early; who is late because the budget is too small waits for its turn."""

    early = False

    def __init__(self, options: PolicyOptions) -> None:
        self._options = options

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        observe(record, seconds, changed, at_first)

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        del record, missed
        return now + self._options.age

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        del weight, gap, now
        return True

    def took(self, record: PageRecord, now: float, due: float) -> None: ...

    def spared(self, part: float) -> None: ...

    def state(self) -> bytes:
        return b""

    def restore(self, data: bytes) -> None: ...
