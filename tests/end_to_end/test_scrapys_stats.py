"""Stats and signals of Scrapy's that monitors know, in a spider of the user's own; and its `data:`
requests.

Scrapy's own tests found them missing: feeds were counted under a name of ours, duplicates, retries
and the scheduler's requests not at all, `request_dropped` was never sent for a duplicate, and
`data:` requests were dropped.
"""

import ast
import json
import re

import pytest

from tests.support.plain_site import Site, serving
from tests.support.projects import PLAIN, Project

SPIDERS = """
from scrapy import Request, Spider, signals


class Own(Spider):
    name = "own"
    here = ""

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signals.request_dropped)
        return spider

    def dropped(self, request):
        self.crawler.stats.inc_value(f"dropped/{request.url.rpartition('/')[2]}")

    async def start(self):
        yield Request(f"{self.here}/start")

    def parse(self, response):
        for path in ("/a", "/a", "/once", "/a"):
            yield response.follow(path, self.found)

    def found(self, response):
        yield {"url": response.url}


class Data(Own):
    name = "data"

    async def start(self):
        yield Request("data:text/html;charset=utf-8,<p>caf%C3%A9</p>", cb_kwargs={"number": 1})

    def parse(self, response, number):
        yield {"text": response.text, "number": number, "type": type(response).__name__}
        for _ in range(2):
            yield Request("data:,again", self.again, errback=self.failed)
        yield Request("data:,again", self.again, dont_filter=True)
        yield Request("data:nothing", self.again, errback=self.failed)

    def again(self, response):
        yield {"again": response.text, "depth": response.meta["depth"]}

    def failed(self, failure):
        yield {"failed": type(failure.value).__name__}

"""
ADDON = {
    "ADDONS": {"webcrawl.WebcrawlAddon": 300},
    "HOST_RETRY_WAIT": 0.1,
    "JOBDIR": "job",
    "OUTPUTS": "",
}


class Fails(Site):
    """One page answers 503 the first time."""

    requested: list[str] = []  # noqa: RUF012 - one site per test

    def answer(self):
        self.requested.append(self.path)
        fails = self.path == "/robots.txt" or (
            self.path == "/once" and self.requested.count("/once") == 1
        )
        self.say(
            (404 if self.path == "/robots.txt" else 503) if fails else 200,
            b"here",
            content_type="text/html",
        )


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl by the add-on: its stats, and the items of its feed."""

    def crawl(spider, **settings):
        project = Project(tmp_path, PLAIN, SPIDERS, **ADDON, **settings)
        with serving(Fails) as here:
            Fails.requested.clear()
            status, said = project.run("crawl", spider, "-a", f"here={here}", "-o", "items.jl")
        assert status == 0, said
        dumped = re.search(r"Dumping Scrapy stats:\n(\{.*?\})\n[0-9]{4}", said, re.DOTALL)[1]
        stats = ast.literal_eval(re.sub(r"datetime\.datetime\([^)]*\)", "0", dumped))
        rows = (tmp_path / "items.jl").read_text().splitlines()
        return stats, [json.loads(row) for row in rows]

    return crawl


def test_stats_are_named_as_scrapys(crawl):
    """Feeds, duplicates, retries and the scheduler's requests are counted under Scrapy's names."""
    stats, items = crawl("own")

    counted = ("feedexport/", "dupefilter/", "retry/", "scheduler/", "dropped/")
    assert len(items) == 2
    assert {name: value for name, value in stats.items() if name.startswith(counted)} == {
        "feedexport/success_count/FileFeedStorage": 1,
        "dupefilter/filtered": 2,
        "dropped/a": 2,
        "retry/count": 1,
        "retry/reason_count/503 Service Unavailable": 1,
        "scheduler/enqueued": 4,
        "scheduler/enqueued/disk": 4,
        "scheduler/dequeued": 4,
        "scheduler/dequeued/disk": 4,
    }


def test_another_dupefilter_counts_too(crawl):
    """What a dupefilter of the user's own knows is dropped, and counted as Scrapy's scheduler has
    it.
    """
    stats, _ = crawl("own", DUPEFILTER_CLASS="scrapy.dupefilters.RFPDupeFilter")

    assert (stats["dupefilter/filtered"], stats["dropped/a"]) == (2, 2)


def test_data_requests_are_answered(crawl):
    """A request that carries its own answer reaches its callback, once unless it asks for more, or
    its errback.
    """
    stats, items = crawl("data")

    assert sorted(items, key=str) == [
        {"again": "again", "depth": 1},
        {"again": "again", "depth": 1},
        {"failed": "ValueError"},
        {"text": "<p>café</p>", "number": 1, "type": "HtmlResponse"},
    ]
    assert stats["dupefilter/filtered"] == 1
    assert stats["finish_reason"] == "finished"
    assert "errors/unexpected" not in stats
