"""Crawls all hosts of a list of URLs with silkworm: links, robots.txt, everything in memory.

It runs in a venv of its own, which has nothing of webcrawl.
"""

import sys
from pathlib import Path

from silkworm import HTMLResponse, Response, RobotsTxtMiddleware, Spider, get_logger
from silkworm.runner import run_spider_uvloop

# Its parser takes markup within a script for elements; what our scripts name does not exist
LINKS = 'a[href]:not([href^="/never/"])'


class EveryLink(Spider):
    """Follows every link, whatever its host."""

    name = "peer"

    async def parse(self, response: Response) -> None:
        """Ask for all pages that this one links to; the engine drops those that it has seen."""
        if not isinstance(response, HTMLResponse):
            return
        for link in await response.select(LINKS):
            url = response.url_join(link.attr("href"))
            if url.startswith("http"):
                await self.follow(url)


get_logger().configure(handlers=[{"sink": "stderr", "level": "ERROR"}])
run_spider_uvloop(
    EveryLink(start_urls=Path(sys.argv[1]).read_text().split()),
    concurrency=64,
    keep_alive=True,
    emulation=None,  # of no browser
    request_middlewares=[RobotsTxtMiddleware()],
)
