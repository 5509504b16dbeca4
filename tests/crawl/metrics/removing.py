"""An extension that removes the folder of METRICS_FILE before anything is written to it."""

from pathlib import Path

from scrapy import signals


class Removing:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        extension.folder = Path(crawler.settings["METRICS_FILE"]).parent
        crawler.signals.connect(extension.opened, signals.spider_opened)
        return extension

    def opened(self):
        self.folder.rmdir()
