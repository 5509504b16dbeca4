"""The progress of a hive: a line in the log every 10 seconds, or a live line on a terminal."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from webcrawl.base.live_line import LiveLine
from webcrawl.base.readable import count, short
from webcrawl.store.jobdir.revisit_figures import figures_of, fresh

logger = logging.getLogger(__name__)

INTERVAL = 10.0  # seconds between two lines in the log, and in which the rate is measured
BLINK = 0.5  # seconds between two updates of the live line


class Display:
    """`show` may be called at any time. `live`: standard error is a terminal. `logged`: the log gets lines too."""

    def __init__(self, *, live: bool, logged: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = LiveLine() if live else None
        self._logged, self._clock = logged, clock
        self._next_look = self._next_line = clock()
        self._since: deque[tuple[float, int]] = deque()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        self._next_line += INTERVAL
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
        self._next_look = now + BLINK
        rate = self._rate(now, int(figures.get("pages", 0)))
        if self._live is not None:
            self._live.update(short_line(figures, rate, drones, down, silent))
        if self._logged and now >= self._next_line:
            self._next_line = now + INTERVAL
            logger.info("%s", line(figures, rate, drones, down, silent))

    def _rate(self, now: float, pages: int) -> float:
        while len(self._since) > 1 and self._since[1][0] <= now - INTERVAL + BLINK:
            self._since.popleft()
        self._since.append((now, pages))
        then, before = self._since[0]
        return max(pages - before, 0) / max(now - then, 1e-9)


def line(figures: Mapping[str, Any], rate: float, drones: int, down: Sequence[int], silent: Sequence[int] = ()) -> str:
    """The line of a log, with exact numbers."""
    pages, answers, queued, hosts, seen, failures, size = (
        figures.get(name, 0) for name in ("pages", "answers", "queued", "hosts", "seen/keys", "failures", "bytes")
    )
    lacking = [f"{', '.join(map(str, some))} {how}" for some, how in ((down, "down"), (silent, "not heard of")) if some]
    away = f" ({', '.join(lacking)})" if lacking else ""
    trouble = f"{figures['trouble']}, " if figures.get("trouble") else ""
    return (
        f"{trouble}{count(pages, 'page')} ({rate:.1f}/s) of {count(answers, 'answer')}, {queued} queued, "
        f"{count(hosts, 'host')}, {seen} seen, {count(failures, 'failure')}, {size / 1e6:.1f} MB"
        f"{_revisits(figures)}, {count(drones, 'drone')}{away}"
    )


def _revisits(figures: Mapping[str, Any]) -> str:
    found = figures_of(figures)
    return "" if found is None else f", {count(found.taken, 'revisit')} ({fresh(found)} fresh)"


def short_line(
    figures: Mapping[str, Any], rate: float, drones: int, down: Sequence[int], silent: Sequence[int] = ()
) -> str:
    """The progress in a line for a terminal of 80 columns."""
    queued, hosts, failed, size = (short(figures.get(name, 0)) for name in ("queued", "hosts", "failures", "bytes"))
    pages = count(figures.get("pages", 0), "page", short)
    lacking = len(down) + len(silent)
    working = f"{drones - lacking}/{drones}" if lacking else str(drones)
    trouble = f"{figures['trouble']}  " if figures.get("trouble") else ""
    revisits = figures_of(figures)
    known = f"hosts {hosts}" if revisits is None else f"fresh {fresh(revisits)}"
    return f"{trouble}{pages} {short(rate)}/s  queue {queued}  {known}  failed {failed}  {size}B  drones {working}"
