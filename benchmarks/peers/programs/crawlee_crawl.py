"""Crawls all hosts of a list of URLs with Crawlee: links, robots.txt, everything in memory.

It runs in a venv of its own, which has nothing of webcrawl.
"""

import asyncio
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import HttpxHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def crawl(seeds: list[str], delay: float) -> None:
    """Follows every link, whatever its host.

    It knows no delay per host, only a rate of all requests.
    """
    pace = ConcurrencySettings(min_concurrency=32, max_concurrency=256, desired_concurrency=64)
    if delay:
        pace = ConcurrencySettings(max_concurrency=256, max_tasks_per_minute=60 / delay)
    crawler = ParselCrawler(
        http_client=HttpxHttpClient(),
        storage_client=MemoryStorageClient(),
        concurrency_settings=pace,
        respect_robots_txt_file=True,
        max_request_retries=0,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all")

    await crawler.run(seeds)


asyncio.run(crawl(Path(sys.argv[1]).read_text().split(), float(sys.argv[2])))
