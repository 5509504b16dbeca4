"""Pipelines for tests of `scrapy process`: what all kinds of pipelines are promised."""

import asyncio
import os
import signal
import time
from pathlib import Path

from scrapy import Request
from scrapy.exceptions import DropItem, IgnoreRequest

from webcrawl.adapter.pipelines.output import open_output


class Lines:
    """One line per page in an output of the run, after a while."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open_spider(self):
        self.output = open_output(self.crawler, "lines.txt")

    async def process_item(self, page):
        await asyncio.sleep(0.001 * (len(page.url) % 3))
        self.output.write(f"{page.url}\n".encode())
        return page


class Changes(Lines):
    """One line per page with the change that it is."""

    async def process_item(self, page):
        self.output.write(f"{page.url.partition('.test/')[2]} {page.change}\n".encode())
        return page


class Digests(Lines):
    """One line per page with its digest."""

    async def process_item(self, page):
        self.output.write(f"{page.url} {page.digest.hex() if page.digest else '-'}\n".encode())
        return page


class CancelsAll:
    """Cancels each page."""

    async def process_item(self, page):
        raise asyncio.CancelledError


class Hooks:
    """Counts pages in its position, and notes what it is restored to."""

    def __init__(self):
        self.pages = 0

    def restore(self, position):
        self.pages = position or 0

    def checkpoint(self):
        Path("position").write_text(str(self.pages))
        return self.pages

    def process_item(self, page):
        self.pages += 1
        return page


class Dies(Lines):
    """Kills the process, like kill -9, at the page that the setting names; the first time.

    Before, it checkpoints.
    """

    async def process_item(self, page):
        if page.url.endswith(("2", "6")):
            os.kill(os.getpid(), signal.SIGUSR1)
            for _ in range(10_000):
                if not self.crawler.engine.downloader.barrier.is_open:
                    break
                await asyncio.sleep(0.001)
        mark = Path(self.crawler.settings["JOBDIR"]) / "died"
        if page.url.endswith(self.crawler.settings["DIES_AT"]) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().process_item(page)


class Cancels(Lines):
    """Is cancelled while it waits for something for the page /20."""

    async def process_item(self, page):
        if page.url.endswith("/20"):
            raise asyncio.CancelledError
        return await super().process_item(page)


class Hangs(Lines):
    """Does not come back from the page /20; once a checkpoint has left it out, the process gets
    this signal.
    """

    async def process_item(self, page):
        if page.url.endswith("/20"):
            self._end()
            await asyncio.get_running_loop().create_future()
        return await super().process_item(page)

    def _end(self):
        if b"INFO: checkpoint in" in Path("said.txt").read_bytes():
            os.kill(os.getpid(), self.crawler.settings.getint("SIGNAL"))
        else:
            asyncio.get_running_loop().call_later(0.01, self._end)


class Blocks:
    """Holds the event loop up, as does code that waits for another program; somebody presses Ctrl-C
    meanwhile.
    """

    def process_item(self, page):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(100_000)


class Interrupts(Lines):
    """Does what Ctrl-C does, at that page."""

    async def process_item(self, page):
        if page.url.endswith(self.crawler.settings["DIES_AT"]):
            os.kill(os.getpid(), signal.SIGINT)
        return await super().process_item(page)


class Counts(Lines):
    """How many pages are here at once."""

    here = 0

    async def process_item(self, page):
        Counts.here += 1
        self.output.write(f"{Counts.here}\n".encode())
        await asyncio.sleep(0.002)
        Counts.here -= 1
        return page


class Downloads(Lines):
    """Asks for something, which nobody may be asked for."""

    async def process_item(self, page):
        try:
            await self.crawler.engine.download_async(Request(page.url))
        except Exception as error:
            self.output.write(f"{type(error).__name__} {error}\n".encode())
            raise DropItem("no download") from error
        return page


class Refuses:
    """A downloader middleware that lets nothing pass."""

    def process_request(self, request):
        raise IgnoreRequest(request.url)


class Broken:
    content_types = ("text/html",)

    def process_item(self, page):
        raise ValueError(page.url)


class Fields(Lines):
    """All that a page says of itself."""

    async def process_item(self, page):
        links = [(link.kind, link.url, link.text) for link in page.links]
        fields = (
            page.url,
            page.status,
            page.headers,
            page.body,
            page.content_type,
            page.title,
            page.depth,
            page.via,
        )
        more = (
            page.ip,
            round(page.fetched_at, 3),
            page.truncated,
            page.encoding,
            page.base,
            page.duplicate,
            page.link.path,
        )
        self.output.write(f"{fields + more + (links, page.visible_text)!r}\n".encode())
        return page
