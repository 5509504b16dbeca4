"""What crawls and other commands import, imported once for all those of the tests
(tests/support/crawling.py).
"""

import gc
import sys
from importlib import import_module
from pkgutil import iter_modules

from webcrawl.content.recognise.recogniser import recogniser
from webcrawl.urls.host_names import RegisteredDomains

NAMES = (
    *("aiohttp.web", "cProfile", "scrapy.cmdline", "scrapy.logformatter", "scrapy.statscollectors"),
    *(
        "uvloop",
        "webcrawl.adapter.handlers",
        "webcrawl.adapter.logformat",
        "webcrawl.adapter.dupefilter",
    ),
    *(
        "webcrawl.adapter.preflight",
        "webcrawl.tools.verify_crawl",
        "scrapy.core.downloader.handlers._aiohttp",
        "scrapy.pqueues",
    ),
    *(
        "redis.asyncio",
        "scrapy_redis.connection",
        "webcrawl.adapter.hive_membership",
        "webcrawl.adapter.feeds",
    ),
    *("webcrawl.adapter.fastpath.items", "webcrawl.record.statistics", "webcrawl.crawl.sitemaps"),
    *(
        "webcrawl.lab.walks.spider",
        "scrapy.core.downloader.handlers.datauri",
        "scrapy.extensions.memdebug",
    ),
    *(
        "webcrawl.adapter.archive_reading",
        "webcrawl.crawl.earlier_pages",
        "webcrawl.crawl.hive_parts",
        "webcrawl.content.image_headers",
    ),
    *(
        f"scrapy.extensions.{name}"
        for name in ("closespider", "corestats", "logcount", "memusage", "telnet")
    ),
)
PACKAGES = (
    *("scrapy.commands", "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares"),
    *(
        "webcrawl.commands",
        "webcrawl.adapter.extensions",
        "webcrawl.frontier",
        "webcrawl.frontier.allowances",
        "webcrawl.frontier.politeness",
    ),
    *("webcrawl.frontier.prioritizers", "webcrawl.adapter.pipelines", "webcrawl.frontier.seen"),
    *(
        "webcrawl.frontier.seen.caches",
        "webcrawl.adapter.spiders",
        "webcrawl.urls",
        "webcrawl.urls.filters",
    ),
)

for name in NAMES:
    import_module(name)
for package in map(import_module, PACKAGES):
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
RegisteredDomains()("example.test")  # loads the public suffix list
recogniser()  # reads the marks of block pages
assert "twisted.internet.reactor" not in sys.modules, "each crawl has a loop of its own"
gc.freeze()  # all this is garbage for nobody, and stays in memory that the processes share
