"""Forty requests, and a callback that ends the crawl at the fifth: the next run has the others."""

import scrapy
from scrapy.exceptions import CloseSpider


class StoppedSpider(scrapy.Spider):
    name = "stopped"
    site = "https://example.org/"

    async def start(self):
        for key in range(40):
            yield scrapy.Request(f"{self.site}?key={key}", cb_kwargs={"key": key})

    def parse(self, response, key):
        yield {"key": key}
        if key == 4:
            raise CloseSpider("cancelled")
