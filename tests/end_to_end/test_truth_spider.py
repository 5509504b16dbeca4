"""Ordinary Scrapy spiders, in a project that only takes over webcrawl's settings, with the crawl's
scheduler.
"""

import json
from collections import Counter

import pytest

from tests.support.crawling import POLITE, Crawl, wait_until
from webcrawl.lab.simweb import even, gaps, mercator, overlaps, robots_first, truth, wait_until_idle

CONFIG = "[settings]\ndefault = shop.settings\n"
USUAL = """
from webcrawl.settings import *

BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ITEM_PIPELINES = {}
"""
SPIDERS = '''
import json

from scrapy import FormRequest, Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Noting:
    def note(self, **what):
        with open(self.notes, "a") as file:
            file.write(json.dumps(what) + "\\n")


class Follow(Noting, CrawlSpider):
    """Scrapy's tutorial."""

    name = "follow"
    rules = [Rule(LinkExtractor(), callback="page", errback="broken", follow=True)]

    def __init__(self, start, notes, only="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls, self.notes = start.split(), notes
        if only:
            self.allowed_domains = only.split()

    def page(self, response):
        self.note(url=response.url, status=response.status, depth=response.meta["depth"])

    def broken(self, failure):
        self.note(url=failure.request.url, error=failure.type.__name__)


class Form(Noting, Spider):
    """Requests of every sort."""

    name = "form"
    handle_httpstatus_list = [404, 405]

    def __init__(self, start, notes, many, **kwargs):
        super().__init__(**kwargs)
        self.start_urls, self.notes, self.many = [start], notes, int(many)

    def parse(self, response):
        self.note(what="start")
        here = response.url
        meta = {"word": "Wörter", "list": [1, {"two": 3.5}]}
        yield Request(here + "a?", self.answer, meta=meta, cb_kwargs={"name": "meta"}, headers={"X-Of-Mine": "yes"})
        for value in "1", "2", "2":
            yield FormRequest(here, self.answer, formdata={"a": value}, cb_kwargs={"name": f"post {value}"})
        for name in "once more", "and again":
            yield Request(here, self.answer, dont_filter=True, cb_kwargs={"name": name})
        yield Request(here, self.answer, cb_kwargs={"name": "seen"})
        yield Request("http://absent.test/", self.answer, errback=self.failed_to, cb_kwargs={"name": "absent"})
        yield Request(here + "x/status_503/0", self.answer, errback=self.failed_to, cb_kwargs={"name": "busy"})
        yield Request(here + "kept?", lambda response: None)
        for number in range(self.many):
            yield response.follow(f"/many?{number}", self.answer, cb_kwargs={"name": f"many {number}"}, priority=number)

    def answer(self, response, name):
        sent = response.request.headers.get("X-Of-Mine", b"").decode()
        body = response.request.body.decode()
        known = {key: response.meta[key] for key in ("word", "list", "lost") if key in response.meta}
        self.note(what=name, status=response.status, sent=sent, body=body, **known)

    def failed_to(self, failure):
        self.note(what=failure.request.cb_kwargs["name"], error=failure.type.__name__)
'''


@pytest.fixture(name="shop")
def _shop(tmp_path):
    """A user's project and its crawl; the notes of its spiders are in `notes`."""
    package = tmp_path / "project" / "shop" / "spiders"
    package.mkdir(parents=True)
    (tmp_path / "project" / "scrapy.cfg").write_text(CONFIG)
    (package.parent / "__init__.py").touch()
    (package.parent / "settings.py").write_text(USUAL)
    (package / "__init__.py").write_text(SPIDERS)

    def make(server, spider, start, **arguments):
        arguments = {"start": start, "notes": tmp_path / "notes", **arguments}
        settings = {"DNS_NAMESERVERS": server.nameserver}
        return Crawl(tmp_path / "job", arguments, settings, spider, tmp_path / "project")

    return make


def notes(crawl):
    return [json.loads(line) for line in crawl.arguments["notes"].read_text().splitlines()]


def requests(server):
    wait_until_idle(server)
    return list(server.log.hits)


class TestCrawlSpider:
    MIX = even(
        [
            "redirect_302",
            "redirect_chain",
            "status_404",
            "status_500",
            "status_503_thrice",
            "robots_disallow",
        ]
    )

    @pytest.mark.campaign
    def test_its_rules_reach_the_truth(self, simweb, shop):
        """A CrawlSpider with a LinkExtractor requests what its links lead to, once and politely,
        robots.txt first.
        """
        server = simweb(12, 150, mix=self.MIX, size=(2000, 3000), slow=0.02)
        seeds = [*server.world.seeds()]
        crawl = shop(server, "follow", " ".join(seeds))

        assert crawl.run() == 0

        hits = requests(server)
        expected = truth(server.world, seeds, follow={"a", "area"})
        assert [*expected.complaints(hits)] == []
        assert [
            *overlaps(hits),
            *gaps(hits, mercator(server.world, **POLITE)),
            *robots_first(hits),
        ] == []

        ignored = [note["url"] for note in notes(crawl) if note.get("error") == "IgnoreRequest"]
        assert {*ignored}.isdisjoint(hit.url for hit in hits)
        assert len({*ignored}) == len(ignored) > 0  # what robots.txt forbids

        noted = Counter(note["url"] for note in notes(crawl) if note["url"] not in ignored)
        failed = {note["url"] for note in notes(crawl) if "error" in note}.difference(ignored)
        assert max(noted.values()) == 1  # a page that is retried is one page
        assert {url.split("/")[4] for url in failed} == {"status_404", "status_500"}
        # all but the redirects, and seeds that no link named before their turn
        assert noted.keys() < expected.must
        assert {url for url in expected.must - noted.keys() if "/redirect_" not in url} <= set(
            seeds
        )

    def test_its_allowed_domains_hold(self, simweb, shop):
        """A spider with allowed_domains stays inside them."""
        server = simweb(4, 60, size=(2000, 3000))
        start = f"{server.world.origin(0)}/"

        assert shop(server, "follow", start, only="site0.test").run() == 0

        expected = truth(server.world, [start], "host", follow={"a", "area"})
        assert [*expected.complaints(requests(server))] == []


class TestRequests:
    MANY = 30

    def test_all_that_a_request_has_comes_back(self, simweb, shop):
        """Callback, meta, headers, body and errback of queued requests survive a stop; each request
        gets one answer.
        """
        server = simweb(1, 5, mix={"status_503": 1.0}, size=(2000, 3000))
        start = f"{server.world.origin(0)}/"
        crawl = shop(server, "form", start, many=self.MANY)
        crawl.settings["OUTAGE_END_WAIT"] = 60  # every request is answered
        # otherwise a host without an address ends there, unnoticed
        crawl.settings["ROBOTSTXT_OBEY"] = False

        running = crawl.start(POLITENESS_MIN_DELAY=0.05)
        wait_until(lambda: len(server.log.hits) > 5)
        running.interrupt()
        assert running.wait() == 0
        said = crawl.output.read_text()
        assert len(notes(crawl)) < self.MANY
        assert crawl.run() == 1  # for the one that cannot be kept

        found = {note.pop("what"): note for note in notes(crawl)}
        plain = {"status": 200, "sent": "", "body": ""}
        many = {f"many {number}": {**plain, "status": 404} for number in range(self.MANY)}
        assert len(notes(crawl)) == len(found)
        assert found == many | {
            "start": {},
            "meta": {
                "status": 404,
                "sent": "yes",
                "body": "",
                "word": "Wörter",
                "list": [1, {"two": 3.5}],
            },
            "post 1": {"status": 405, "sent": "", "body": "a=1"},
            "post 2": {"status": 405, "sent": "", "body": "a=2"},
            "once more": plain,
            "and again": plain,
            "absent": {"error": "CannotResolveHostError"},
            "busy": {"error": "HttpError"},
        }
        requested = Counter(hit.url for hit in requests(server))
        assert requested[start] == 5
        assert requested[f"{start}x/status_503/0"] >= 3
        assert requested[f"{start}kept?"] == 0
        assert said.count("cannot be kept on disk") == 1


class TestJobdir:
    def test_a_callback_that_is_no_more(self, tmp_path, simweb, shop):
        """When a spider no longer has the method that queued requests call, they end, and the crawl
        goes on.
        """
        server = simweb(1, 5, mix={"status_503": 1.0}, size=(2000, 3000))
        crawl = shop(server, "form", f"{server.world.origin(0)}/", many=20)
        running = crawl.start(POLITENESS_MIN_DELAY=0.1)
        wait_until(lambda: len(server.log.hits) > 5)
        running.interrupt()
        assert running.wait() == 0
        before, kept = len(notes(crawl)), crawl.stats["queued"]

        spiders = tmp_path / "project/shop/spiders/__init__.py"
        code = spiders.read_text()
        spiders.write_text(code.replace("answer", "received"))
        assert crawl.run() == 1
        said = crawl.output.read_text()
        assert (
            said.count("the spider has no method answer, which a request names as its callback")
            == 1
        )
        assert "Traceback" not in said
        assert crawl.stats["reason"] == "finished"
        assert 0 < crawl.stats["status/-5005"] <= kept
        assert all(note["error"] == "IgnoreRequest" for note in notes(crawl)[before:])
        assert crawl.run() == 0
