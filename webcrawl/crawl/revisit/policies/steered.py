"""The base of policies with one threshold."""

from __future__ import annotations

from abc import ABC, abstractmethod

from webcrawl.crawl.revisit.change_rate import SIZE, Prior, observe
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.threshold import Interval, Threshold


class Steered(ABC):
    """Three numbers of a page and the level give its interval; the level is such that the budget is used."""

    early = True

    def __init__(self, options: PolicyOptions, interval: Interval) -> None:
        self.threshold = Threshold(options, interval)
        self.prior = Prior()

    @abstractmethod
    def numbers(self, record: PageRecord, missed: float) -> tuple[float, float, float]:
        """Of the page; `missed` is the share of its changes that no signal announces."""

    def rate(self, record: PageRecord) -> tuple[float, float]:
        """Shape and span of what is believed of the page's change rate."""
        if record.shape > 0 and record.span > 0:
            return record.shape, record.span
        return self.prior.shape, self.prior.span

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None:  # noqa: FBT001
        if record.visits == 0:
            self.prior.learn(seconds, changed)
        observe(record, seconds, changed, self.rate(record))

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        del weight, gap
        self.threshold.look(now)
        self.threshold.pace.ahead += 1
        return True

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        return self.threshold.due(record.url, now, *self.numbers(record, missed))

    def took(self, record: PageRecord, now: float, due: float) -> None:
        del record, now
        self.threshold.pace.took(due)

    def spared(self, part: float) -> None:
        self.threshold.pace.ahead -= part

    def state(self) -> bytes:
        return self.prior.state() + self.threshold.state()

    def restore(self, data: bytes) -> None:
        self.prior.restore(data[:SIZE])
        self.threshold.restore(data[SIZE:])
