"""A spider as Scrapy's tutorial has it; `-a start=URL` says where it begins."""

import scrapy


class QuotesSpider(scrapy.Spider):
    name = "quotes"

    def __init__(self, start="https://quotes.toscrape.com/", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {"text": quote.css("span::text").get(), "by": quote.css("small::text").get()}
        yield from response.follow_all(css="li.next a")
