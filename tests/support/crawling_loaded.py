"""What crawls and other commands import, imported once for all those of the tests
(tests/support/crawling.py).
"""

import gc
import sys
import threading
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory

from scrapy.cmdline import _get_commands_dict
from scrapy.settings import Settings
from scrapy.utils.versions import get_versions

from webcrawl.adapter.preflight import preflight
from webcrawl.adapter.spiders.web import WebSpider
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
        "webcrawl.adapter.after_crawl",
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

PAGE = Path(__file__).parents[2] / "docs/example-report.html"

for name in NAMES:
    import_module(name)
for package in map(import_module, PACKAGES):
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
RegisteredDomains()("example.test")  # loads the public suffix list
# reads the marks of block pages, and builds their automata
recogniser().recognise(200, {}, PAGE.read_bytes())
# get_project_settings() would note in the environment whose settings these are
settings = Settings()
settings.setmodule("webcrawl.settings", "project")
_get_commands_dict(settings, inproject=True)  # reads what packages are installed
get_versions()
with TemporaryDirectory() as folder:  # what each crawl does first: here it compiles all patterns
    (Path(folder) / "seeds.txt").write_text("http://example.test/\n")
    settings.setdict({"JOBDIR": f"{folder}/job", "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8"})
    preflight(settings, WebSpider, {"seeds": f"{folder}/seeds.txt"})
assert threading.active_count() == 1, "a thread would not be in the processes that are forked"
assert "twisted.internet.reactor" not in sys.modules, "each crawl has a loop of its own"
gc.freeze()  # all this is garbage for nobody, and stays in memory that the processes share
