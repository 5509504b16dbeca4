"""Which parts of the adapter follow settings that change while the crawl runs (control/changeable.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scrapy.settings import BaseSettings
from scrapy.utils.log import get_scrapy_root_handler

from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.control.changeable import OF_REQUESTS
from webcrawl.control.errors import CommandError
from webcrawl.crawl.crawl import Crawl


def heed(crawl: Crawl, downloader: FrontierDownloader, settings: BaseSettings, wake: Callable[[], None]) -> None:
    """Applies what former runs were ordered, and what is ordered from now on."""
    in_force, bandwidth = crawl.in_force, downloader.network.bandwidth

    def resize(values: Mapping[str, Any]) -> None:
        if values["CONCURRENT_REQUESTS"] != downloader.total_concurrency:
            downloader.resize(values)
            crawl.share(downloader.total_concurrency)
        wake()

    def refuse(values: Mapping[str, Any]) -> None:
        if not values["CONCURRENT_REQUESTS"] and not settings.getint("FRONTIER_QUEUES"):
            raise CommandError("CONCURRENT_REQUESTS = 0: must be at least 1, because FRONTIER_QUEUES is not given")

    in_force.listen(["CONCURRENT_REQUESTS"], refuse, now=False)  # as at the start
    in_force.listen(["LOG_LEVEL"], _log_from)
    in_force.listen(["CONCURRENT_REQUESTS"], resize)
    in_force.listen(OF_REQUESTS, downloader.network.change)
    in_force.listen(["BANDWIDTH_MAX"], lambda now: bandwidth.limit(now["BANDWIDTH_MAX"]))


def _log_from(values: Mapping[str, Any]) -> None:
    """What is below this level is not logged."""
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setLevel(values["LOG_LEVEL"])
