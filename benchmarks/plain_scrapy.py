"""Plain Scrapy as the baseline: a CrawlSpider with LinkExtractor, configured as well as its
documentation allows.

`--by-hand` is the fastest that a good user would write: links by lexbor, and no Request for a URL
already seen. Queues and duplicate filter are in memory, the download handler is Scrapy's fastest,
and nothing is logged or stored.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urljoin

import aiohttp.connector
from aiohttp.abc import AbstractResolver, ResolveResult
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from selectolax.lexbor import LexborHTMLParser

from webcrawl.lab.simweb import World

SETTINGS = {
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
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
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}


class Names(AbstractResolver):
    """Resolves the names of the synthetic web.

    The system's resolver is never asked, with any event loop.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    async def resolve(
        self, host: str, port: int = 0, family: int = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the address of a host. Raise OSError for a name outside the synthetic web."""
        number = self._world.number(host)
        if number is None:
            raise OSError(f"{host}: not a name of the synthetic web")
        address = self._world.address(number)
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None: ...


class PlainSpider(CrawlSpider):
    """Follows every link and yields a small item per page."""

    name = "plain"
    rules = (Rule(LinkExtractor(), callback="page", follow=True),)
    pages = 0

    def page(self, response: Any) -> dict[str, Any]:
        return item(self, response)

    parse_start_url = page

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url)  # once, although other pages link to it


class HandSpider(Spider):
    """Does the same with as little of Scrapy as its documentation allows."""

    name = "hand"
    pages = 0

    def __init__(self, start_urls: list[str]) -> None:
        super().__init__(start_urls=start_urls)
        self._known = set(start_urls)

    def parse(self, response: Any) -> Iterator[Request | dict[str, Any]]:
        for node in LexborHTMLParser(response.body).css("a[href]"):
            url = urljoin(response.url, node.attributes["href"]).partition("#")[0]
            if url.startswith("http") and url not in self._known:
                self._known.add(url)
                yield Request(url, dont_filter=True)
        yield item(self, response)


def item(spider: Any, response: Any) -> dict[str, Any]:
    """Count a page, and return its item."""
    spider.pages += 1
    return {"url": response.url, "size": len(response.body)}


def main() -> None:
    """Crawl the web that the command line describes, and print the number of pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_scrapy", description=__doc__)
    for name in ("hosts", "pages", "port", "most"):
        parser.add_argument(
            name, type=int, help="pages to crawl; 0 means all" if name == "most" else None
        )
    parser.add_argument("--tls", action="store_true", help="all hosts are https, on that port")
    parser.add_argument(
        "--by-hand", action="store_true", help="without CrawlSpider and LinkExtractor"
    )
    args = parser.parse_args()
    world = World(
        args.hosts,
        args.pages,
        port=args.port,
        tls_port=args.port,
        mix={"https": 1.0} if args.tls else {},
    )
    aiohttp.connector.DefaultResolver = lambda *_, **__: Names(world)
    process = AsyncCrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": args.most})
    crawler = process.create_crawler(HandSpider if args.by_hand else PlainSpider)
    process.crawl(crawler, start_urls=list(world.seeds()))
    process.start()
    print(crawler.spider.pages)  # without robots.txt, which CLOSESPIDER_PAGECOUNT counts too


if __name__ == "__main__":
    main()
