"""Commands to a crawl in another process: lines of a file, answered in another."""

import json
from pathlib import Path

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from tests.support.crawling import wait_until
from webcrawl import settings
from webcrawl.adapter.commanding import Commanding
from webcrawl.control.commands import obey
from webcrawl.control.errors import CommandError

SETTINGS = {"EXTENSIONS": json.dumps({**settings.EXTENSIONS, "tests.support.commanding.FromFile": 600})}


class FromFile:
    """An extension that obeys the lines of COMMANDS_FILE, and writes its answers beside it."""

    def __init__(self, crawler):
        self._crawl, self._path, self._done = Commanding(crawler), Path(crawler.settings["COMMANDS_FILE"]), 0

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls(crawler)
        crawler.signals.connect(extension.opened, signals.spider_opened)
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def opened(self):
        self._loop = create_looping_call(self._look)
        self._loop.start(0.02)

    def closed(self):
        self._loop.stop()

    def _look(self):
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines()
        for line in lines[self._done :]:
            self._done += 1
            try:
                answer = obey(self._crawl, *line.split(" "))
            except CommandError as error:
                answer = f"refused: {error}"
            with self._path.with_suffix(".answers").open("a") as answers:
                answers.write(f"{json.dumps(answer)}\n")


class Console:
    """Gives the commands of one run."""

    def __init__(self, path):
        self.path, self._answers = path, path.with_suffix(".answers")

    def begin(self):
        """A new run, which has no commands yet."""
        self.path.unlink(missing_ok=True)
        self._answers.unlink(missing_ok=True)
        return self

    def __call__(self, line):
        """The answer to a command."""
        before = len(self._said())
        with self.path.open("a") as file:
            file.write(f"{line}\n")
        wait_until(lambda: len(self._said()) > before)
        return self._said()[before]

    def _said(self):
        if not self._answers.exists():
            return []
        return [json.loads(line) for line in self._answers.read_text().split("\n")[:-1]]
