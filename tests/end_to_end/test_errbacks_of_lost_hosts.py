"""A spider of any project hears of requests whose server drops them, or is not there, before its
crawl ends.

A request whose connection was dropped was tried until its host had been away for three days, and
all others of the host waited meanwhile. A crawl ended before, and no errback was called.
"""

from collections import Counter
from typing import ClassVar

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving
from tests.support.ports import free_port

CONFIG = "[settings]\ndefault = settings\n"
SETTINGS = """
SPIDER_MODULES = ["spiders"]
COOKIES_ENABLED = False  # Scrapy's middleware asks the internet for public suffixes
ADDONS = {"webcrawl.WebcrawlAddon": 300}
"""
SPIDERS = """
import scrapy

class Told(scrapy.Spider):
    name = "told"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = start.split()

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, self.parse, errback=self.failed)

    def parse(self, response):
        print("got", response.url)

    def failed(self, failure):
        print("told", failure.request.url, failure.type.__name__)
"""


class Dropping(Site):
    """Takes the connection of each request for "/drop…", and says nothing; `requested` notes what was
    requested.
    """

    requested: ClassVar = []

    def answer(self):
        self.requested.append(self.path)
        if self.path.startswith("/drop"):
            self.close_connection = True
        else:
            self.say(404 if self.path == "/robots.txt" else 200, b"page")


def crawl_of(tmp_path, *urls, **settings):
    project = tmp_path / "project"
    project.mkdir()
    (project / "scrapy.cfg").write_text(CONFIG)
    (project / "settings.py").write_text(SETTINGS)
    (project / "spiders.py").write_text(SPIDERS)
    return Crawl(
        tmp_path / "job",
        {"start": " ".join(urls)},
        {"DOWNLOAD_TIMEOUT": 20, **settings},
        "told",
        project,
    )


def lines(crawl):
    return sorted(
        line for line in crawl.output.read_text().splitlines() if line.startswith(("got ", "told "))
    )


def test_a_connection_that_is_dropped(tmp_path):
    """The URL is tried RETRY_TIMES times more; then its errback is called, also of a host without a
    page.
    """
    Dropping.requested.clear()
    with serving(Dropping) as site:
        crawl = crawl_of(tmp_path, f"{site}/drop", HOST_PATIENCE=3600, OUTAGE_END_WAIT=3600)
        assert crawl.run() == 0

    assert Counter(Dropping.requested)["/drop"] == 3
    assert lines(crawl) == [f"told {site}/drop DownloadFailedError"]


def test_others_go_on(tmp_path):
    """One URL that is dropped costs its host no wait: the others are fetched meanwhile."""
    Dropping.requested.clear()
    with serving(Dropping) as site:
        pages = [f"{site}/{number}" for number in range(20)]
        crawl = crawl_of(
            tmp_path,
            f"{site}/drop",
            *pages,
            HOST_RETRY_WAIT=600,
            RETRY_TIMES=1,
            HOST_PATIENCE=10**6,
        )
        assert crawl.run() == 0

    assert len(lines(crawl)) == 21
    assert Counter(Dropping.requested)["/drop"] == 2


def test_a_host_that_is_not_there(tmp_path):
    """Its requests end when HOST_PATIENCE is over, and not in the next run."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    crawl = crawl_of(
        tmp_path,
        url,
        OUTAGE_END_WAIT=900,
        HOST_RETRY_WAIT=0.1,
        HOST_PATIENCE=2,
        ROBOTSTXT_OBEY=False,
    )

    assert crawl.run() == 0
    assert lines(crawl) == [f"told {url} DownloadConnectionRefusedError"]
    assert crawl.stats["queued"] == 0
