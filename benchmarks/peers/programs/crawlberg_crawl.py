"""Crawls each host of a list of URLs with crawlberg, which follows links to no other host.

Every page also becomes Markdown and metadata, which no option of crawlberg prevents. It runs in a
venv of its own, which has nothing of webcrawl.
"""

import asyncio
import sys
from pathlib import Path

from crawlberg import BrowserConfig, CrawlConfig, SsrfPolicy, batch_crawl_stream, create_engine


async def crawl(seeds: list[str]) -> None:
    """Crawl all hosts; each page is dropped when it comes, so that memory does not hold them all."""
    config = CrawlConfig(
        # Hosts at once, and also requests at once to each; more cost CPU time and memory
        max_concurrent=16,
        rate_limit_ms=0,
        respect_robots_txt=True,
        download_documents=False,
        browser=BrowserConfig(mode="never"),
        ssrf=SsrfPolicy(deny_private=False),  # the synthetic web is on loopback
    )
    async for _ in batch_crawl_stream(create_engine(config), seeds):
        pass


asyncio.run(crawl(Path(sys.argv[1]).read_text().split()))
