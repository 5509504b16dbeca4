"""Components that call `sys.exit`: on a third page, at the end of a crawl or after it, while they
are made.
"""

import sys

from scrapy import signals


class OnPages:
    def __init__(self):
        self.pages = 0

    def process_item(self, page):
        self.pages += 1
        if self.pages == 3:
            sys.exit(0)
        return page


class Awaiting(OnPages):
    async def process_item(self, page):
        return super().process_item(page)


class AtItsEnd:
    def process_item(self, page):
        return page

    def close_spider(self):
        sys.exit()


class Feature:
    def heard(self, *_):
        sys.exit(7)


class Made:
    def __init__(self):
        sys.exit(0)

    def heard(self, *_):
        pass


class Closed:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def closed(self):
        sys.exit(3)
