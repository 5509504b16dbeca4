"""What crawls and other commands import, imported once for all those of the tests (tests/support/crawling.py)."""

import gc
import sys
from importlib import import_module
from pkgutil import iter_modules

from webcrawl.urls.hosts import RegisteredDomains

NAMES = (
    *("aiohttp.web", "cProfile", "scrapy.cmdline", "scrapy.logformatter", "scrapy.statscollectors", "tldextract"),
    *("uvloop", "webcrawl.adapter.handlers", "webcrawl.adapter.logformat", "webcrawl.adapter.dupefilter"),
    *("webcrawl.preflight", "webcrawl.verify.whole", "scrapy.core.downloader.handlers._aiohttp", "scrapy.pqueues"),
    *("redis.asyncio", "scrapy_redis.connection", "webcrawl.adapter.hive", "webcrawl.adapter.page_json"),
    *("webcrawl.fastpath.items", "webcrawl.statistics.merging"),
    *("webcrawl.adapter.rereading", "webcrawl.adapter.since", "webcrawl.crawl.post", "webcrawl.images.reading"),
    *(f"scrapy.extensions.{name}" for name in ("closespider", "corestats", "logcount", "memusage", "telnet")),
)
PACKAGES = (
    *("scrapy.commands", "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares"),
    *(
        "webcrawl.commands",
        "webcrawl.extensions",
        "webcrawl.frontier",
        "webcrawl.frontier.allowances",
        "webcrawl.frontier.politeness",
    ),
    *("webcrawl.frontier.prioritizers", "webcrawl.pipelines", "webcrawl.seen"),
    *("webcrawl.seen.caches", "webcrawl.spiders", "webcrawl.urls", "webcrawl.urls.filters"),
)

for name in NAMES:
    import_module(name)
for package in map(import_module, PACKAGES):
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
RegisteredDomains()("example.test")  # loads the public suffix list
assert "twisted.internet.reactor" not in sys.modules, "each crawl has a loop of its own"
gc.freeze()  # all this is garbage for nobody, and stays in memory that the processes share
