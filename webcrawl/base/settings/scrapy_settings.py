"""Scrapy's own settings with other values here: those that a user may choose, and the plumbing."""

from __future__ import annotations

from typing import Any

from webcrawl.base.settings.setting_kinds import DAY, Choice, Number, Setting, Switch

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

DOWNLOAD_HANDLERS_BASE = {
    "http": "webcrawl.adapter.handlers.HttpHandler",
    "https": "webcrawl.adapter.handlers.HttpHandler",
    "ftp": "webcrawl.adapter.handlers.FtpHandler",
    "gopher": "webcrawl.adapter.handlers.GopherHandler",
    "data": "scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler",
    "file": None,
    "s3": None,
}

DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
}

EXTENSIONS_BASE = {
    "webcrawl.adapter.extensions.core_stats.SpidersCoreStats": 0,
    "scrapy.extensions.logcount.LogCount": 0,
    "scrapy.extensions.telnet.TelnetConsole": 0,
    "scrapy.extensions.memusage.MemoryUsage": 0,
    "scrapy.extensions.memdebug.MemoryDebugger": 0,
    "webcrawl.adapter.extensions.limits.Limits": 0,
    "webcrawl.adapter.extensions.feed_export.CheckpointedFeeds": 10,
    "webcrawl.adapter.extensions.readable_log.ReadableLog": 50,
    "webcrawl.adapter.extensions.checkpoints.Checkpoints": 100,
    "webcrawl.adapter.extensions.breaker.ErrorBreaker": 200,
    "webcrawl.adapter.extensions.disk_space.DiskSpace": 300,
    "webcrawl.adapter.extensions.limits.ByteLimit": 310,
    "webcrawl.adapter.extensions.progress.Progress": 400,
    "webcrawl.adapter.extensions.bound.Bound": 405,
    "webcrawl.adapter.extensions.statistics.Statistics": 410,
    "webcrawl.adapter.extensions.summary.Summary": 415,
    "webcrawl.adapter.extensions.metrics.Metrics": 418,
    "webcrawl.adapter.extensions.websub.WebSub": 419,
    "webcrawl.adapter.extensions.summary.Identity": 420,
    "webcrawl.adapter.extensions.service_manager.ServiceManager": 425,
    "webcrawl.adapter.extensions.following.Following": 430,
    "webcrawl.adapter.extensions.history.History": 435,
    "webcrawl.adapter.extensions.output_store.OutputStore": 437,
    "webcrawl.adapter.extensions.redis_seeds.RedisSeeds": 440,
    "webcrawl.adapter.extensions.control.Control": 450,
    "webcrawl.adapter.extensions.trim.Garbage": 500,
    "webcrawl.adapter.extensions.trim.Trim": 510,
}

ITEM_PIPELINES_BASE = {
    "webcrawl.adapter.pipelines.outputs.WarcPipeline": 100,
    "webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 150,
    "webcrawl.adapter.pipelines.outputs.ChangesPipeline": 198,
    "webcrawl.adapter.pipelines.outputs.TablesPipeline": 199,
    "webcrawl.adapter.pipelines.outputs.NewsPipeline": 200,
    "webcrawl.adapter.pipelines.outputs.TextPipeline": 202,
    "webcrawl.adapter.pipelines.outputs.ImagesPipeline": 211,
    "webcrawl.adapter.pipelines.outputs.TagsPipeline": 212,
    "webcrawl.adapter.pipelines.outputs.PageFilesPipeline": 213,
    "webcrawl.adapter.pipelines.outputs.NearDuplicatesPipeline": 214,
    "webcrawl.adapter.pipelines.outputs.SkippedPipeline": 215,
    "webcrawl.adapter.pipelines.outputs.RequestsPipeline": 216,
    "webcrawl.adapter.pipelines.outputs.DocumentsPipeline": 217,
    "webcrawl.adapter.pipelines.outputs.WebHookPipeline": 218,
    "webcrawl.adapter.pipelines.outputs.OwnOutputsPipeline": 1000,
}

FEED_EXPORTERS_BASE = {
    "json": "webcrawl.adapter.feeds.Json",
    "jsonlines": "webcrawl.adapter.feeds.JsonLines",
    "jsonl": "webcrawl.adapter.feeds.JsonLines",
    "jl": "webcrawl.adapter.feeds.JsonLines",
    "csv": "webcrawl.adapter.feeds.Csv",
    "xml": "webcrawl.adapter.feeds.Xml",
    "marshal": "scrapy.exporters.MarshalItemExporter",
    "pickle": "scrapy.exporters.PickleItemExporter",
}

FEED_STORAGES_BASE = {
    "": "webcrawl.adapter.feeds.FeedFile",
    "file": "webcrawl.adapter.feeds.FeedFile",
    "ftp": "scrapy.extensions.feedexport.FTPFeedStorage",
    "ftps": "scrapy.extensions.feedexport.FTPFeedStorage",
    "gs": "scrapy.extensions.feedexport.GCSFeedStorage",
    "s3": "scrapy.extensions.feedexport.S3FeedStorage",
    "stdout": "scrapy.extensions.feedexport.StdoutFeedStorage",
}

# How the crawl stands in Scrapy. No user has a reason to choose others, so they are plain defaults
# and on no page of the manual.
PLUMBING: dict[str, Any] = {
    "BOT_NAME": "webcrawl",
    "SPIDER_MODULES": ["webcrawl.adapter.spiders", "webcrawl.lab.walks.spider"],
    "COMMANDS_MODULE": "webcrawl.commands",
    "SCHEDULER": "webcrawl.adapter.scheduler.FrontierScheduler",
    "DUPEFILTER_CLASS": "webcrawl.adapter.dupefilter.SeenFilter",
    # no slots, no delays: the frontier has waited
    "DOWNLOADER": "webcrawl.adapter.downloader.FrontierDownloader",
    "DOWNLOAD_HANDLERS_BASE": DOWNLOAD_HANDLERS_BASE,  # no other scheme is fetched
    # What runs beside the crawl: the Scrapy extensions that can be enabled, and the crawl's own.
    # Scrapy imports even disabled ones, so its remote control is left out: aiohttp would take 0.15
    # s and 15 MiB.
    "EXTENSIONS_BASE": EXTENSIONS_BASE,
    # those that OUTPUTS chooses from, and one that drops pages seen
    "ITEM_PIPELINES_BASE": ITEM_PIPELINES_BASE,
    # of a page what people read, without its body (docs/outputs.md)
    "FEED_EXPORTERS_BASE": FEED_EXPORTERS_BASE,
    # Local files are part of the checkpoint (docs/in-your-scrapy-project.md), and a crawl that was complete
    # overwrites none.
    "FEED_STORAGES_BASE": FEED_STORAGES_BASE,
    # no coroutine for each item and pipeline
    "ITEM_PROCESSOR": "webcrawl.adapter.fastpath.items.ItemProcessor",
    "CONCURRENT_ITEMS": 1,  # of one page; Scrapy's default of 100 makes a hundred tasks per page
    # bytes of pages in work above which no more are requested
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 64 * 1024 * 1024,
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",  # costs half as much as asyncio's own
    "COOKIES_ENABLED": False,  # the cookies of every host would be kept for the whole crawl
    # a port that runs any Python sent to it has no place in a crawler
    "REMOTE_CONTROL_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,  # nor has a console over the network
    # no line per page: crawl.log has them
    "LOG_FORMATTER": "webcrawl.adapter.logformat.QuietLogFormatter",
    "FOCUS_LANGUAGES": None,  # by `-a languages=` only, which chooses the prioritizer too
    # scrapy-redis reads it: a page without its body
    "REDIS_ITEMS_SERIALIZER": "webcrawl.adapter.feeds.to_json",
}

SCRAPY_SETTINGS: dict[str, tuple[Setting, ...]] = {  # by section
    "Scrapy's own, set for this crawl": (
        Setting("FOREIGN_HANDLERS_ALLOWED", [], "component list").means(
            "Handlers to allow although they connect without the address guard, such as Scrapy's."
        ),
        Setting("DOWNLOAD_TIMEOUT", 30, Number(0.1, DAY)).means(
            "Seconds for a whole download, from the name lookup to the last byte."
        ),
        Setting("DOWNLOAD_MIN_RATE", 500, Number(0, 100_000)).means(
            "Minimum average number of bytes per second after the first 15 seconds of an answer; "
            "a slower one ends as at DOWNLOAD_TIMEOUT. 0: no minimum."
        ),
        Setting("DNS_TIMEOUT", 20, Number(0.1, DAY)).means("Seconds for a name lookup."),
        Setting("ROBOTSTXT_OBEY", True, Switch()).means(
            "Obey robots.txt; the frontier does, not Scrapy's middleware."
        ),
        Setting("DOWNLOADER_MIDDLEWARES", DOWNLOADER_MIDDLEWARES, "components").means(
            "Switches off the Scrapy middlewares whose work the frontier or the client does."
        ),
        Setting("ITEM_PIPELINES", {}, "components").means(
            "Your processing modules, in ascending order from 201: any Scrapy item pipeline."
        ),
        Setting("LOG_LEVEL", "INFO", Choice(LEVELS, exact=True)).means(
            "Lowest level that is logged."
        ),
    ),
}
