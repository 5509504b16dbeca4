"""A file of a pipeline's own below JOBDIR, as safe as the archive (docs/extending.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from webcrawl.adapter.plain import PlainScrapy, is_ours
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.trip import when_finished
from webcrawl.store.errors import StoreError
from webcrawl.store.output import Output

logger = logging.getLogger(__name__)


class PipelineOutput:
    """Its length is part of every checkpoint: after a crash it is cut back, so that each page is in it once."""

    def __init__(self, output: Output, fail: Callable[[Exception], None]) -> None:
        self._output, self._fail = output, fail

    def __repr__(self) -> str:
        return f"<PipelineOutput {self._output!r}>"

    def write(self, data: bytes) -> None:
        """Appends all of `data`, when the page under way is finished; at once if there is none.

        If the disk does not take it, the crawl ends and the next run fetches the page.
        """
        try:
            when_finished(partial(self._output.write, data))
        except (StoreError, MemoryError) as error:
            self._fail(error)
            raise DropItem(str(error)) from error

    def write_now(self, data: bytes) -> None:
        """Appends in this turn of the event loop, as a hearer must: its URL is booked in this turn, too."""
        self._output.write(data)


class NoOutput(PipelineOutput):
    """Of a command that has no JOBDIR, such as `scrapy parse --pipelines`: what is written is not kept."""

    def __init__(self, path: str) -> None:
        logger.warning("%s is not written: this is no crawl, and has no JOBDIR", path)

    def __repr__(self) -> str:
        return "<NoOutput>"

    def write(self, data: bytes) -> None:
        pass

    write_now = write


def open_output(crawler: Crawler, path: str) -> PipelineOutput:
    """Opens `path` below JOBDIR; for a pipeline's `open_spider`."""
    if is_plain(crawler):
        return NoOutput(path)
    scheduler = scheduler_of(crawler)
    return PipelineOutput(scheduler.crawl.open_output(path), scheduler.fail)


def is_plain(crawler: Crawler) -> bool:
    """Whether this run is no crawl, in a project whose spiders crawl.

    That is so by PlainScrapy, or because the add-on had nothing to do with it: then the scheduler is Scrapy's.
    """
    addons = crawler.settings["ADDONS"]
    crawls = crawler.engine is not None and isinstance(crawler.engine.scheduler, FrontierScheduler)
    return PlainScrapy in addons or (any(map(is_ours, addons)) and not crawls)
