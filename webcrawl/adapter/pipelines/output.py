"""The base of pipelines that write: files as safe as the archive, OUTPUTS, pages at hand (docs/extending.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import ClassVar, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured

from webcrawl.adapter.own_files import BESIDE, OWN
from webcrawl.adapter.plain_scrapy import PlainScrapy, is_ours
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.content.page import Page
from webcrawl.crawl.trip import when_finished
from webcrawl.store.errors import StoreError
from webcrawl.store.output import Output

logger = logging.getLogger(__name__)


class PipelineOutput:
    """Its length is part of every checkpoint: after a crash it is cut back, so that each page is in it once."""

    def __init__(self, output: Output, fail: Callable[[Exception], None]) -> None:
        self._output, self._fail = output, fail

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

    def write(self, data: bytes) -> None:
        pass

    write_now = write


def open_output(crawler: Crawler, path: str) -> PipelineOutput:
    """Opens `path` below JOBDIR, which is none of the crawl's own files; for a pipeline's `open_spider`."""
    place = PurePosixPath(path)
    strange = place.is_absolute() or ".." in place.parts or not place.parts
    if strange or place.parts[0] in OWN or place.as_posix() in BESIDE:
        raise ValueError(f"{path!r}: an output is a file below JOBDIR, and not one of the crawl's own")
    if is_plain(crawler):
        return NoOutput(path)
    scheduler = scheduler_of(crawler)
    return PipelineOutput(scheduler.crawl.parts.outputs.open(path), scheduler.fail)


def is_plain(crawler: Crawler) -> bool:
    """Return whether this run is no crawl, in a project whose spiders crawl.

    That is so by PlainScrapy, or because the add-on had nothing to do with it: then the scheduler is Scrapy's.
    """
    addons = crawler.settings["ADDONS"]
    crawls = crawler.engine is not None and isinstance(crawler.engine.scheduler, FrontierScheduler)
    return PlainScrapy in addons or (any(map(is_ours, addons)) and not crawls)


class Chosen:
    """`output` is its name in OUTPUTS."""

    output: ClassVar[str]

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if cls.output not in values_of(crawler)["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler)


class LogPipeline(Chosen):
    """`path` is where its log is, below JOBDIR. The log is part of the checkpoint."""

    path: ClassVar[str]
    _log: PipelineOutput

    def open_spider(self) -> None:
        self._log = open_output(self._crawler, self.path)


def at_hand(crawler: Crawler, look_up: Callable[[Page], object]) -> None:
    """Has `look_up` called with each page whose links the crawl has read, right after they were followed.

    It may only ask for fields of the page that keep what was found: an error is raised again where the field is asked
    for next, and what a pipeline does for a page it does when the page gets there.
    """
    if is_plain(crawler):
        return
    looked_up = scheduler_of(crawler).moments.at_hand
    if look_up not in looked_up:  # two outputs may want the same
        looked_up.append(look_up)


def link_columns(page: Page) -> object:
    """Its links of all kinds, with their canonical URLs."""
    return page.columns
