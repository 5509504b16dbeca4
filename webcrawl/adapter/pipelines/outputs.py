"""The outputs of a crawl as item pipelines of Scrapy."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured

from webcrawl.adapter.pipelines.output import run_of
from webcrawl.adapter.values import values_of
from webcrawl.base.loading import load
from webcrawl.base.outputs import own_outputs
from webcrawl.crawl.outputs import (
    documents,
    logs,
    news,
    pagefiles,
    requests,
    stream,
    tables,
    tags,
    text,
    warc,
)
from webcrawl.crawl.outputs.modules import processors
from webcrawl.crawl.outputs.output import Output


class OutputPipeline(Output):
    """An output of the crawl as a pipeline, which runs if OUTPUTS names it.

    A page that it drops is a dropped item of Scrapy's.
    """

    dropped = DropItem
    crawler: Crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if cls.output not in values["OUTPUTS"]:
            raise NotConfigured
        pipeline = cls(values)
        pipeline.crawler = crawler
        return pipeline

    def open_spider(self) -> None:
        self.open(run_of(self.crawler))


class WarcPipeline(OutputPipeline, warc.Warc):
    """warc/*.warc.gz."""


class LinkLogPipeline(OutputPipeline, logs.LinkLog):
    """logs/links.log."""


class ChangesPipeline(OutputPipeline, tables.Changes):
    """tables/changes-*.parquet."""


class TablesPipeline(OutputPipeline, tables.Tables):
    """tables/urls-*.parquet, and those of links and hosts."""


class TextPipeline(OutputPipeline, text.Text):
    """text/*.jsonl.gz, and the index."""


class ImagesPipeline(OutputPipeline, logs.Images):
    """logs/images.log."""


class TagsPipeline(OutputPipeline, tags.Tags):
    """tags.tsv."""


class PageFilesPipeline(OutputPipeline, pagefiles.PageFiles):
    """pages/*.pfl."""


class NearDuplicatesPipeline(OutputPipeline, logs.NearDuplicates):
    """logs/neardup.log."""


class SkippedPipeline(OutputPipeline, logs.Skipped):
    """logs/skipped.log."""


class DocumentsPipeline(OutputPipeline, documents.Documents):
    """tables/documents-*.parquet."""


class RequestsPipeline(OutputPipeline, requests.RequestLog):
    """logs/requests.log."""


class WebHookPipeline(OutputPipeline, stream.WebHook):
    """Batches for WEBHOOK_URL."""


class OwnOutputsPipeline:
    """Runs the classes of the user's own that OUTPUTS names, one after the other."""

    def __init__(self, crawler: Crawler, outputs: Mapping[str, Output]) -> None:
        """`outputs` are the user's outputs by their dotted paths."""
        self._crawler = crawler
        # Each has its own position in checkpoints
        self.outputs = [*outputs.values()]
        self.unchanged = any(getattr(output, "unchanged", False) for output in self.outputs)
        self._processors = []
        for path, output in outputs.items():
            output.dropped = DropItem
            self._processors += processors(path, output, DropItem)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        paths = own_outputs(values["OUTPUTS"])
        if not paths:
            raise NotConfigured
        return cls(crawler, {path: load(path)(values) for path in paths})

    def open_spider(self) -> None:
        for output in self.outputs:
            output.open(run_of(self._crawler))

    async def process_item(self, item: Any) -> Any:
        for process in self._processors:
            item = process(item)
            if isawaitable(item):
                item = await item
        return item

    async def close_spider(self) -> None:
        for output in reversed(self.outputs):
            closing = output.close_spider()
            if isawaitable(closing):
                await closing


class NewsPipeline(news.News):
    """Drops pages that have not changed, unless a pipeline wants them. Runs in every crawl."""

    dropped = DropItem

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(values_of(crawler))
