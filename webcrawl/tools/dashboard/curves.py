"""From moments to curves: rates, shares and quantiles over a span of time, with gaps where nobody knows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import islice, pairwise

from webcrawl.store.jobdir.history_line import LONGEST, SHARPNESS, Moment

SLOTS = 240  # moments of a plot
Point = tuple[float, float]  # time, value
Curve = list[list[Point]]  # pieces with gaps between them
Pair = tuple[Moment, Moment]


def thinned(moments: Sequence[Moment], begin: float, end: float, slots: int = SLOTS) -> list[Moment]:
    """The last moment of each slot of this span, and the one before the span."""
    width = max((end - begin) / slots, 1e-9)
    found: dict[int, Moment] = {}
    first = max(bisect_left(moments, begin, key=_at) - 1, 0)
    for one in islice(moments, first, bisect_right(moments, end, key=_at)):
        found[int((one.at - begin) / width) if one.at >= begin else -1] = one
    kept: list[Moment] = []
    for slot in sorted(found):
        if kept and found[slot].at - kept[-1].at < width / 2:  # a rate of so short a time would be chance
            kept.pop()
        kept.append(found[slot])
    return kept


def pieces(moments: Sequence[Moment], width: float, begun: float) -> list[list[Moment]]:
    """Without the times in which nothing was written: the crawl did not run, or was set back to a checkpoint.

    `width`: seconds between two moments of a plot; `begun`: when the crawl began.
    """
    found: list[list[Moment]] = [[*moments[:1]]]
    for before, after in pairwise(moments):
        widest = 3 * max(width, min(max((after.at - begun) / SHARPNESS, 10.0), LONGEST))
        if after.at - before.at > widest or after.pages < before.pages or after.seen < before.seen:
            found.append([])
        found[-1].append(after)
    return [piece for piece in found if piece]


def _at(moment: Moment) -> float:
    return moment.at


def values(parts: Sequence[Sequence[Moment]], value: Callable[[Moment], float]) -> Curve:
    """A curve of what is true at each moment."""
    return [[(one.at, value(one)) for one in part] for part in parts]


def between(parts: Sequence[Sequence[Moment]], value: Callable[[Moment, Moment], float | None]) -> Curve:
    """A curve of what is true between two moments, at the later one; None makes a gap."""
    found: Curve = []
    for part in parts:
        found.append([])
        for before, after in pairwise(part):
            if (one := value(before, after)) is None:
                found.append([])
            else:
                found[-1].append((after.at, one))
    return [piece for piece in found if piece]


def rate(name: str) -> Callable[[Moment, Moment], float | None]:
    """The growth of a counter per second."""

    def value(before: Moment, after: Moment) -> float | None:
        seconds = after.at - before.at
        return max(getattr(after, name) - getattr(before, name), 0) / seconds if seconds > 0 else None

    return value


def revisited(name: str) -> Callable[[Moment, Moment], float | None]:
    """The growth of a counter of revisits per second; nothing where there are none."""

    def value(before: Moment, after: Moment) -> float | None:
        if before.revisits is None or after.revisits is None or after.at <= before.at:
            return None
        grown: float = getattr(after.revisits, name) - getattr(before.revisits, name)
        return max(grown, 0.0) / (after.at - before.at)

    return value


def freshness(_before: Moment, after: Moment) -> float | None:
    """The share of copies that are fresh, in percent; nothing where nobody knows."""
    return 100 * after.revisits.freshness if after.revisits is not None and after.revisits.is_estimated else None


def quantile(share: float) -> Callable[[Moment, Moment], float | None]:
    """The seconds within which this share of the downloads ended, from counts by the number of bits of milliseconds."""

    def value(before: Moment, after: Moment) -> float | None:
        earlier = before.milliseconds + (0.0,) * (len(after.milliseconds) - len(before.milliseconds))
        counts = [max(now - then, 0) for then, now in zip(earlier, after.milliseconds, strict=False)]
        left = share * sum(counts)
        if not left:
            return None
        for bits, count in enumerate(counts):
            if left <= count:
                low = (1 << bits - 1) if bits else 0
                return (low + (max(low, 1)) * left / count) / 1000
            left -= count
        return None

    return value


def shares(parts: Sequence[Sequence[Moment]]) -> list[Curve]:
    """For each kind of end, the part that it and those before it have of all: curves that stack up to 1."""
    kinds = len(parts[0][0].mix) if parts else 0

    def upto(kind: int) -> Callable[[Moment, Moment], float | None]:
        def value(before: Moment, after: Moment) -> float | None:
            grown = [max(now - then, 0) for then, now in zip(before.mix, after.mix, strict=True)]
            return sum(grown[: kind + 1]) / sum(grown) if any(grown) else None

        return value

    return [between(parts, upto(kind)) for kind in range(kinds)]


def latest(curve: Curve) -> float | None:
    """The last value."""
    return curve[-1][-1][1] if curve and curve[-1] else None
