"""Sixty requests that carry their own number: none may be lost, wherever the process dies."""

import scrapy


class KilledSpider(scrapy.Spider):
    name = "killed"
    site = "https://example.org/"

    async def start(self):
        for number in range(60):
            yield scrapy.Request(f"{self.site}?number={number}", cb_kwargs={"number": number})

    def parse(self, response, number):
        yield {"number": number, "url": response.url}
