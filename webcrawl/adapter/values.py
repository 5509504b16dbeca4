"""The settings of a crawler as checked, plain values."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.checks import check

LINK_LOG = "webcrawl.pipelines.link_log.LinkLogPipeline"


def plain_values(settings: BaseSettings) -> dict[str, Any]:
    """Every setting that webcrawl reads, those of Scrapy's among them; SettingError for an impossible one."""
    return {
        **check(settings),
        "LINK_LOG": settings.getwithbase("ITEM_PIPELINES").get(LINK_LOG) is not None,
        "ROBOTSTXT_USER_AGENT": settings["ROBOTSTXT_USER_AGENT"],
        "DOWNLOAD_VERIFY_CERTIFICATES": settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
    }


def values_of(crawler: Crawler) -> dict[str, Any]:
    """Those of a crawler, with what its spider has changed."""
    return plain_values(crawler.settings)
