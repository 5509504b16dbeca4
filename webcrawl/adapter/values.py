"""The settings of a crawler, checked, as plain values."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.jobdir import default_jobdir
from webcrawl.checks import check

LINK_LOG = "webcrawl.pipelines.link_log.LinkLogPipeline"


def plain_values(settings: BaseSettings, spider: str) -> dict[str, Any]:
    """Every setting that webcrawl reads, Scrapy's included; SettingError if one has an impossible value."""
    values = check(settings)
    return {
        **values,
        "JOBDIR": values["JOBDIR"] or default_jobdir(spider),
        "LINK_LOG": settings.getwithbase("ITEM_PIPELINES").get(LINK_LOG) is not None,
        "ROBOTSTXT_USER_AGENT": settings["ROBOTSTXT_USER_AGENT"],
        "DOWNLOAD_VERIFY_CERTIFICATES": settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
    }


def values_of(crawler: Crawler) -> dict[str, Any]:
    """The values of a crawler, with its spider's custom settings."""
    values = plain_values(crawler.settings, (crawler.spider or crawler.spidercls).name)
    if getattr(crawler.spidercls, "chooses_links", False):  # by their texts, perhaps, and whatever their kind
        values["LINK_LOG"] = True
    return values
