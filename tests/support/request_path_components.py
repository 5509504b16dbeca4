"""A user's own extension, middlewares and pipelines, which note what they see:
tests/adapter/fastpath needs them.
"""

import asyncio
import json
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path

from scrapy import signals
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import TextResponse
from scrapy.pipelines import ItemPipelineManager


def note(crawler, scene, *what):
    with Path(crawler.settings["NOTES"]).open("a") as file:
        file.write(json.dumps([scene, *what]) + "\n")


@dataclass
class Thing:
    """An item of another type."""

    scene: str
    trail: list = field(default_factory=list)


def scene_of(item):
    return item.scene if isinstance(item, Thing) else item["scene"]


class Component:
    """With the crawler at hand."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)


class Recorder(Component):
    """Notes signals, under the scene that they belong to."""

    def __init__(self, crawler):
        super().__init__(crawler)
        for name in (
            "request_scheduled",
            "response_received",
            "spider_error",
            "item_scraped",
            "item_dropped",
        ):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))
        crawler.signals.connect(self.item_error, signals.item_error)
        crawler.signals.connect(self.request_reached_downloader, signals.request_reached_downloader)
        crawler.signals.connect(self.response_downloaded, signals.response_downloaded)
        crawler.signals.connect(self.request_left_downloader, signals.request_left_downloader)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def request_scheduled(self, request):
        note(self.crawler, request.meta["scene"], "scheduled", request.url.rpartition("/")[2])

    def response_received(self, response, request):
        note(self.crawler, request.meta["scene"], "received", response.status)

    def request_reached_downloader(self, request):
        note(self.crawler, request.meta["scene"], "reached")

    def response_downloaded(self, response, request):
        note(self.crawler, request.meta["scene"], "downloaded", response.status)

    def request_left_downloader(self, request):
        note(self.crawler, request.meta["scene"], "left")

    def spider_error(self, failure, response):
        request = getattr(response, "request", None)
        note(self.crawler, request.meta["scene"], "error", failure.type.__name__)

    def item_scraped(self, item, response):
        note(
            self.crawler,
            scene_of(item),
            "item",
            type(item).__name__,
            asdict(item) if is_dataclass(item) else item,
        )

    def item_dropped(self, item, exception):
        note(self.crawler, scene_of(item), "dropped", str(exception))

    def item_error(self, item, failure):
        note(self.crawler, scene_of(item), "item error", failure.type.__name__)

    def spider_closed(self, reason):
        note(self.crawler, "", "closed", reason)
        found = self.crawler.stats.get_stats()
        kept = {
            name: value
            for name, value in found.items()
            if name.startswith(("spider_exceptions/", "httperror/"))
        }
        note(self.crawler, "", "stats", dict(sorted(kept.items())))

    async def engine_stopped(self):
        await asyncio.sleep(0)
        note(self.crawler, "", "stopped")


class OfDownloads(Component):
    """A downloader middleware; what it does to a request is the request's scene."""

    def process_request(self, request):
        match request.meta["scene"]:
            case "answered":
                return TextResponse(request.url, body=b"made up", encoding="utf-8")
            case "replaced" if request.url.endswith("/replaced"):
                return request.replace(url=request.url + "-elsewhere")
            case "ignored" | "ignored and unheard":
                raise IgnoreRequest("not this one")
            case "broken" | "broken and unheard":
                raise ZeroDivisionError
        return None

    async def process_response(self, request, response):
        await asyncio.sleep(0)
        match request.meta["scene"]:
            case "redirected" if request.url.endswith("/redirected"):
                return request.replace(url=request.url + "-elsewhere")
            case "changed":
                return response.replace(body=b"changed")
            case "ignored late":
                raise IgnoreRequest("not this answer")
        return response

    def process_exception(self, request, exception):
        if request.meta["scene"] == "swallowed":
            return TextResponse(request.url, body=b"in place of it", encoding="utf-8")
        return None


class OfCallbacks(Component):
    """A spider middleware, in today's one form."""

    def process_spider_input(self, response):
        if response.meta["scene"].startswith("unwanted"):
            raise ValueError("not for the spider")

    async def process_spider_output(self, response, result):
        async for one in result:
            if isinstance(one, dict):
                one["trail"].append("async output")
            yield one
        if response.meta["scene"] == "more":
            yield {"scene": "more", "trail": ["of the middleware"]}

    def process_spider_exception(self, response, exception):
        note(self.crawler, response.meta["scene"], "exception", type(exception).__name__)
        if response.meta["scene"].startswith("recovered"):
            return [{"scene": response.meta["scene"], "trail": ["instead"]}]
        return None


class OfBothKinds(Component):
    """A spider middleware with a plain generator, and another form for callbacks that are
    asynchronous.
    """

    def process_spider_output(self, response, result):
        yield from result

    async def process_spider_output_async(self, response, result):
        async for one in result:
            if isinstance(one, dict):
                one["trail"].append("both kinds")
            yield one


class Plain(Component):
    """A pipeline that drops, breaks, or replaces."""

    def process_item(self, item):
        match item.get("do"):
            case "drop":
                raise DropItem("nobody wants it")
            case "break":
                raise ZeroDivisionError
            case "another type":
                return Thing(item["scene"], ["of the pipeline"])
            case "a copy":
                return {**item, "trail": ["copied"]}
        item["trail"].append("plain")
        return item


class Waiting(Component):
    """A pipeline that awaits something."""

    async def process_item(self, item):
        do = item.get("do") if isinstance(item, dict) else ""
        async with asyncio.timeout(60):  # which only a task may say
            for _ in range(50 if do == "slow" else 1):
                await asyncio.sleep(0)
        if do == "drop late":
            raise DropItem("after all")
        (item.trail if isinstance(item, Thing) else item["trail"]).append("waiting")
        return item


class OwnProcessor(ItemPipelineManager):
    """Somebody's own ITEM_PROCESSOR."""

    async def process_item_async(self, item):
        item["trail"].append("own processor")
        return await super().process_item_async(item)
