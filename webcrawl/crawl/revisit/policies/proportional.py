"""As often as pages change: what looks fair, and spends the budget on pages that are stale again at once."""

from __future__ import annotations

from webcrawl.crawl.revisit.policies.steered import Steered
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord

LEAST = 1e-3  # of the changes: signals that never failed may fail


class Proportional(Steered):
    """Each page once per so many of its changes that no signal announces, the same number for all."""

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options, _interval)

    def numbers(self, record: PageRecord, missed: float) -> tuple[float, float, float]:
        shape, span = self.rates.given(record.shape, record.span)
        return shape / span * max(missed, LEAST), 0.0, 0.0


def _interval(level: float, rate: float, _one: float, _other: float) -> float:
    return level / rate
