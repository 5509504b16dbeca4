"""A user's own spiders whose requests end unasked, for tests/adapter/test_refusals.py."""

import json
from pathlib import Path

from scrapy import Request, Spider, signals


class Asking(Spider):
    """Asks for one page, and then for all that `then` names; notes every answer, failure, signal."""

    name = "asking"

    def __init__(self, here, then, notes, **kwargs):
        super().__init__(**kwargs)
        self.here, self.then, self.notes = here, json.loads(then), Path(notes)

    @classmethod
    def from_crawler(cls, crawler, **kwargs):
        spider = super().from_crawler(crawler, **kwargs)
        crawler.signals.connect(spider.request_dropped, signals.request_dropped)
        crawler.signals.connect(spider.item_scraped, signals.item_scraped)
        return spider

    async def start(self):
        yield Request(f"{self.here}/start")

    def note(self, *what):
        with self.notes.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def parse(self, response):
        for url, words in self.then:
            errback = None if "unheard" in words else self.failed
            yield Request(
                url,
                self.page,
                errback=errback,
                dont_filter="unfiltered" in words,
                cb_kwargs={"n": 1},
            )

    def page(self, response, n):
        self.note("page", response.url)

    def failed(self, failure):
        request = failure.request
        self.note(
            "failed", request.url, failure.type.__name__, str(failure.value), request.cb_kwargs["n"]
        )
        yield {"of": request.url}
        yield Request(f"{self.here}/after", self.page, cb_kwargs={"n": 2})

    def request_dropped(self, request):
        self.note("dropped", request.url)

    def item_scraped(self, item):
        self.note("item", item["of"])
