"""A file of a pipeline's own below JOBDIR, as safe as the archive (docs/extending.md)."""

from __future__ import annotations

from collections.abc import Callable

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.store.errors import StoreError
from webcrawl.store.output import Output


class PipelineOutput:
    """Its length is part of every checkpoint: after a crash it is cut back, so that each page is in it once."""

    def __init__(self, output: Output, fail: Callable[[Exception], None]) -> None:
        self._output, self._fail = output, fail

    def __repr__(self) -> str:
        return f"<PipelineOutput {self._output!r}>"

    def write(self, data: bytes) -> None:
        """Appends all of `data`. If the disk does not take it, the crawl ends and the next run fetches the page."""
        try:
            self._output.write(data)
        except (StoreError, MemoryError) as error:
            self._fail(error)
            raise DropItem(str(error)) from error


def open_output(crawler: Crawler, path: str) -> PipelineOutput:
    """Opens `path` below JOBDIR; for a pipeline's `open_spider`."""
    scheduler = scheduler_of(crawler)
    return PipelineOutput(scheduler.crawl.open_output(path), scheduler.fail)
