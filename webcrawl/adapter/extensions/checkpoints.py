"""Takes a checkpoint every CHECKPOINT_INTERVAL seconds, and on SIGUSR1; pipelines may take part."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Self

from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.media_files import keep_files_whole
from webcrawl.adapter.pipelines.outputs import OwnOutputsPipeline
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.crawl.checkpointing import RegularCheckpoints


class Checkpoints:
    """Takes checkpoints while the spider is open. The scheduler itself takes the last one.

    When the spider is opened, the pipelines are open already: those with hooks for checkpoints are
    restored then, before the first page.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.regular: RegularCheckpoints | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return connect_extension(crawler, cls(crawler))

    def opened(self) -> None:
        """Restore pipelines from the last checkpoint, and begin to take checkpoints."""
        loop = asyncio.get_running_loop()
        scheduler = scheduler_of(self._crawler)
        run = scheduler.run
        interval = values_of(self._crawler)["CHECKPOINT_INTERVAL"]
        regular = RegularCheckpoints(run.keeping, interval)
        self.regular = regular
        # `kill -USR1` takes a checkpoint at once
        self._handle_sigusr1(lambda *_: loop.call_soon_threadsafe(regular.request_checkpoint))
        pipelines = list(_pipelines(self._crawler))
        regular.begin(run.crawl, pipelines)
        for pipeline in pipelines:
            keep_files_whole(pipeline, scheduler.fail)

    def closed(self) -> None:
        # By default the signal would end the process before it has closed
        self._handle_sigusr1(signal.SIG_IGN)
        if self.regular is not None:
            self.regular.end()

    @staticmethod
    def _handle_sigusr1(handler: Callable[..., object] | signal.Handlers) -> None:
        """Set Python's handler of SIGUSR1.

        With the event loop's, the signal ended the process at times.
        """
        # Only the main thread may handle signals
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGUSR1, handler)


def _pipelines(crawler: Crawler) -> Iterator[object]:
    """Yield the pipelines in their order. Any ITEM_PROCESSOR keeps them where Scrapy's does."""
    for pipeline in crawler.engine.scraper.itemproc.middlewares:
        # Each of the user's own outputs has a position of its own in checkpoints
        if isinstance(pipeline, OwnOutputsPipeline):
            yield from pipeline.outputs
        else:
            yield pipeline
