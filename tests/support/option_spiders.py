"""A user's own spider whose requests say how they want to be downloaded, for tests/adapter."""

import json
from pathlib import Path

from scrapy import Request, Spider


class Choosing(Spider):
    """Asks for each URL of `then` with its meta; notes every answer and failure."""

    name = "choosing"

    def __init__(self, then, notes, **kwargs):
        super().__init__(**kwargs)
        self.then, self.notes = json.loads(then), Path(notes)

    async def start(self):
        for url, meta in self.then:
            yield Request(url, errback=self.failed, meta=meta, dont_filter=True)

    def note(self, *what):
        with self.notes.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def parse(self, response):
        self.note(
            response.url,
            response.status,
            len(response.body),
            response.flags,
            response.meta.get("download_latency"),
        )

    def failed(self, failure):
        response = getattr(failure.value, "response", None)
        self.note(
            failure.request.url,
            failure.type.__name__,
            getattr(response, "status", str(failure.value)),
        )
