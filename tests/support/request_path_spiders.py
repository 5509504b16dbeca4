"""A user's own spiders, for tests/adapter/fastpath/test_request_path.py."""

import asyncio

from pydispatch import dispatcher
from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, DownloadConnectionRefusedError
from scrapy.utils.asyncio import call_later

from tests.support.request_path_components import note


class Each(Spider):
    """A scene a request; its callback is named after it."""

    name = "each"
    UNREACHABLE = (
        "refused",
        "refused and unheard",
        "errback raises",
        "errback yields",
        "swallowed",
    )
    WITHOUT_ERRBACK = (
        "refused and unheard",
        "ignored and unheard",
        "unwanted and unheard",
        "broken and unheard",
    )

    def __init__(self, scenes, here, closed_port, **kwargs):
        super().__init__(**kwargs)
        self.scenes, self.here, self.closed_port = scenes.split(","), here, closed_port

    async def start(self):
        for number, scene in enumerate(self.scenes):
            word = scene.replace(" ", "_")
            url = (
                f"http://127.0.1.{number}:{self.closed_port}/"
                if scene in self.UNREACHABLE
                else f"{self.here}/{word}"
            )
            yield Request(
                url,
                getattr(self, f"on_{word}", self.page),
                errback=None
                if scene in self.WITHOUT_ERRBACK
                else getattr(self, f"not_{word}", self.failed),
                meta={"scene": scene},
                cb_kwargs={"word": "Wörter", "many": [1, 2]} if scene == "arguments" else None,
            )

    def item(self, response, **more):
        return {"scene": response.meta["scene"], "trail": [], **more}

    def page(self, response):
        yield self.item(response, text=response.text, at=response.url.rpartition("/")[2])

    def failed(self, failure):
        response = getattr(failure.value, "response", None)
        status = response.status if response is not None else 0
        note(self.crawler, failure.request.meta["scene"], "errback", failure.type.__name__, status)

    def on_list(self, response):
        return [self.item(response, number=number) for number in range(3)]

    def on_nothing(self, response):
        note(self.crawler, "nothing", "called")

    def on_one(self, response):
        return self.item(response)

    async def on_coroutine(self, response):
        await asyncio.sleep(0.001)
        return [self.item(response), None, self.item(response)]

    async def on_async_generator(self, response):
        yield self.item(response, number=1)
        await asyncio.sleep(0.001)
        yield self.item(response, number=2)

    def on_arguments(self, response, word, many):
        yield self.item(response, word=word, many=many)

    def on_link(self, response):
        yield self.item(response)
        yield response.follow("/link-further", self.page, meta={"scene": "link"})

    def on_raises(self, response):
        raise ValueError

    def on_raises_late(self, response):
        yield self.item(response)
        raise ValueError

    async def on_raises_async(self, response):
        yield self.item(response)
        raise KeyError

    on_recovered, on_recovered_late = on_raises, on_raises_late

    async def on_download(self, response):
        for word, meta in ("inner", response.meta), ("missing", {"scene": "download"}):
            inner = Request(f"{self.here}/{word}", meta=meta)
            inner = await self.crawler.engine.download_async(inner)
            yield self.item(response, text=inner.text, status=inner.status)
        try:
            await self.crawler.engine.download_async(
                Request(
                    f"http://127.0.1.99:{self.closed_port}/",
                    meta={"scene": "download", "dont_retry": True},
                )
            )
        except DownloadConnectionRefusedError as error:
            yield self.item(response, failed=type(error).__name__)

    def not_errback_raises(self, failure):
        raise LookupError

    def not_errback_yields(self, failure):
        yield {"scene": "errback yields", "trail": [], "failed": failure.type.__name__}

    def on_dropped(self, response):
        yield from (self.item(response, do=what) for what in ("drop", "drop late", ""))

    def on_breaks(self, response):
        yield from (self.item(response, do=what) for what in ("break", ""))

    def on_together(self, response):
        return [self.item(response, do=what) for what in ("slow", "quick")]

    def on_another_type(self, response):
        yield from (self.item(response, do=what) for what in ("another type", "a copy"))


class Panic(BaseException):
    """As a library in Rust raises it."""


class Panicking(Spider):
    """A request for each place that panics, and one whose callback's task is cancelled."""

    name = "panicking"
    PLACES = (
        "callback",
        "generator",
        "async_generator",
        "download",
        "pipeline",
        "late_pipeline",
        "cancelled",
    )

    def __init__(self, here, closed_port, **kwargs):
        super().__init__(**kwargs)
        self.here, self.closed_port = here, closed_port

    async def start(self):
        for place in (*self.PLACES, "cancelled_pipeline"):
            callback, meta = (
                getattr(self, f"in_{place}", self.page),
                {"scene": place, "dont_retry": True},
            )
            yield Request(f"{self.here}/{place}", callback, errback=self.failed, meta=meta)
        meta = {"scene": "errback", "dont_retry": True}
        yield Request(f"http://127.0.1.1:{self.closed_port}/", errback=self.in_errback, meta=meta)

    def page(self, response):
        yield {"scene": response.meta["scene"], "trail": []}
        note(self.crawler, "read on", response.meta["scene"])

    def failed(self, failure):
        note(self.crawler, "failed", failure.request.meta["scene"])

    def in_errback(self, failure):
        raise Panic

    def in_callback(self, response):
        raise Panic

    def in_generator(self, response):
        yield {"scene": "generator", "trail": []}
        raise Panic

    async def in_async_generator(self, response):
        yield {"scene": "async generator", "trail": []}
        raise Panic

    async def in_cancelled(self, response):
        asyncio.current_task().cancel()
        await asyncio.sleep(1)


class StartPanicking(Panicking):
    """Its `start` panics when it has asked for a page."""

    name = "start panicking"

    async def start(self):
        yield Request(self.here, self.in_callback)
        raise Panic


class PanickingItems:
    """A pipeline of that spider's."""

    async def process_item(self, item):
        if item["scene"] == "pipeline":
            raise Panic
        await asyncio.sleep(0.001)
        if item["scene"] == "late_pipeline":
            raise Panic
        if item["scene"] == "cancelled_pipeline":
            asyncio.current_task().cancel()
            await asyncio.sleep(1)
        return item

    def close_spider(self):
        raise Panic


class PanickingDownloads:
    """A downloader middleware of that spider's."""

    def process_request(self, request):
        if request.meta.get("scene") == "download":
            raise Panic


class Paging(Spider):
    """Makes a page of every answer, without a middleware, as the spider `web` does; the scene says
    what comes back.
    """

    name = "paging"
    makes_pages = True
    custom_settings = {"SPIDER_MIDDLEWARES_BASE": {}, "DOWNLOADER_MIDDLEWARES_BASE": {}}  # noqa: RUF012 - Scrapy's

    def __init__(self, scenes, here, **kwargs):
        super().__init__(**kwargs)
        self.scenes, self.here = scenes.split(","), here

    async def start(self):
        for scene in self.scenes:
            yield Request(f"{self.here}/{scene.replace(' ', '_')}", meta={"scene": scene})

    async def parse(self, response):
        await asyncio.sleep(0)
        return self.found(response)

    def found(self, response):
        scene = response.meta["scene"]
        found = self.item(scene)
        match scene:
            case "list":
                found = [found, None, self.item(scene)]
            case "nothing":
                found = note(self.crawler, scene, "called")
            case "generator":
                found = (self.item(scene, number=number) for number in range(2))
            case "raises":
                raise ValueError
            case "link" if response.url.endswith("/link"):
                found = [found, Request(f"{self.here}/link-further", meta={"scene": scene})]
            case "dropped":
                found = [self.item(scene, do="drop"), found]
            case "breaks":
                found = [self.item(scene, do="break"), found]
        return found

    def item(self, scene, **more):
        return {"scene": scene, "trail": [], **more}


class PagingLate(Paging):
    """The same with a callback that yields."""

    name = "paging late"

    async def parse(self, response):
        found = await super().parse(response)
        for one in [found] if isinstance(found, dict) else found or ():
            yield one


class PagingTogether(Paging):
    """The same for all pages at hand in one call; all have come there, whoever comes one by one."""

    name = "paging together"

    def parse(self, response):
        (output,) = self.parse_all([response])
        if isinstance(output, Exception):
            raise output
        return output

    def parse_all(self, responses):
        return [self.output(response) for response in responses]

    def output(self, response):
        try:
            found = self.found(response)
        except ValueError as error:
            return error
        return [found] if isinstance(found, dict) else list(found or ())


class PagingAlone(PagingTogether):
    """Has a `parse` of its own: that is the one that counts."""

    name = "paging alone"

    def parse(self, response):
        note(self.crawler, response.meta["scene"], "alone")
        return super().parse(response)


class PagingBadly(PagingTogether):
    """Raises for a whole batch."""

    name = "paging badly"

    def parse_all(self, responses):
        raise ValueError

    def parse(self, response):
        return self.parse_all([response])


class PagingShort(PagingTogether):
    """Forgets all pages."""

    name = "paging short"

    def parse_all(self, responses):
        return []


class Listening(Spider):
    """Twelve pages in a row; its listeners come and go while they are fetched."""

    name = "listening"

    def __init__(self, here, **kwargs):
        super().__init__(**kwargs)
        self.here, self.idle = here, 0

    @classmethod
    def from_crawler(cls, crawler, **kwargs):
        spider = super().from_crawler(crawler, **kwargs)
        crawler.signals.connect(spider.on_idle, signals.spider_idle)
        crawler.signals.connect(spider.on_opened, signals.spider_opened)
        return spider

    def request(self, number):
        return Request(
            f"{self.here}/{number}", cb_kwargs={"number": number}, meta={"scene": "page"}
        )

    def on_opened(self):
        # after unpause() plain Scrapy waits for its next beat
        self.crawler.engine._SLOT_HEARTBEAT_INTERVAL = 0.1

    async def start(self):
        yield self.request(0)

    def parse(self, response, number):
        heard = self.crawler.signals
        match number:
            case 2:
                heard.connect(self.late, signals.item_scraped)
            case 4:
                heard.disconnect(self.late, signals.item_scraped)
                dispatcher.connect(self.of_any_sender, signals.item_scraped)
            case 6:
                dispatcher.disconnect(self.of_any_sender, signals.item_scraped)
                dispatcher.connect(self.of_any_signal, sender=self.crawler)
            case 7:
                dispatcher.disconnect(self.of_any_signal, sender=self.crawler)
            case 8:
                heard.connect(self.of_one_sender, "my signal", sender=self)
                heard.send_catch_log("my signal", sender=self)
            case 9:
                self.crawler.engine.pause()
                note(self.crawler, "page", "paused")
                call_later(0.3, self.unpause)
        yield {"scene": "page", "number": number, "trail": []}
        if number < 11:
            yield self.request(number + 1)

    def unpause(self):
        note(self.crawler, "page", "unpaused")
        self.crawler.engine.unpause()

    def late(self, item):
        note(self.crawler, "listeners", "late", item["number"])

    def of_any_sender(self, item):
        note(self.crawler, "listeners", "any sender", item["number"])

    def of_one_sender(self, sender):
        note(self.crawler, "listeners", "one sender", sender is self)

    def of_any_signal(self, signal):
        known = {getattr(signals, name): name for name in dir(signals) if not name.startswith("_")}
        if signal in (signals.item_scraped, signals.response_received, signals.request_scheduled):
            note(self.crawler, "listeners", "any signal", known[signal])

    def on_idle(self):
        self.idle += 1
        note(self.crawler, "idle", self.idle)
        if self.idle == 1:
            self.crawler.engine.crawl(self.request(20))
            raise DontCloseSpider
        if self.idle == 2:
            raise CloseSpider("nothing more")


class Ending(Spider):
    """Goes on for ever, if nobody ends it."""

    name = "ending"

    def __init__(self, here, how="", **kwargs):
        super().__init__(**kwargs)
        self.here, self.how = here, how

    async def start(self):
        yield Request(f"{self.here}/0", cb_kwargs={"number": 0}, meta={"scene": "page"})

    async def parse(self, response, number):
        note(self.crawler, "page", "called", number)
        yield {"scene": "page", "trail": []}
        yield response.follow(
            f"/{number + 1}", cb_kwargs={"number": number + 1}, meta={"scene": "page"}
        )
        if number == 3 and self.how == "raises":
            raise CloseSpider("enough")
        if self.how == "errors":
            raise ValueError
