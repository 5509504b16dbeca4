"""A user's spider with files, images and downloads of its own, for webcrawl and for plain Scrapy
alike.
"""

import errno
import json
import os
import resource
import signal
from io import BytesIO
from pathlib import Path

from scrapy import Request, Spider
from scrapy.pipelines.files import FilesPipeline


class Media(Spider):
    """Notes what it gets; its items go through Scrapy's media pipelines."""

    name = "media"
    handle_httpstatus_list = (500,)

    def __init__(self, here, notes, **kwargs):
        super().__init__(**kwargs)
        self.here, self.notes = here, Path(notes)

    async def start(self):
        yield Request(f"{self.here}/page")

    async def parse(self, response):
        inner = await self.crawler.engine.download_async(Request(f"{self.here}/inner"))
        moved = await self.crawler.engine.download_async(
            Request(f"{self.here}/moved", meta={"word": 1})
        )
        self.note(
            inner.url, inner.status, inner.text, type(inner).__name__, moved.url, moved.meta["word"]
        )
        self.note(
            sorted(key for key in inner.meta if not key.startswith("download_")), inner.request.url
        )
        images = [response.urljoin(path) for path in response.css("img::attr(src)").getall()]
        yield {
            "number": 1,
            "file_urls": [*images, f"{self.here}/missing", "data:,file", f"{self.here}/inner"],
            "image_urls": [f"{self.here}/image.png", f"{self.here}/img/none"],
        }
        yield Request(f"{self.here}/page/2", self.second)

    def second(self, response):
        self.note(response.url, response.flags)
        yield {
            "number": 2,
            "file_urls": [f"{self.here}/missing", f"{self.here}/inner"],
            "image_urls": [],
        }

    def note(self, *what):
        with self.notes.open("a") as file:
            file.write(json.dumps(what).replace(self.here, "") + "\n")


class Torn(Media):
    """One file, in the middle of which the first run is killed."""

    name = "torn"
    most_bytes = 1 << 20  # in a file of the run that is killed

    async def start(self):
        yield Request(f"{self.here}/page", self.parse_page)

    def parse_page(self, response):
        if not self.notes.exists():
            self.note("killed")
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes,) * 2)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        yield {"file_urls": [f"{self.here}/large"]}


class Single(Media):
    """One file."""

    name = "single"

    async def start(self):
        yield Request(f"{self.here}/page", self.parse_page)

    def parse_page(self, response):
        yield {"file_urls": [f"{self.here}/large"]}


class NoSpace(BytesIO):
    """What a full disk does not take."""

    def getvalue(self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullAtFirst(FilesPipeline):
    """Scrapy's pipeline; its disk is full in the first run."""

    def file_downloaded(self, response, request, info, *, item=None):
        notes = self.crawler.spider.notes
        if notes.exists():
            return super().file_downloaded(response, request, info, item=item)
        notes.write_text('["full"]\n')
        return self.store.persist_file("full/file", NoSpace(), info)


class Noting:
    """The last pipeline."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_item(self, item):
        self.crawler.spider.note(item)
        return item
