"""What is believed of the change rate of a page that was not visited again yet, learned from those that were."""

from __future__ import annotations

from math import exp, expm1, log1p, sqrt
from struct import Struct

SHAPE, SPAN = 0.35, 0.35 * 30 * 86400  # to begin with: one change in 30 days on average, over several powers of ten
SHAPES, SPANS = (0.1, 3.0), (60.0, 3e9)
LEAST = 1.0  # seconds between two visits
STEP = 0.7  # of AdaGrad
FADE = 0.9999  # what many thousand pages ago were like counts less
BEGIN = 10.0  # the sums of squares that it begins with: the first pages move it little
_LAYOUT = Struct("<4d")
SIZE = _LAYOUT.size


class Prior:
    """A Gamma distribution of rates (empirical Bayes).

    The first visit of each page says how likely the change was that it found or not, whatever was known: so each page
    counts once, and the distribution follows the gradient of its likelihood.
    """

    __slots__ = ("_shape_squares", "_span_squares", "shape", "span")

    def __init__(self) -> None:
        self.shape, self.span = SHAPE, SPAN
        self._shape_squares = self._span_squares = BEGIN

    def learn(self, seconds: float, changed: bool) -> None:  # noqa: FBT001
        """Takes into account what the first visit of a page found, so long after it was fetched first."""
        seconds = max(seconds, LEAST)
        stay = self.shape * log1p(seconds / self.span)  # of the page being as it was, the negated logarithm
        factor = 1 / max(expm1(min(stay, 50.0)), 1e-9) if changed else -1.0
        by_shape = factor * stay
        by_span = -factor * self.shape * seconds / (self.span + seconds)
        self._shape_squares = self._shape_squares * FADE + by_shape * by_shape
        self._span_squares = self._span_squares * FADE + by_span * by_span
        self.shape = _within(self.shape * exp(STEP * by_shape / sqrt(self._shape_squares)), SHAPES)
        self.span = _within(self.span * exp(STEP * by_span / sqrt(self._span_squares)), SPANS)

    def state(self) -> bytes:
        return _LAYOUT.pack(self.shape, self.span, self._shape_squares, self._span_squares)

    def restore(self, data: bytes) -> None:
        if len(data) == SIZE:
            self.shape, self.span, self._shape_squares, self._span_squares = _LAYOUT.unpack(data)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return max(min(value, bounds[1]), bounds[0])
