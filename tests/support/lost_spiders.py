"""A user's own spiders whose requests cannot be kept, or go to another drone's hosts, for tests/end_to_end."""

import json
from pathlib import Path

from scrapy import FormRequest, Request, Spider


class Noting(Spider):
    """Notes the answer to each request."""

    def __init__(self, here, notes, **kwargs):
        super().__init__(**kwargs)
        self.here, self.notes = here.split(), Path(notes)

    def note(self, *what):
        with self.notes.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def page(self, response):
        self.note("page", response.url)

    def failed(self, failure):
        self.note("failed", failure.request.url, str(failure.value))


class Lambdas(Noting):
    """Asks for five pages with functions of no spider, and for three that can be kept."""

    name = "lambdas"

    async def start(self):
        yield Request(f"{self.here[0]}/start", self.parse)

    def parse(self, response):
        for number in range(3):
            yield Request(f"{self.here[0]}/lambda/{number}", lambda answer: self.page(answer))  # noqa: PLW0108
            yield Request(f"{self.here[0]}/kept/{number}", self.page)
        yield Request(f"{self.here[0]}/lambda/3", self.page, errback=lambda failure: self.failed(failure))  # noqa: PLW0108
        yield Request(f"{self.here[0]}/lambda/4", self.page, cb_kwargs={"answer": response})


class Proxied(Noting):
    """Asks each host for one page by a form, and for one through a proxy."""

    name = "proxied"

    def __init__(self, proxy, **kwargs):
        super().__init__(**kwargs)
        self.proxy = proxy

    async def start(self):
        for address in self.here:
            yield FormRequest(f"{address}form", self.page, formdata={"a": "1"}, method="GET")
            yield Request(f"{address}proxied", self.page, meta={"proxy": self.proxy})
