"""Lets logs be followed: `tail -f logs/crawl.log` shows a line no later than a second."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.crawl.periodic import Loop
from webcrawl.crawl.run import Run
from webcrawl.store.errors import StoreError

INTERVAL = 1.0  # seconds; a busy crawl fills its buffers more often


class Following:
    """Writes buffered lines once a second."""

    def __init__(self, run: Callable[[], Run]) -> None:
        """`run` returns the run of the crawl, which exists once the crawl is open."""
        self._run = run
        self._loop = Loop(self.flush)

    def opened(self) -> None:
        self._loop.start(INTERVAL, now=False)

    def closed(self) -> None:
        self._loop.stop()

    def flush(self) -> None:
        run = self._run()
        if run.failed is not None:  # nothing more is kept
            return
        try:
            run.crawl.parts.outputs.show()
        except (StoreError, MemoryError) as error:
            run.fail(error)
