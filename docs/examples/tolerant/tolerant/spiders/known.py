"""Each page links to many that are known: fingerprints lie on disk, and memory stays within
SEEN_MEMORY.
"""

import scrapy


class KnownSpider(scrapy.Spider):
    name = "known"
    site = "https://example.org/"
    pages = 50

    async def start(self):
        yield scrapy.Request(f"{self.site}?page=0")

    def parse(self, response):
        page = int(response.url.rpartition("=")[2])
        yield {"page": page}
        for other in range(min(page + 10, self.pages)):  # nearly all of them were seen before
            yield response.follow(f"?page={other}")
