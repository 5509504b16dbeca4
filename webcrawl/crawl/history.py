"""Keeps a small history of the crawl's figures, for those who look at it later."""

from __future__ import annotations

import time
from collections.abc import Callable

from webcrawl.crawl.periodic import Loop
from webcrawl.crawl.run import Run
from webcrawl.net.shortage import is_ours
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.history_line import PATH, SHORTEST, interval, line, moment
from webcrawl.store.output import Output


# A line of a large crawl has 320 bytes: 1.2 MB after two and a half days, 36 MB after a year. One
# every ten seconds would be 40 MB per month.
class HistoryKeeper:
    """Writes a line of figures every few seconds at first, and every few minutes later.

    The lines are an output: after a crash the file is truncated to the checkpoint, and goes on.
    """

    def __init__(self, run: Callable[[], Run]) -> None:
        """`run` returns the run of the crawl, which exists once the crawl is open."""
        self._run = run
        self._loop = Loop(self.look)
        self._output: Output | None = None  # opened for the first line
        self._due = 0.0  # when the next line is, by time.monotonic

    def opened(self) -> None:
        self._loop.start(SHORTEST)

    def closed(self) -> None:
        self._loop.stop()

    def look(self) -> None:
        """Write a line of history if an interval is over."""
        run = self._run()
        if run.saves_no_more or run.failed is not None or time.monotonic() < self._due:
            return
        crawl = run.crawl
        begun = crawl.parts.statistics.series.start / 1000  # 0: no download has ended
        age = crawl.parts.clock() - begun if begun else 0.0
        try:
            if self._output is None:
                self._output = crawl.parts.outputs.open(PATH)
            self._output.write(line(moment(crawl.outlook.glance(), time.time())))
        except StoreError as error:
            cause = error.__cause__
            is_lack = isinstance(cause, OSError) and is_ours(cause)
            # A descriptor may be free at the next look: no crawl ends for a moment without one.
            if self._output is None and is_lack:
                return
            run.fail(error)
            return
        # `look` is called once in SHORTEST seconds: half of that less, so that the call which comes at
        # about the right time finds the line due.
        self._due = time.monotonic() + interval(age) - SHORTEST / 2
