"""Follows only links whose text has a given word, and yields the title of each page."""

from webcrawl.adapter.spiders.web import WebSpider


class NewsSpider(WebSpider):
    name = "news"
    word = "news"

    def links_to_follow(self, page):
        return [link for link in page.links if self.word in link.text.lower()]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
