"""All pages at one interval, by which they just fill the budget."""

from __future__ import annotations

from webcrawl.crawl.revisit.change_rate import at_first, observe
from webcrawl.crawl.revisit.pace import Pace
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord


class Uniform:
    """A page goes to the end of the queue: however often it changes, and whatever it matters, it has the same share."""

    early = True

    def __init__(self, options: PolicyOptions) -> None:
        self.pace = Pace(options)

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        observe(record, seconds, changed, at_first)

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        del record, missed
        return self.pace.place(now) + self.pace.round(now)

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        del weight, gap, now
        self.pace.ahead += 1
        return True

    def took(self, record: PageRecord, now: float, due: float) -> None:
        del record, now
        self.pace.took(due)

    def spared(self, part: float) -> None:
        self.pace.ahead -= part

    def state(self) -> bytes:
        return self.pace.state()

    def restore(self, data: bytes) -> None:
        self.pace.restore(data)
