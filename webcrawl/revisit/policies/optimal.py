"""Where a fetch is worth most: the threshold on Azar's index, with rates that are estimated."""

from __future__ import annotations

from webcrawl.revisit.index import interval
from webcrawl.revisit.policies.steered import Steered
from webcrawl.revisit.policy import PolicyOptions
from webcrawl.revisit.record import PageRecord

EAGER = 0.25  # changes: a visit to a page of which so many are known counts twice, for what it teaches
LIGHTEST = 1e-12
LEAST = 1e-3  # of the changes: signals that never failed may fail


class Optimal(Steered):
    """A page is due when the expected value of a visit reaches the threshold; see index.py and threshold.py."""

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options, _interval)

    def numbers(self, record: PageRecord, missed: float) -> tuple[float, float, float]:
        shape, span = self.rate(record)
        if missed < 1:  # the rate of changes that no signal announces
            span /= max(missed, LEAST)
        return shape, span, record.weight

    def worth(self, weight: float, gap: float | None, now: float) -> bool:
        """A fetch at a signal makes the page fresh until the next one: that is its value."""
        self.threshold.look(now)
        if gap is not None and weight * gap < self.threshold.level:
            return False
        self.threshold.pace.ahead += 1
        return True


def _interval(level: float, shape: float, span: float, weight: float) -> float:
    return interval(shape, span, level / max(weight, LIGHTEST) * shape / (shape + EAGER))
