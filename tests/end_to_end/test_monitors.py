"""What a monitor of a user's, such as Spidermon, finds in Scrapy's stats at the end of `scrapy
crawl web`.
"""

import json

from tests.support.named_sites import sites
from tests.support.projects import OURS, Project

CODE = """
import json
from scrapy import signals
from webcrawl.adapter.spiders.web import WebSpider


class Web(WebSpider):
    name = "web"


class Monitor:
    @classmethod
    def from_crawler(cls, crawler):
        monitor = cls()
        monitor.stats = crawler.stats
        crawler.signals.connect(monitor.spider_closed, signals.spider_closed)
        return monitor

    def spider_closed(self):
        with open("found.json", "w") as file:
            json.dump(self.stats.get_stats(), file, default=str)
"""
PAGES = {
    "/": b"<a href=/here>1</a><a href=/away>2</a><a href=/same>3</a>",
    "/here": b"<p>here",
    "/same": b"<p>here",
    "/robots.txt": b"",
    "/more": b"<p>more",
}
COUNTERS = "response_received_count", "item_scraped_count"
STATUS = "downloader/response_status_count/"


def test_scrapys_counters(tmp_path):
    """The usual ones, of this run: what was dropped is no item, and what did not happen has no
    counter.
    """

    def found(seed):
        (tmp_path / "seeds.txt").write_text(site.url("a.test", seed))
        assert (
            project.run("crawl", "web", "-a", "seeds=seeds.txt", EXTENSIONS={"spiders.Monitor": 1})[
                0
            ]
            == 0
        )
        return json.loads((tmp_path / "found.json").read_text())

    (tmp_path / "hosts").write_text("127.0.0.1 a.test\n")
    with sites(lambda host, path, _: PAGES.get(path)) as site:
        project = Project(tmp_path, OURS, CODE, HOSTS_FILE=str(tmp_path / "hosts"))
        first = found("/")
        second = found("/more")

    # robots.txt and a body seen before are no items
    assert [first[name] for name in COUNTERS] == [5, 3]
    assert {name: first[name] for name in first if name.startswith(STATUS)} == {
        f"{STATUS}200": 4,
        f"{STATUS}404": 1,
    }
    assert first["finish_reason"] == "finished"
    assert first.keys() >= {"start_time", "finish_time", "elapsed_time_seconds"}
    assert [second[name] for name in COUNTERS] == [1, 1]
    assert {name: second[name] for name in second if name.startswith(STATUS)} == {f"{STATUS}200": 1}
