"""Pipelines that note how pages have changed, for tests/end_to_end/test_revisits.py."""

from pathlib import Path


class Noting:
    """Notes path, change and times of each page that it is called for."""

    def __init__(self, folder):
        self.file = Path(folder) / type(self).__name__

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["NOTES"])

    def process_item(self, page):
        with self.file.open("a") as file:
            file.write(f"/{page.url.split('/', 3)[3]} {page.change} {page.revisit}\n")
        return page


class Asking(Noting):
    """A module that wants unchanged pages, too."""

    content_types = ("text/html",)
    unchanged = True


class Module(Noting):
    """A module that does not."""

    content_types = ("text/html",)


class Plain(Noting):
    """An ordinary pipeline."""
