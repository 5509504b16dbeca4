"""Functions for a user's pipelines: files that are as safe as the archive, and a hook for each URL
(docs/pipelines.md).
"""

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
    """Open a file below JOBDIR for a pipeline. Call this in its `open_spider`.

    The file is part of checkpoints. `path` must not be a file of the crawl's own.
    """
    return outputs.open_output(run_of(crawler), path, DropItem)


def on_end(crawler: Crawler, hook: Hook) -> None:
    """Have `hook` called at the end of each URL, with the facts of its line in crawl.log.

    Call this in the `open_spider` of a pipeline or extension. A URL that was not fetched, or had no
    answer, has no Exchange. An error of the hook is logged, and changes nothing else.
    """
    outputs.on_end(run_of(crawler), hook)


def run_of(crawler: Crawler) -> Run:
    """Return the run of the crawler's scheduler, or one that never opens if this is no crawl."""
    return Run(_ignore) if _is_plain(crawler) else scheduler_of(crawler).run


def _is_plain(crawler: Crawler) -> bool:
    """Return whether this run is no crawl, in a project whose spiders crawl.

    Either PlainScrapy has made it so, or the add-on has left it alone, so that the scheduler is
    Scrapy's.
    """
    addons = crawler.settings["ADDONS"]
    crawls = isinstance(crawler.engine.scheduler, FrontierScheduler)
    return PlainScrapy in addons or (any(map(is_ours, addons)) and not crawls)


def _ignore(_: Any) -> None:
    """Do nothing: a run without a crawl cannot be ended."""
