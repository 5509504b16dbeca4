"""The spider `web` in the crawl's own loop: who looks at requests and responses there, and what
keeps it out.
"""

import json

import pytest

from tests.support.plain_site import serving
from tests.support.projects import OURS, Project

ENGINE = "runs on Scrapy's engine"
WATCHING = """
import json
from scrapy import signals
from scrapy.logformatter import LogFormatter
from webcrawl.adapter.spiders.web import WebSpider

class Own(WebSpider):
    name = "own"

class Formatter(LogFormatter):
    def crawled(self, request, response, spider):
        return {"level": 20, "msg": "seen: %(url)s", "args": {"url": response.url}}

class Watching:
    def __init__(self, crawler):
        self.heard, self.requests = [], {}
        for name in ("request_reached_downloader", "response_downloaded", "request_left_downloader",
                     "response_received", "item_scraped"):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))
        crawler.signals.connect(self.write, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def note(self, what, request, response=None):
        same = self.requests.setdefault(request.url, request) is request
        self.heard.append([what, request.url, response.status if response is not None else 0, same])

    def request_reached_downloader(self, request):
        self.note("reached", request)

    def response_downloaded(self, response, request):
        self.note("downloaded", request, response)

    def request_left_downloader(self, request):
        self.note("left", request)

    def response_received(self, response, request):
        self.note("received", request, response)

    def item_scraped(self, item, response):
        self.note("scraped", response.request, response)

    def write(self):
        with open("heard.json", "w") as file:
            json.dump(self.heard, file)

class Nothing:
    def process_request(self, request):
        pass

class NothingMade:
    async def process_spider_output(self, response, result):
        async for one in result:
            yield one
"""


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory):
    """Crawls one page with these settings; returns the folder and what the crawl printed."""

    def run(site, **settings):
        folder = tmp_path_factory.mktemp("project")
        project = Project(folder, OURS, WATCHING, LOG_LEVEL="DEBUG", **settings)
        status, said = project.run("crawl", "own", "-a", f"seeds={site}/page")
        assert status == 0, said
        return folder, said

    return run


def test_listeners_and_a_log_formatter_need_no_engine(run):
    """Each signal of a page is sent once, in Scrapy's order and with one request; the formatter
    logs each response.
    """
    settings = {"EXTENSIONS": {"spiders.Watching": 1}, "LOG_FORMATTER": "spiders.Formatter"}
    with serving() as site:
        folder, said = run(site, **settings)

    heard = json.loads((folder / "heard.json").read_text())
    signals = [("reached", 0), ("downloaded", 200), ("left", 0), ("received", 200)]
    assert ENGINE not in said
    assert [tuple(one[::2]) for one in heard if one[1] == f"{site}/page"] == [
        *signals,
        ("scraped", 200),
    ]
    assert [tuple(one[::2]) for one in heard if one[1] == f"{site}/robots.txt"] == signals
    assert all(one[3] for one in heard)
    assert said.count(f"seen: {site}/page") == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"DOWNLOADER_MIDDLEWARES": {"spiders.Nothing": 1}},
        {"SPIDER_MIDDLEWARES": {"spiders.NothingMade": 1}},
    ],
    ids=["downloader middleware", "spider middleware"],
)
def test_a_middleware_keeps_the_crawl_on_scrapys_engine(run, settings):
    """The log says why; the page is fetched all the same."""
    with serving() as site:
        folder, said = run(site, **settings)

    assert ENGINE in said
    assert json.loads((folder / "crawls/own/stats.json").read_text())["pages"] == 1
