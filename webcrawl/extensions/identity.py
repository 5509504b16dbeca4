"""Warns about a missing contact: administrators block crawlers that do not say who they are."""

from __future__ import annotations

import logging
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl import settings as defaults

logger = logging.getLogger(__name__)


class Identity:
    """Warns at the start while USER_AGENT is the default."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if crawler.settings["USER_AGENT"] != defaults.USER_AGENT:
            raise NotConfigured
        extension = cls()
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self) -> None:
        logger.warning(
            "USER_AGENT is the default, %r: add a page or an address where you can be reached, "
            "as in -s USER_AGENT='mybot/1.0 (+https://example.org/bot)'",
            defaults.USER_AGENT,
        )
