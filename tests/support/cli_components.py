"""User components, as tests of the command line name them in settings."""

import asyncio
import resource
from pathlib import Path

from webcrawl.urls.filters.url_parts import LengthFilter


class Failing:
    """A pipeline with a bug."""

    def process_item(self, item):
        raise ZeroDivisionError("a mistake in a pipeline")


class Quoting:
    """A pipeline whose error message quotes a page."""

    def process_item(self, item):
        raise ValueError("no such title: \x1b[2J\x07\x9b31m\u202eexe.txt\rroot: all is well\x85")


class Counting:
    """A pipeline that writes down every page."""

    def __init__(self, path):
        self.path = path

    @classmethod
    def from_crawler(cls, crawler):
        return cls(Path(crawler.settings["COUNTING_FILE"]))

    def process_item(self, item):
        with self.path.open("a") as file:
            file.write(f"{item.url}\n")
        return item


class SmallDisk:
    """A pipeline that only limits the disk: no file of this process may exceed a megabyte."""

    def __init__(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))

    def process_item(self, item):
        return item


class BrokenHandler:
    """A download handler with a bug."""

    lazy = False

    async def download_request(self, request):
        raise ZeroDivisionError("a mistake in a handler")

    async def close(self):
        pass


class AnotherLength(LengthFilter):
    """A filter that forgot to give itself a name."""


class SlowToClose:
    """A pipeline that takes its time at the end, and says when that has begun."""

    def __init__(self, path):
        self._path = path

    @classmethod
    def from_crawler(cls, crawler):
        return cls(Path(crawler.settings["JOBDIR"]) / "closing")

    async def close_spider(self):
        self._path.touch()
        await asyncio.sleep(0.5)
