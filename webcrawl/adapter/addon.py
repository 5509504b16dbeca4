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
OUR_SETTINGS = {
    name: value
    for name, value in vars(defaults).items()
    if name.isupper() and not hasattr(default_settings, name)
}
# Settings of Scrapy's that every crawl needs. All others keep Scrapy's defaults.
COMPONENTS = (
    "SCHEDULER",
    "DUPEFILTER_CLASS",
    "DOWNLOADER",
    "ITEM_PROCESSOR",
    "CONCURRENT_ITEMS",
    "ROBOTSTXT_OBEY",
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE",
)
# Entries for Scrapy's base settings. The project's own entries override them.
MERGED_BASES: dict[str, Mapping[str, Any]] = {
    "DOWNLOAD_HANDLERS_BASE": {
        scheme: path for scheme, path in defaults.DOWNLOAD_HANDLERS_BASE.items() if path
    },
    "DOWNLOADER_MIDDLEWARES_BASE": defaults.DOWNLOADER_MIDDLEWARES,
    "EXTENSIONS_BASE": {
        # Those with the order 0 are Scrapy's own
        **{path: order for path, order in defaults.EXTENSIONS_BASE.items() if order},
        "scrapy.extensions.feedexport.FeedExporter": None,  # ours takes its place
    },
    "FEED_EXPORTERS_BASE": defaults.FEED_EXPORTERS_BASE,
    "FEED_STORAGES_BASE": defaults.FEED_STORAGES_BASE,
    "ITEM_PIPELINES_BASE": defaults.ITEM_PIPELINES_BASE,
}
REACTOR = default_settings.TWISTED_REACTOR
# Further settings of Scrapy's for a spider that makes pages of many hosts
BROAD_SETTINGS = (
    "CONCURRENT_REQUESTS",
    "COOKIES_ENABLED",
    "DOWNLOAD_TIMEOUT",
    "DNS_TIMEOUT",
    "LOG_FORMATTER",
)
# For spiders that make their own requests. As in Scrapy, each request is sent, and its answer comes
# whole, however slowly.
EXACTLY_AS_REQUESTED: dict[str, Any] = {
    "URL_MAX_LENGTH": 65_536,
    "URL_MAX_DEPTH": 10**9,
    "URL_EXCLUDE_EXTENSIONS": [],
    "TRAP_RULES": False,
    "DOWNLOAD_TRUNCATE": 2**31 - 1,
    "DOWNLOAD_MIN_RATE": 0,
    # A spider waits for its errbacks, and its crawl must end within minutes if a host is away
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
        """Set the event loop, which cannot be chosen later, unless the program has one already."""
        if not is_reactor_installed() and find_spec("uvloop") is not None:
            settings.set("ASYNCIO_EVENT_LOOP", defaults.ASYNCIO_EVENT_LOOP, PRIORITY)

    def update_settings(self, settings: BaseSettings) -> None:
        """Set up the crawl of the spider, and check that it can start.

        Raise CannotStart if it cannot. In a `scrapy` command raise SystemExit instead, with status
        0 if the crawl in JOBDIR is complete.
        """
        spider = self._spider
        self._set_defaults(settings, is_broad=getattr(spider, "makes_pages", False))
        job = vars(spider).get(JOB, "")
        # A job of scrapyd under the same name resumes
        anew = not settings["JOBDIR"] and not job
        settings.set("JOBDIR", default_jobdir(spider.name, job), PRIORITY)
        try:
            check_components(settings)
            preflight_crawler(settings, spider, complete=_ends_a_command(), anew=anew)
        except NothingLeft as message:
            if settings["LOG_FILE"]:
                logger.warning("%s", message)
            sys.stderr.write(f"{message}\n")
            raise SystemExit(0) from message
        except CannotStart as error:
            # A library must not end its caller's program. After NotConfigured, Scrapy's way to
            # leave an add-on out, a plain and impolite crawl would run.
            if not _ends_a_command():
                log_once(error)
                raise
            if settings["LOG_FILE"]:
                logger.critical("%s", error)
            raise SystemExit(str(error)) from error

    @staticmethod
    def _set_defaults(settings: BaseSettings, *, is_broad: bool) -> None:
        """Put the crawl's settings in place of Scrapy's defaults; the project's own remain."""
        settings.setdict(
            OUR_SETTINGS if is_broad else OUR_SETTINGS | EXACTLY_AS_REQUESTED, PRIORITY
        )
        for name in (*COMPONENTS, *(BROAD_SETTINGS if is_broad else ())):
            settings.set(name, getattr(defaults, name), PRIORITY)
        for name, entries in MERGED_BASES.items():
            # At the project's own priority, because a lower one would have no effect
            priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES[PRIORITY])
            settings.set(name, settings.getdict(name) | dict(entries), priority)


def is_crawl(spider: Spider) -> bool:
    """Return whether this spider is run to crawl, and not by a command of Scrapy's for single pages.

    Such commands must not touch the crawl in JOBDIR. They replace the spider's `start`, except
    `shell`, which makes no spider.
    """
    return not getattr(spider.start, "__module__", "").startswith("scrapy.commands.")


def check_components(settings: BaseSettings) -> None:
    """Raise CannotStart if the project sets a scheduler, downloader or reactor that no crawl can use."""
    our_classes = {"SCHEDULER": FrontierScheduler, "DOWNLOADER": FrontierDownloader}
    for name, our_class in our_classes.items():
        if not issubclass(load_object(settings[name]), our_class):
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
    """Return whether SystemExit would end a `scrapy` command, and not a program of the user's.

    False without an asyncio loop, where Scrapy's older kind of process would only log it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return "scrapy.cmdline" in sys.modules
