"""Serves the crawl's figures to Prometheus (crawl/metrics_serving.py)."""

from __future__ import annotations

import platform
from typing import Self

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

import webcrawl
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.metrics_serving import MetricsServing


class Metrics:
    """Serves metrics while the spider is open."""

    def __init__(self, crawler: Crawler, values: CheckedSettings) -> None:
        self._crawler = crawler
        self._values = values

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if values["METRICS_PORT"] is None and values["METRICS_FILE"] is None:
            raise NotConfigured
        return connect_opening(crawler, cls(crawler, values))

    def opened(self) -> None:
        """Begin to serve the metrics on METRICS_PORT, and to write METRICS_FILE."""
        versions = {
            "version": webcrawl.__version__,
            "scrapy": scrapy.__version__,
            "python": platform.python_version(),
        }
        hive = self._values["HIVE_NAME"] or str(getattr(self._crawler.spider, "name", ""))
        run = scheduler_of(self._crawler).run
        self._serving = MetricsServing(
            self._values, run, hive, versions, self._figures, self._is_paused
        )
        # Not earlier, because opening may fail
        self._crawler.signals.connect(self.closed, signals.spider_closed)
        self._serving.begin()

    def closed(self) -> None:
        self._serving.end()

    def _figures(self) -> dict[str, float]:
        """Return the figures that only Scrapy or the hive knows."""
        return {
            "slots": downloader_of(self._crawler).total_concurrency,
            "errors": self._crawler.stats.get_value("errors/unexpected", 0),
            **scheduler_of(self._crawler).hive.figures(),
        }

    def _is_paused(self) -> bool:
        return self._crawler.engine.paused
