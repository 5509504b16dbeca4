"""A broad crawl as Scrapy's documentation has it, without any of the settings that it advises."""

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class BroadSpider(CrawlSpider):
    name = "broad"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, site="https://example.org/", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site]

    def parse_page(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
