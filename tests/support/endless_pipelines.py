"""Code that never returns, mostly from one page, for tests/end_to_end/test_endless.py."""

import asyncio
import logging
import time

from scrapy import signals

from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.crawl import barrier, last_pages, standstill


def is_it(page):
    return page.url.endswith("/7") and page.status == 200


logger = logging.getLogger(__name__)


class Impatient:
    """For EXTENSIONS, in a process of its own: whoever does not return has seconds."""

    def __init__(self):
        barrier.OVERDUE, last_pages.LEFT_AFTER, last_pages.REPORTED_AFTER = 3.0, 3.0, 1.0
        last_pages.CLOSED, last_pages.STORED = 3.0, 4.0
        standstill.LOOK_INTERVAL = 0.1


class Awaiting:
    """Awaits what never comes."""

    async def process_item(self, page):
        if is_it(page):
            await asyncio.get_running_loop().create_future()
        return page


class Stubborn:
    """The same, and goes on when it is cancelled."""

    async def process_item(self, page):
        while is_it(page):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue
        return page


class Sleeping:
    """Holds up the event loop."""

    def process_item(self, page):
        if is_it(page):
            time.sleep(100_000)
        return page


class Spinning:
    """Holds it up, and computes."""

    def process_item(self, page):
        if is_it(page):
            while True:
                pass
        return page


class InThread:
    """Waits for a thread, as for a database, that never ends."""

    async def process_item(self, page):
        if is_it(page):
            await asyncio.to_thread(time.sleep, 100_000)
        return page


class InThreadForAnHour(InThread):
    """The same, with the time for threads that users have."""

    def __init__(self):
        last_pages.STORED = 3600.0


class AwaitingMiddleware:
    """A downloader middleware that awaits what never comes, before the page is requested."""

    async def process_request(self, request):
        if request.url.endswith("/7"):
            await asyncio.get_running_loop().create_future()


class StubbornMiddleware:
    """One that does so when the answer is there, and goes on when it is cancelled."""

    async def process_response(self, request, response):
        while request.url.endswith("/7"):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue
        return response


class Listener:
    """An extension that never returns from the signal of the spider's end."""

    signal = signals.spider_closed

    @classmethod
    def from_crawler(cls, crawler):
        listener = cls()
        crawler.signals.connect(listener.hear, cls.signal)
        return listener

    async def hear(self):
        await asyncio.get_running_loop().create_future()


class LastListener(Listener):
    """One that does not return from the last signal of all."""

    signal = signals.engine_stopped


class FirstListener(Listener):
    """One that does not return from the signal that comes before the first page."""

    signal = signals.spider_opened


class OpeningForSeconds:
    """Takes its time to open, and says when it opens and closes."""

    async def open_spider(self):
        logger.info("opening")
        await asyncio.sleep(1.5)
        logger.info("opened")

    def close_spider(self):
        logger.info("closed")


class SleepingAtTheEnd:
    """Holds up the event loop when it closes."""

    def close_spider(self):
        time.sleep(100_000)


class AwaitingAtTheEnd:
    """Does not close."""

    async def close_spider(self):
        await asyncio.get_running_loop().create_future()


class Endless(WebSpider):
    """Its callback never ends."""

    name = "endless"

    async def parse(self, response):
        if response.url.endswith("/7"):
            await asyncio.get_running_loop().create_future()
        yield super().parse(response)
