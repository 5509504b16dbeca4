"""Feeds of a user's own spider, with the process killed by the site that it crawls."""

import csv
import gzip
import json

from defusedxml import ElementTree

from tests.support.crawling import Crawl
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

PAGES = 60
SPIDER = f"""
import scrapy


class Feeding(scrapy.Spider):
    name = "feeding"

    def __init__(self, site="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site + "/0"]

    def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        row = {{"number": number, "words": []}}
        for part in "ab":
            row["part"] = part  # one object for two items, as users write it
            row["words"].append(part)
            yield row
        for other in (2 * number + 1, 2 * number + 2):
            if other < {PAGES}:
                yield response.follow(f"/{{other}}")
"""
GZIP = "scrapy.extensions.postprocessing.GzipPlugin"
MINE = """
import sys
from pathlib import PosixPath

sys.path.append({root!r})
ADDONS = {{"webcrawl.WebcrawlAddon": 300}}
SPIDER_MODULES = ["spiders"]
COOKIES_ENABLED = False  # Scrapy's middleware asks the internet for public suffixes
FEEDS = {feeds!r}
"""
QUICK = {
    "POLITENESS_MIN_DELAY": 0,
    "POLITENESS_FACTOR": 0,
    "DOWNLOAD_TIMEOUT": 20,
    "CHECKPOINT_INTERVAL": 0.2,
}


class Deadly(Site):
    """Answers any URL; the request with one of the deadly numbers kills the crawl before it is
    answered.
    """

    requested, deadly, running = 0, (), None

    def answer(self):
        type(self).requested += 1
        if self.requested in self.deadly:
            self.running.kill()
        self.say(
            404 if self.path == "/robots.txt" else 200, self.path.encode(), content_type="text/html"
        )


def statuses_of(folder, feeds, *deadly, spider=SPIDER):
    """The exit statuses of runs of one crawl, the last of which nobody kills, and what that logged."""
    project = folder / "project"
    project.mkdir()
    (project / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (project / "mine.py").write_text(MINE.format(root=str(ROOT), feeds=feeds))
    (project / "spiders.py").write_text(spider)
    handler = type("Handler", (Deadly,), {"deadly": deadly})
    with serving(handler) as site:
        given = {**QUICK, "PORTS_ALLOWED": site.rpartition(":")[2]}
        crawl = Crawl(folder / "job", {"site": site}, given, "feeding", project)
        statuses = []
        for _ in range(len(deadly) + 1):
            handler.running = crawl.start()
            statuses.append(handler.running.wait())
    return statuses, crawl.output.read_text()


ALL = sorted((number, part) for number in range(PAGES) for part in "ab")


def lines_of(text):
    return sorted((row["number"], row["part"]) for row in map(json.loads, text.splitlines()))


def test_killed_twice_a_feed_has_each_item_once(tmp_path):
    """Feeds in local files are part of the checkpoint: of a crawl that is killed they have each
    item once.

    After two kills `-o items.jl` had 47 items of 100: what was booked as done was still in a
    buffer. A file that was there before the first run keeps what it had.
    """
    feeds = {
        f"{tmp_path}/items.json": {"format": "json"},
        f"{tmp_path}/items.csv": {"format": "csv"},
        f"{tmp_path}/wide.csv": {"format": "csv", "encoding": "utf-16"},
        f"{tmp_path}/items.xml": {"format": "xml"},
        f"{tmp_path}/items.jl.gz": {"format": "jsonlines", "postprocessing": [GZIP]},
        f"{tmp_path}/new.jl": {"format": "jl", "overwrite": True},
        f"file://{tmp_path}/uri.jl": {"format": "jl"},
        tmp_path / "path.jl": {"format": "jl"},
        f"{tmp_path}/batch-%(batch_time)s.jl": {"format": "jl", "batch_item_count": 7},
        f"{tmp_path}/number-%(batch_id)d.jl": {
            "format": "jl",
            "batch_item_count": 7,
            "overwrite": True,
        },
        f"{tmp_path}/run-%(time)s.jl": {"format": "jl"},
    }
    (tmp_path / "uri.jl").write_text('{"number": -1, "part": ""}\n')
    (tmp_path / "new.jl").write_text("of another crawl\n")

    statuses, _ = statuses_of(tmp_path, feeds, 20, 45)

    assert statuses == [-9, -9, 0]
    for name in ("new.jl", "path.jl"):
        assert lines_of((tmp_path / name).read_text()) == ALL, name
    assert lines_of((tmp_path / "uri.jl").read_text()) == [(-1, ""), *ALL]
    assert lines_of(gzip.decompress((tmp_path / "items.jl.gz").read_bytes()).decode()) == ALL
    assert (
        sorted(
            (row["number"], row["part"])
            for row in json.loads((tmp_path / "items.json").read_text())
        )
        == ALL
    )
    for name, encoding in (("items.csv", "utf-8"), ("wide.csv", "utf-16")):
        with (tmp_path / name).open(encoding=encoding) as file:
            assert sorted((int(row["number"]), row["part"]) for row in csv.DictReader(file)) == ALL
    items = ElementTree.parse(tmp_path / "items.xml").getroot()
    assert sorted((int(item.find("number").text), item.find("part").text) for item in items) == ALL
    for pattern in ("batch-*.jl", "number-*.jl", "run-*.jl"):
        files = [file.read_text() for file in tmp_path.glob(pattern)]
        assert len(files) > 1, pattern
        assert lines_of("".join(files)) == ALL, pattern
    words = {
        row["part"]: row["words"]
        for row in map(json.loads, (tmp_path / "new.jl").read_text().splitlines())
    }
    assert words == {"a": ["a"], "b": ["a", "b"]}


def test_an_item_that_cannot_be_exported_is_told(tmp_path):
    """An item that an exporter does not take is logged, and the crawl ends with status 1: its feed
    lacks a line.
    """
    spider = SPIDER.replace('"words": []', '"words": [object()] if number == 5 else []')

    statuses, said = statuses_of(
        tmp_path, {f"{tmp_path}/items.jl": {"format": "jl"}}, spider=spider
    )

    assert statuses == [1]
    assert said.count("an item could not be exported and is missing from its feed") == 2
    assert len((tmp_path / "items.jl").read_text().splitlines()) == len(ALL) - 2


def test_a_feed_without_items_is_there(tmp_path):
    """A feed of a crawl without items is written all the same, as in Scrapy.

    Scrapy opens it when the crawl is closed: by then crawl.db was closed, and the feed was missing.
    """
    spider = SPIDER.replace("            yield row\n", "")
    feeds = {
        f"{tmp_path}/none.json": {"format": "json"},
        f"{tmp_path}/none.jl": {"format": "jsonlines"},
    }

    statuses, said = statuses_of(tmp_path, feeds, spider=spider)

    assert (statuses, "Traceback" in said) == ([0], False)
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert (tmp_path / "none.jl").read_text() == ""


def test_an_item_that_one_feed_does_not_take(tmp_path):
    """An item that cannot be exported to a feed is missing in that feed only, even if it is the
    last of another feed's batch.
    """
    spider = SPIDER.replace('"words": []', '"words": [chr(0xD800)] if number == 5 else []')
    feeds = {
        f"{tmp_path}/batch-%(batch_id)d.jl": {"format": "jl", "batch_item_count": 3},
        f"{tmp_path}/strict.jl": {"format": "jl", "encoding": "utf-8"},
        f"{tmp_path}/last.jl": {"format": "jl"},
    }

    statuses, _ = statuses_of(tmp_path, feeds, spider=spider)

    assert statuses == [1]
    batches = [file.read_text() for file in tmp_path.glob("batch-*.jl")]
    assert lines_of("".join(batches)) == lines_of((tmp_path / "last.jl").read_text()) == ALL
    strict = lines_of((tmp_path / "strict.jl").read_text())
    assert strict == [row for row in ALL if row[0] != 5]
