"""What the processor does for some seconds, in a crawl that runs (webcrawl/profiling)."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Any

from webcrawl.control.errors import CommandError
from webcrawl.profiling.sampler import Sampler
from webcrawl.profiling.stages import OTHER, judge

MOST = 20  # functions that are named


async def profile(seconds: float) -> Mapping[str, Any]:
    """CPU seconds by stage and by function. One at a time: there is one timer in a process. May raise CommandError."""
    if signal.getitimer(signal.ITIMER_PROF) != (0.0, 0.0):
        raise CommandError("a profile is being taken already")
    stages = judge()
    try:
        sampler = Sampler(_functions(stages))
        begun = time.monotonic()
        with sampler:
            await asyncio.sleep(seconds)
    except ValueError as error:  # not in the main thread
        raise CommandError(f"no profile can be taken of this crawl: {error}") from error
    passed = time.monotonic() - begun
    by_stage: defaultdict[str, float] = defaultdict(float)
    by_function: defaultdict[str, float] = defaultdict(float)
    for name, spent in sampler.spent.items():
        stage, _, function = name.partition("\n")
        by_stage[stage or OTHER] += spent
        by_function[function or "threads that have ended"] += spent
    total = sum(sampler.spent.values())
    return {
        "seconds": round(passed, 1),
        "cpu": f"{100 * total / max(passed, 1e-9):.0f} % of a core",
        "samples": sampler.samples,
        "stages": _shares(by_stage, "stage", total),
        "functions": _shares(by_function, "function", total),
    }


def _functions(stages: Callable[[FrameType | None], str]) -> Callable[[FrameType | None], str]:
    """The stage of a stack, and its innermost function."""

    def named(frame: FrameType | None) -> str:
        if frame is None:
            return f"{stages(frame)}\n"
        code = frame.f_code
        path = Path(code.co_filename)
        return f"{stages(frame)}\n{path.parent.name}/{path.name}:{code.co_qualname}"

    return named


def _shares(spent: Mapping[str, float], name: str, total: float) -> list[dict[str, Any]]:
    first = sorted(spent.items(), key=itemgetter(1), reverse=True)[:MOST]
    return [{"percent": round(100 * value / max(total, 1e-9), 1), name: key} for key, value in first if value > 0]
