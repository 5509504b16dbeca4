"""A CPU profile of this process by stage, as a table that adds up to 100 %, and as one sentence."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from webcrawl.profiling.sampler import Sampler
from webcrawl.profiling.stages import OTHER, START, judge

BUSY = 0.9  # of a core: with less, the crawl does not wait for the processor

LEAST = 0.0005  # smaller shares are not shown
ENOUGH = 100  # samples: the share of a stage of 20 % is known to within 4


@dataclass(slots=True)
class Profile:
    """CPU seconds of a process: at its start, before profiling began, and since then by stage."""

    start: float
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    kernel: float = 0.0  # part of all these spent in the kernel
    seconds: float = 0.0  # wall-clock time since profiling began
    samples: int = 0

    @property
    def cpu(self) -> float:
        """Since profiling began."""
        return sum(self.spent.values())

    def shares(self) -> dict[str, float]:
        """Shares of all CPU time, the largest first; their sum is 1."""
        total = max(self.start + self.cpu, 1e-9)
        spent = {**self.spent, START: self.spent.get(START, 0.0) + self.start}
        return {stage: spent[stage] / total for stage in sorted(spent, key=spent.__getitem__, reverse=True)}

    def table(self) -> str:
        """One line per stage, and a total."""
        rows = [f"{100 * share:6.1f} %  {stage}" for stage, share in self.shares().items() if share >= LEAST]
        total = f"{100 * sum(self.shares().values()):6.1f} %  of {self.start + self.cpu:.1f} CPU seconds"
        kernel = 100 * self.kernel / max(self.start + self.cpu, 1e-9)
        return "\n".join([*rows, f"{total}, {kernel:.0f} % of it in the kernel; {self.samples} samples"])

    def verdict(self, pages: int) -> str:
        """What this machine can do, and its bottleneck."""
        work = {stage: spent for stage, spent in self.spent.items() if stage != START}
        if not pages or not work or self.samples < ENOUGH:
            return "too short for a verdict: run it longer"
        busy = self.cpu / max(self.seconds, 1e-9)
        idle = f"the crawl used {100 * busy:.0f} % of a core; " if busy < BUSY else ""
        limit = max(work, key=work.__getitem__)
        return f"{idle}this machine can do {pages / self.cpu:.0f} pages per second per core; the bottleneck is: {limit}"


@contextmanager
def profiled() -> Iterator[Profile]:
    """Profiles the block; CPU time before it counts as the start. Only in the main thread, one at a time."""
    profile, begun = Profile(time.process_time()), time.monotonic()
    sampler = Sampler(judge())
    try:
        with sampler:
            yield profile
    finally:
        profile.seconds, profile.kernel = time.monotonic() - begun, os.times().system
        profile.samples = sampler.samples
        for stage, seconds in sampler.spent.items():
            profile.spent[stage or OTHER] += seconds
