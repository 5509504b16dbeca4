"""A user's own spiders whose requests cannot be kept, or go to another drone's hosts, for
tests/end_to_end.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from scrapy import Field, FormRequest, Item, Request, Spider


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
    """Asks for four pages with functions of no spider, for three that can be kept, and one with an
    answer.
    """

    name = "lambdas"

    async def start(self):
        yield Request(f"{self.here[0]}/start", self.parse)

    def parse(self, response):
        for number in range(3):
            yield Request(f"{self.here[0]}/lambda/{number}", lambda answer: self.page(answer))  # noqa: PLW0108
            yield Request(f"{self.here[0]}/kept/{number}", self.page)
        yield Request(
            f"{self.here[0]}/lambda/3",
            self.page,
            errback=lambda failure: self.failed(failure),  # noqa: PLW0108
        )
        yield Request(f"{self.here[0]}/held/0", self.second, cb_kwargs={"answer": response})

    def second(self, response, answer):
        self.note("second", response.url, answer.url)


class Product(Item):
    name = Field()


class Valued(Noting):
    """Asks for pages with values that Scrapy's disk queues keep, and for some with one that no disk
    keeps.
    """

    name = "valued"

    async def start(self):
        yield Request(f"{self.here[0]}/start", self.parse)

    def parse(self, response):
        when = datetime(2026, 11, 27, tzinfo=UTC)
        for number in range(10):
            product = Product(name=str(number))
            values = {
                "product": product,
                "price": Decimal("1.10"),
                "pair": (number, {when}),
                "call": self.failed,
            }
            values["next"] = Request(
                f"{self.here[0]}/next/{number}", self.page, meta={"product": product}
            )
            yield Request(
                f"{self.here[0]}/kept/{number}",
                self.detail,
                meta={**values},
                cb_kwargs={"values": values},
            )
            other = {"selector": response.selector}
            yield Request(
                f"{self.here[0]}/held/{number}",
                self.held,
                errback=self.failed,
                meta={**other, "number": number},
                cb_kwargs=other,
            )

    def detail(self, response, values):
        for found in (values, response.meta):
            name, price, (number, (when,)) = found["product"]["name"], found["price"], found["pair"]
            shown = [type(found["product"]).__name__, name, str(price), number, when.isoformat()]
            self.note("detail", *shown, found["call"].__name__, type(found["pair"]).__name__)
        yield values["next"]

    def held(self, response, selector):
        assert response.meta["selector"] is selector
        self.note("held", response.url)


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
