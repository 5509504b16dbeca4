"""The crawl in any Scrapy project: `ADDONS = {"webcrawl.WebcrawlAddon": 300}`."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_reactor_installed

from webcrawl import settings as defaults
from webcrawl.adapter.crawl_end import log_once
from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.adapter.preflight import preflight_crawler
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.default_jobdir import JOB, default_jobdir
from webcrawl.crawl.finished_crawl import NothingLeft

logger = logging.getLogger(__name__)

PRIORITY = "addon"  # above Scrapy's defaults, below the project, the spider and the command line
OURS = {
    name: value
    for name, value in vars(defaults).items()
    if name.isupper() and not hasattr(default_settings, name)
}
# Settings of Scrapy's without which there is no crawl. All others keep Scrapy's defaults.
COMPONENTS = (
    *(
        "SCHEDULER",
        "DUPEFILTER_CLASS",
        "DOWNLOADER",
        "ITEM_PROCESSOR",
        "CONCURRENT_ITEMS",
        "ROBOTSTXT_OBEY",
    ),
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE",
)
# Entries for Scrapy's base settings. The project's own entries override them.
MERGED: dict[str, Mapping[str, Any]] = {
    "DOWNLOAD_HANDLERS_BASE": {
        scheme: path for scheme, path in defaults.DOWNLOAD_HANDLERS_BASE.items() if path
    },
    "DOWNLOADER_MIDDLEWARES_BASE": defaults.DOWNLOADER_MIDDLEWARES,
    "EXTENSIONS_BASE": {
        **{path: order for path, order in defaults.EXTENSIONS_BASE.items() if order},  # 0: Scrapy's
        "scrapy.extensions.feedexport.FeedExporter": None,  # ours is in its place
    },
    "FEED_EXPORTERS_BASE": defaults.FEED_EXPORTERS_BASE,
    "FEED_STORAGES_BASE": defaults.FEED_STORAGES_BASE,
    "ITEM_PIPELINES_BASE": defaults.ITEM_PIPELINES_BASE,
}
REACTOR = default_settings.TWISTED_REACTOR
BROAD = (
    "CONCURRENT_REQUESTS",
    "COOKIES_ENABLED",
    "DOWNLOAD_TIMEOUT",
    "DNS_TIMEOUT",
    "LOG_FORMATTER",
)
# Links of pages are filtered; what a spider asks for is sent, and comes back whole and in its own
# time, as in Scrapy.
AS_ASKED: dict[str, Any] = {
    "URL_MAX_LENGTH": 65_536,
    "URL_MAX_DEPTH": 10**9,
    "URL_EXCLUDE_EXTENSIONS": [],
    "TRAP_RULES": False,
    "DOWNLOAD_TRUNCATE": 2**31 - 1,
    "DOWNLOAD_MIN_RATE": 0,
    # a spider waits for its errbacks, and its crawl ends in minutes if a host is away
    "HOST_RETRY_WAIT": 5,
    "HOST_PATIENCE": 120,
}


class WebcrawlAddon:
    """Gives the spiders of a project the frontier, the clients, the archive and the checkpoints."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if crawler.spider is None or not is_crawl(crawler.spider):
            raise NotConfigured
        return cls(crawler.spider)

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Set the event loop, which cannot be chosen later; a program with one keeps it."""
        if not is_reactor_installed() and find_spec("uvloop") is not None:
            settings.set("ASYNCIO_EVENT_LOOP", defaults.ASYNCIO_EVENT_LOOP, PRIORITY)

    def update_settings(self, settings: BaseSettings) -> None:
        spider = self._spider
        is_broad = getattr(spider, "makes_pages", False)
        settings.setdict(OURS if is_broad else OURS | AS_ASKED, PRIORITY)
        for name in (*COMPONENTS, *(BROAD if is_broad else ())):
            settings.set(name, getattr(defaults, name), PRIORITY)
        for name, added in MERGED.items():
            # At the project's own priority: with a lower one it would have no effect
            priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES[PRIORITY])
            settings.set(name, settings.getdict(name) | dict(added), priority)
        job = vars(spider).get(JOB, "")
        # A job of scrapyd under the same name resumes
        anew = not settings["JOBDIR"] and not job
        settings.set("JOBDIR", default_jobdir(spider.name, job), PRIORITY)
        try:
            refuse(settings)
            preflight_crawler(settings, spider, complete=_ends_a_command(), anew=anew)
        except NothingLeft as told:
            if settings["LOG_FILE"]:
                logger.warning("%s", told)
            sys.stderr.write(f"{told}\n")
            raise SystemExit(0) from told
        except CannotStart as error:
            # A library must not end its caller's program. NotConfigured, which is Scrapy's way to
            # leave an add-on out, would go on with a plain and impolite crawl.
            if not _ends_a_command():
                log_once(error)
                raise
            if settings["LOG_FILE"]:
                logger.critical("%s", error)
            raise SystemExit(str(error)) from error


def is_crawl(spider: Spider) -> bool:
    """Return whether this spider is to crawl, and not to look at a page for a command of Scrapy's.

    Those must not touch the crawl in JOBDIR. They replace the spider's `start`; `shell` makes no
    spider.
    """
    return not getattr(spider.start, "__module__", "").startswith("scrapy.commands.")


def refuse(settings: BaseSettings) -> None:
    """Raise CannotStart for what the project wants and cannot have together with the crawl."""
    for name, ours in {"SCHEDULER": FrontierScheduler, "DOWNLOADER": FrontierDownloader}.items():
        if not issubclass(load_object(settings[name]), ours):
            raise CannotStart(
                f"{name} = {settings[name]!r}: webcrawl needs its own; remove this setting, or the add-on"
            )
    # Without a reactor Scrapy replaces the http handlers after the add-on has set them.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    if not has_reactor or settings["TWISTED_REACTOR"] != REACTOR:
        name = "TWISTED_REACTOR" if has_reactor else "TWISTED_REACTOR_ENABLED"
        raise CannotStart(
            f"{name} = {settings[name]!r}: webcrawl needs Scrapy's default reactor, {REACTOR}"
        )


def _ends_a_command() -> bool:
    """Return whether SystemExit ends a `scrapy` command, and not a program of the user's.

    Without asyncio's loop, where Scrapy runs its older kind of process, it would only be logged.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return "scrapy.cmdline" in sys.modules
