"""The progress of a hive: a line in the log every 10 seconds, or a live line on a terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from webcrawl.base.live_line import LiveLine
from webcrawl.base.readable import count
from webcrawl.crawl import progress

logger = logging.getLogger(__name__)


class Display:
    """`show` may be called at any time. `live`: standard error is a terminal. `logged`: the log gets lines too."""

    def __init__(self, *, live: bool, logged: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = LiveLine() if live else None
        self._logged, self._clock = logged, clock
        self._next_look = self._next_line = clock()
        self._rate = progress.Rate(clock)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        self._next_line += progress.INTERVAL
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, figures: Mapping[str, Any], drones: int, down: Sequence[int], silent: Sequence[int]) -> None:
        """`figures`: of all drones together; `down`: those that are not there; `silent`: those that hang."""
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + progress.BLINK
        rate = self._rate.of(int(figures.get("pages", 0)))
        if self._live is not None:
            self._live.update(short_line(figures, rate, drones, down, silent))
        if self._logged and now >= self._next_line:
            self._next_line = now + progress.INTERVAL
            logger.info("%s", line(figures, rate, drones, down, silent))


def line(figures: Mapping[str, Any], rate: float, drones: int, down: Sequence[int], silent: Sequence[int] = ()) -> str:
    """Return the line of the log."""
    lacking = [f"{', '.join(map(str, some))} {how}" for some, how in ((down, "down"), (silent, "not heard of")) if some]
    away = f" ({', '.join(lacking)})" if lacking else ""
    revisits = progress.revisits_in_words(figures)
    said = (progress.waits_for(figures), progress.line(figures, rate), *revisits, f"{count(drones, 'drone')}{away}")
    return ", ".join(filter(None, said))


def short_line(
    figures: Mapping[str, Any], rate: float, drones: int, down: Sequence[int], silent: Sequence[int] = ()
) -> str:
    """Return the line of a terminal."""
    lacking = len(down) + len(silent)
    working = f"{drones - lacking}/{drones}" if lacking else str(drones)
    return f"{progress.short_line(figures, rate)}  drones {working}"
