"""Plain Scrapy as the baseline: a CrawlSpider with LinkExtractor, set up as well as its documentation knows how.

Its own queues and duplicate filter in memory, the fastest of its download handlers, nothing logged, nothing stored.
"""

from __future__ import annotations

import argparse
import socket
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from webcrawl.simweb import World

SETTINGS = {
    "CONCURRENT_REQUESTS": 256,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "CONCURRENT_ITEMS": 1,
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_HANDLERS": dict.fromkeys(
        ("http", "https"), "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
    ),
    "LOG_LEVEL": "ERROR",
    "REDIRECT_ENABLED": False,
    "REFERER_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}


class PlainSpider(CrawlSpider):
    """Follows every link and yields a small item a page."""

    name = "plain"
    rules = (Rule(LinkExtractor(), callback="page", follow=True),)

    def page(self, response: Any) -> dict[str, Any]:
        return {"url": response.url, "size": len(response.body)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_scrapy", description=__doc__)
    for name in ("hosts", "pages", "port", "most"):
        parser.add_argument(name, type=int)
    args = parser.parse_args()
    world = World(args.hosts, args.pages, port=args.port)
    ask = socket.getaddrinfo

    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        number = world.number(name) if name and name.endswith(".test") else None
        return ask(world.address(number) if number is not None else host, *args, **kwargs)

    socket.getaddrinfo = resolve  # the system does not know the synthetic web's names
    process = AsyncCrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": args.most})
    process.crawl(PlainSpider, start_urls=list(world.seeds()))
    process.start()


if __name__ == "__main__":
    main()
