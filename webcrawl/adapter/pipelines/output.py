"""For pipelines that write files as safe as the archive (docs/pipelines.md)."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from webcrawl.adapter.plain_scrapy import PlainScrapy, is_ours
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.crawl.outputs import output as outputs
from webcrawl.crawl.outputs.output import Hook, PipelineOutput
from webcrawl.crawl.run import Run


def open_output(crawler: Crawler, path: str) -> PipelineOutput:
    """Open `path` below JOBDIR, none of the crawl's own files, for a pipeline's `open_spider`."""
    return outputs.open_output(run_of(crawler), path, DropItem)


def on_end(crawler: Crawler, hook: Hook) -> None:
    """Have `hook` called with the log line of each URL, as Mercator's hook for visited URLs.

    For a pipeline's or extension's `open_spider`. A URL that was not asked for, or had no answer,
    has no Exchange. An error of the hook's own is logged, and costs nothing else.
    """
    outputs.on_end(run_of(crawler), hook)


def run_of(crawler: Crawler) -> Run:
    """Return the run that the crawler's scheduler has opened; a command's run never opens."""
    return Run(_nothing) if _is_plain(crawler) else scheduler_of(crawler).run


def _is_plain(crawler: Crawler) -> bool:
    """Return whether this run is no crawl, in a project whose spiders crawl.

    That is so by PlainScrapy, or because the add-on had nothing to do with it: then the scheduler
    is Scrapy's.
    """
    addons = crawler.settings["ADDONS"]
    crawls = crawler.engine is not None and isinstance(crawler.engine.scheduler, FrontierScheduler)
    return PlainScrapy in addons or (any(map(is_ours, addons)) and not crawls)


def _nothing(_: Any) -> None:
    """Do nothing: a run without a crawl has no end of its own."""
