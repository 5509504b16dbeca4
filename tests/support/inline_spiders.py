"""A user's spiders and pipelines that await downloads, for tests/adapter/test_inline_downloads.py."""

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.pipelines.files import FilesPipeline

from webcrawl.adapter.pipelines.output import open_output
from webcrawl.adapter.spiders.web import WebSpider


def note(crawler, *what):
    with Path(crawler.settings["NOTES"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


async def ask(crawler, url, **meta):
    """What came of it: the answer's text, or the error's name."""
    try:
        response = await crawler.engine.download_async(Request(url, meta=meta))
    except Exception as error:  # noqa: BLE001 - whatever the caller gets
        return type(error).__name__ + (f": {error}" if isinstance(error, IgnoreRequest) else "")
    return response.text


class Images(FilesPipeline):
    """Downloads the images of pages."""

    def get_media_requests(self, item, info):
        return [
            Request(urljoin(item.url, path)) for path in re.findall("<img src=([^>]*)>", item.text)
        ]

    def item_completed(self, results, item, info):
        note(self.crawler, "page", item.url, sum(ok for ok, _ in results), len(results))
        return item


class Urls:
    """An output with a line for each page, before it waits."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open_spider(self):
        self.output = open_output(self.crawler, "urls.txt")

    def process_item(self, item):
        self.output.write(f"{item.url}\n".encode())
        return item


class Awaiting(Spider):
    """Asks in the way that `how` names; every answer is noted."""

    name = "awaiting"

    def __init__(self, how, here, there, **kwargs):
        super().__init__(**kwargs)
        self.how, self.here, self.there = how, here, there

    async def start(self):
        if self.how == "from start":
            self.note(await ask(self.crawler, f"{self.here}/one"))
        if self.how == "errback":  # robots.txt forbids it
            yield Request(f"{self.here}/forbidden/1", errback=self.failed)
        elif self.how == "each other":
            yield Request(
                f"{self.here}/one", self.each_other, cb_kwargs={"other": f"{self.there}/two"}
            )
            yield Request(
                f"{self.there}/one", self.each_other, cb_kwargs={"other": f"{self.here}/two"}
            )
        else:
            yield Request(
                f"{self.here}/first", getattr(self, self.how.replace(" ", "_"), self.after)
            )

    def note(self, *what):
        note(self.crawler, *what)

    async def own_host(self, response):
        self.note(await ask(self.crawler, f"{self.here}/one"))
        yield Request(f"{self.here}/after", self.after)

    def after(self, response):
        self.note("after")

    async def together(self, response):
        urls = [f"{where}/{number}" for number in range(5) for where in (self.here, self.there)]
        self.note(*await asyncio.gather(*(ask(self.crawler, url) for url in urls)))

    async def one_by_one(self, response):
        for number in range(4):
            self.note(await ask(self.crawler, f"{self.here}/{number}"))

    async def each_other(self, response, other):
        self.note(await ask(self.crawler, other))
        self.note(await ask(self.crawler, response.url.replace("one", "three")))

    async def nested(self, response):
        async def deeper(depth):
            text = await ask(self.crawler, f"{self.here}/{depth}")
            return [text, *(await asyncio.create_task(deeper(depth - 1)) if depth else ())]

        self.note(*await deeper(3))

    async def failed(self, failure):
        self.note("errback", await ask(self.crawler, f"{self.here}/one"))

    async def forbidden(self, response):
        self.note(await ask(self.crawler, f"{self.here}/forbidden"))

    async def moved(self, response):
        self.note(await ask(self.crawler, f"{self.here}/moved"))

    async def flaky(self, response):
        self.note(await ask(self.crawler, f"{self.here}/flaky"))
        self.note(await ask(self.crawler, f"{self.here}/flaky2", dont_retry=True))

    async def slow(self, response):
        self.note(await ask(self.crawler, f"{self.here}/slow"))

    async def cancelled(self, response):
        tasks = [
            asyncio.create_task(ask(self.crawler, f"{self.here}/slow{number}"))
            for number in range(3)
        ]
        await asyncio.sleep(0.1)
        for task in tasks[:2]:  # one is being downloaded, one waits for its turn
            task.cancel()
        self.note(
            *(type(one).__name__ for one in await asyncio.gather(*tasks, return_exceptions=True))
        )

    async def foreign(self, response):
        self.note(
            await ask(self.crawler, "data:,hello"), await ask(self.crawler, "http://a..test:0/")
        )

    async def unreachable(self, response):
        self.note(await ask(self.crawler, "http://nowhere.test/"))

    async def refused(self, response):
        self.note(await ask(self.crawler, "http://127.0.0.2/"))

    async def twice(self, response):
        for _ in range(2):
            self.note(await ask(self.crawler, f"{self.here}/one"))

    async def many(self, response):
        self.note(
            *await asyncio.gather(
                *(ask(self.crawler, f"{self.here}/{number}") for number in range(100))
            )
        )


class Again:
    """A pipeline that downloads each page once more."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_item(self, item):
        note(self.crawler, "again", len(await ask(self.crawler, item.url)))
        return item


class Opening:
    """A pipeline that downloads when it is opened, and when it is closed."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def open_spider(self):
        note(self.crawler, "opened", await ask(self.crawler, f"{self.crawler.spider.there}/opened"))

    async def close_spider(self):
        note(self.crawler, "closed", await ask(self.crawler, f"{self.crawler.spider.there}/closed"))


class LoggingIn:
    """A downloader middleware that downloads from a request's host before the request."""

    def __init__(self, crawler):
        self.crawler, self.known = crawler, set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        if not request.url.endswith(("/login", "/robots.txt")) and request.url not in self.known:
            self.known.add(request.url)
            note(self.crawler, await ask(self.crawler, urljoin(request.url, "/login")))


class Answering:
    """A downloader middleware that knows what robots.txt says."""

    def process_request(self, request):
        if request.url.endswith("/robots.txt"):
            return Response(
                request.url, body=b"User-agent: *\nDisallow: /forbidden\nDisallow: /one\n"
            )
        return None


class Paging(WebSpider):
    """Every page awaits three of its own host and one of the next, before and while its items come."""

    name = "awaiting pages"

    def parse(self, response):
        return self.later(response, super().parse(response))

    async def later(self, response, pages):
        url = urlsplit(response.url)
        texts = [
            await ask(self.crawler, response.urljoin(f"/beside{url.path}/{number}"))
            for number in range(3)
        ]
        for page in pages:
            yield page
        there = {"a": "b", "b": "c", "c": "d", "d": "a"}[url.netloc[0]] + url.netloc[1:]
        texts.append(await ask(self.crawler, f"http://{there}/from{url.path}"))
        note(self.crawler, response.url, *texts)
