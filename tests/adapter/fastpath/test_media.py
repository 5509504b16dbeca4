"""Scrapy's media pipelines, `engine.download_async` and the HTTP cache: the same items as with
plain Scrapy.
"""

import base64
import importlib.util
import json
from functools import partial

import pytest

from tests.support.crawling import Crawl
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

SPIDERS = "tests.support.media_spider"
DATA = "scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler"
FILES = {"scrapy.pipelines.files.FilesPipeline": 1, f"{SPIDERS}.Noting": 9}
IMAGES = {"scrapy.pipelines.images.ImagesPipeline": 2, **FILES}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PLAIN = f"""
SPIDER_MODULES = ["{SPIDERS}"]
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
ROBOTSTXT_OBEY = False
"""


class Media(Site):
    """A page of four images; an answer that is bad at first; a redirect; what is missing."""

    requested: list

    def answer(self):
        self.requested.append(self.path)
        if self.path == "/page":
            return self.say(200, b"".join(b"<img src=/img/%d>" % number for number in range(4)))
        if self.path == "/img/1" and self.requested.count(self.path) == 1:
            return self.say(503, b"later")
        if self.path == "/moved":
            return self.moved()
        return self.say(
            404 if "missing" in self.path else 200,
            PNG if "png" in self.path else self.path.encode(),
        )

    def moved(self):
        self.send_response(302)
        self.send_header("Location", "/to/here")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_response(self, code, message=None):
        super().send_response(code, message)
        if code == 200:
            self.send_header("Content-Type", "text/html" if "page" in self.path else "text/plain")


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    """What the spider noted, in any order, and what was asked for."""
    requested = []

    def crawl(here, kind, pipelines, run=1):
        requested.clear()
        (tmp_path / kind).mkdir(exist_ok=True)
        notes, project = tmp_path / kind / f"notes{run}", ROOT
        settings = {
            "SPIDER_MODULES": SPIDERS,
            "ROBOTSTXT_OBEY": False,
            "ITEM_PIPELINES": json.dumps(pipelines),
            "FILES_STORE": tmp_path / kind / f"files{run}",
            "IMAGES_STORE": tmp_path / kind / f"images{run}",
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": tmp_path / kind / "cache",
            "HTTPCACHE_IGNORE_HTTP_CODES": "404,503",
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": 0,
        }
        if kind == "plain":
            project = tmp_path / kind
            (project / "scrapy.cfg").write_text("[settings]\ndefault = plain\n")
            (project / "plain.py").write_text(PLAIN)
        else:
            settings["DOWNLOAD_HANDLERS"] = json.dumps({"data": DATA})
        arguments = {"here": here, "notes": notes}
        crawl = Crawl(tmp_path / kind / f"job{run}", arguments, settings, "media", project)
        assert crawl.run() == 0, crawl.output.read_text()
        return sorted(notes.read_text().splitlines()), sorted(requested)

    with serving(type("Handler", (Media,), {"requested": requested})) as here:
        yield partial(crawl, here)


@pytest.mark.parametrize(
    "pipelines",
    [
        FILES,
        pytest.param(
            IMAGES,
            marks=pytest.mark.skipif(
                not importlib.util.find_spec("PIL"), reason="Pillow is not installed"
            ),
        ),
    ],
    ids=["files", "images"],
)
def test_items_are_as_with_plain_scrapy(crawled, pipelines):
    """Files, images, checksums, failures and responses are those of plain Scrapy, and so is what
    the servers see.
    """
    ours, plain = (crawled(kind, pipelines) for kind in ("ours", "plain"))

    assert ours == plain
    assert len(ours[0]) == 5
    assert ours[1].count("/img/1") == 2


@pytest.mark.campaign
def test_the_http_cache_is_as_with_plain_scrapy(crawled):
    """What the HTTP cache has is not asked for again, neither by requests nor by whoever awaits a
    download.
    """
    first = crawled("ours", FILES)
    ours = crawled("ours", FILES, 2)
    crawled("plain", FILES)

    assert ours == crawled("plain", FILES, 2)
    assert ours[1] == ["/missing"]
    assert len(ours[0]) == len(first[0])
