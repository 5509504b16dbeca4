"""One JSON line per figure, so that other programs can compare runs."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


def report(name: str, **figures: object) -> None:
    """Print one JSON line: what was measured, the figures, and the peak memory of this process."""
    rounded = {
        key: round(value, 3) if isinstance(value, float) else value
        for key, value in figures.items()
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stdout.write(json.dumps({"benchmark": name, **rounded, "peak_rss_mib": peak}) + "\n")
    sys.stdout.flush()


def percent(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts in percent of their sum, the largest first."""
    total = sum(parts.values())
    return {
        name: round(100 * parts[name] / total, 1)
        for name in sorted(parts, key=parts.__getitem__, reverse=True)
    }


@dataclass(slots=True)
class Clock:
    """The seconds that a block of code took."""

    cpu: float = 0.0
    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Clock]:
    """Yield a clock that has, after the block, its CPU seconds (all threads) and its wall
    seconds.
    """
    clock = Clock()
    cpu, seconds = time.process_time(), time.perf_counter()
    yield clock
    clock.cpu = time.process_time() - cpu
    clock.seconds = time.perf_counter() - seconds
