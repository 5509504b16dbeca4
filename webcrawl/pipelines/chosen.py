"""What pipelines that OUTPUTS chooses have in common: they ask whether they are, and many write one log."""

from __future__ import annotations

from typing import ClassVar, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.values import values_of
from webcrawl.pipelines.output import PipelineOutput, open_output


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
