"""Answers that no download gave: those of Scrapy's HTTP cache and of other middlewares are judged
by PURPOSE, too.
"""

import json

import pytest

from tests.support.named_sites import sites
from tests.support.projects import OURS, Project

CODE = """
import gzip
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from webcrawl.adapter.spiders.web import WebSpider


class Plain(Spider):
    name = "plain"

    async def start(self):
        for path in ("/open", "/header", "/document", "/robots"):
            yield Request(HERE + path, self.parse, errback=self.failed)

    async def parse(self, response):
        yield {"got": response.url, "text": response.text}
        if response.url.endswith("/open"):
            for path in ("/header", "/open"):
                try:
                    found = await self.crawler.engine.download_async(Request(HERE + path))
                    yield {"awaited": path, "text": found.text}
                except Exception as error:
                    yield {"awaited": path, "why": str(error)}

    def failed(self, failure):
        yield {"failed": failure.request.url, "why": str(failure.value)}


class Mine(WebSpider):
    name = "mine"

    def parse(self, response):
        yield {"got": response.url, "text": response.text, "flags": response.flags}


class Giving:
    def process_response(self, request, response):
        given = HtmlResponse(response.url, headers={"Content-Usage": "search=n"}, body=b"<p>secret of another")
        return given if response.url.endswith("/open") else response


class Coded:
    def process_request(self, request):
        if request.url.endswith("/open"):
            body = gzip.compress(b"<meta name=robots content=noindex><p>secret")
            return Response(request.url, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}, body=body)
"""
WITHHELD = "withheld: the site's owner forbids the use of this page for every purpose of this crawl"


@pytest.fixture(name="run")
def _run(tmp_path):
    """Runs a spider in a folder of its own: what it gave, its crawl.log by path, its statistics,
    what was requested.
    """

    def answer(host, path, requested):
        if path == "/robots.txt":
            return b"User-agent: *\nContent-Usage: /robots search=n\n"
        if "If-None-Match" in requested:
            return 304, [], b""
        headers = [("ETag", '"1"'), *([("Content-Usage", "search=n")] if path == "/header" else [])]
        meta = b"<meta name=robots content=noindex>" if path == "/document" else b""
        return 200, headers, meta + b"<p>" + (b"open" if path == "/open" else b"secret")

    with sites(answer, all_headers=True) as site:
        (tmp_path / "hosts").write_text("127.0.0.1 a.test\n")
        (tmp_path / "seeds.txt").write_text(site.url("a.test", "/open"))

        def run(folder, spider, *words, **settings):
            requested = len(site.requested)
            feed = {
                "FEEDS": {"items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]}}
            }
            more = {"HOSTS_FILE": str(tmp_path / "hosts"), **feed, **settings}
            code = f"HERE = {site.url('a.test', '')!r}\n{CODE}"
            status, said = Project(tmp_path / folder, OURS, code, **more).run(
                "crawl", spider, *words
            )
            assert status == 0, said
            items = [
                json.loads(line)
                for line in (tmp_path / folder / "items.jsonl").read_text().splitlines()
            ]
            job = tmp_path / folder / "crawls" / spider
            lines = [line.split() for line in (job / "logs/crawl.log").read_text().splitlines()]
            notes = {line[3].rpartition("/")[2]: (line[1], line[-1]) for line in lines}
            paths = [path for _, path, _ in site.requested[requested:]]
            return items, notes, json.loads((job / "stats.json").read_text()), paths

        yield run


class TestTheCache:
    @pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
    def test_what_it_has_of_a_crawl_without_a_purpose(self, run, tmp_path, policy):
        """It is withheld as if it had been fetched: the errback is told, and whoever awaits it, and
        the log says so.
        """
        cache = {
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": str(tmp_path / "cache"),
            "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
        }
        assert "secret" in json.dumps(run("first", "plain", **cache)[0])
        items, notes, stats, requested = run("second", "plain", PURPOSE="search", **cache)

        assert "secret" not in json.dumps(items)
        assert {one["failed"].rpartition("/")[2] for one in items if "failed" in one} == {
            *("header", "document", "robots"),
        }
        assert {one["why"] for one in items if "why" in one} == {WITHHELD}
        assert {one["awaited"]: one.get("text") for one in items if "awaited" in one} == {
            "/open": "<p>open",
            "/header": None,
        }
        assert stats["withheld"] == 4
        given = [notes[path] for path in ("header", "document", "robots")]
        if policy == "DummyPolicy":
            assert requested == ["/robots.txt"]
            assert given == [
                ("200", f"unasked,withheld:{by}") for by in ("header", "document", "robots.txt")
            ]
        else:  # the server says that what the cache has is still right
            assert given == [
                ("304", f"withheld:{by}") for by in ("header", "document", "robots.txt")
            ]


class TestOtherMiddlewares:
    def test_what_one_puts_in_place_of_an_answer(self, run):
        """It is judged by its own words, whatever the answer was: a callback of a WebSpider gets no
        body of it.
        """
        middlewares = {"spiders.Giving": 10}
        words = ("-a", "seeds=../seeds.txt")
        items, notes, stats, _ = run(
            "job", "mine", *words, PURPOSE="search", DOWNLOADER_MIDDLEWARES=middlewares
        )

        assert [(one["text"], one["flags"]) for one in items] == [("", ["withheld"])]
        assert stats["withheld"] == 1
        assert notes["open"] == ("200", "withheld:header")

    @pytest.mark.parametrize(
        ("purpose", "text"), [("search", ""), ("", "<meta name=robots content=noindex><p>secret")]
    )
    def test_what_is_still_compressed(self, run, purpose, text):
        """What a cache of Scrapy's own has, in its content coding, is read for words as well, and
        is decoded.
        """
        words = ("-a", "seeds=../seeds.txt")
        items, *_ = run(
            "job", "mine", *words, PURPOSE=purpose, DOWNLOADER_MIDDLEWARES={"spiders.Coded": 900}
        )

        assert [one["text"] for one in items] == [text]

    def test_without_a_purpose(self, run):
        """Nothing is judged, and nothing is lost."""
        items, *_ = run(
            "job", "mine", "-a", "seeds=../seeds.txt", DOWNLOADER_MIDDLEWARES={"spiders.Giving": 10}
        )

        assert [one["text"] for one in items] == ["<p>secret of another"]
