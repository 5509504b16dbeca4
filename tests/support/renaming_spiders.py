"""A spider whose methods have other names in the runs for which the environment says so."""

import os

from scrapy import Request

from tests.support.lost_spiders import Noting


class Renaming(Noting):
    """Asks for pages in three ways: with a method that stays, one that is renamed, and an errback
    that is.
    """

    name = "renaming"
    many = 20

    async def start(self):
        yield Request(f"{self.here[0]}/start", self.parse)

    def parse(self, response):
        for number in range(self.many):
            yield Request(f"{self.here[0]}/stays/{number}", self.page)
            yield Request(f"{self.here[0]}/renamed/{number}", self.item, errback=self.failed)
            yield Request(f"{self.here[0]}/unheard/{number}", self.page, errback=self.lost)

    def item(self, response):
        self.note("item", response.url)

    def lost(self, failure):
        self.note("lost", failure.request.url)


if os.environ.get("RENAMED"):
    Renaming.product, Renaming.missed = Renaming.item, Renaming.lost
    del Renaming.item, Renaming.lost
    Renaming.parse = Renaming.page
