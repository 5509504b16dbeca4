"""Processing modules and ordinary pipelines, for tests/end_to_end/test_modules.py."""

from pathlib import Path


class Noting:
    """Notes the path of each page that it is called for."""

    def __init__(self, folder):
        self.file = Path(folder) / type(self).__name__

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["NOTES"])

    def process_item(self, page):
        with self.file.open("a") as file:
            file.write(page.url.rpartition("/")[2] + "\n")


class Markup(Noting):
    content_types = ("text/html", "application/xhtml+xml")


class Images(Noting):
    content_types = ("image/*",)

    def process_item(self, page, spider):
        assert spider.name == "web"
        super().process_item(page)


class Broken(Noting):
    content_types = ("*/*",)

    def process_item(self, page):
        super().process_item(page)
        raise ValueError(page.url)


class Late(Noting):
    content_types = "text/*"

    async def process_item(self, page):
        super().process_item(page)


class Ordinary(Noting):
    """It must return what it gets, as in any project."""

    def process_item(self, page):
        super().process_item(page)
        return page
