"""Spiders of other people's, in a project with the add-on: what they rely on works, or is told in a
line.
"""

import json

import pytest

from tests.support.commands import command
from tests.support.crawling import SETTINGS
from tests.support.plain_site import serving
from tests.support.ports import free_port
from webcrawl.base.model import Link
from webcrawl.crawl.admission import PROXY_RETRY_WAIT, RobotsAdmission
from webcrawl.net.robots_book import RobotsDecision

SPIDER = """
import scrapy

class Own(scrapy.Spider):
    name = "own"
    site = {site!r}

    async def start(self):
        yield scrapy.Request(f"{{self.site}}/first")

    def parse(self, response):
        yield {{"got": response.url}}
        {more}

    def failed(self, failure):
        yield {{"failed": failure.request.url, "why": f"{{type(failure.value).__name__}} {{failure.value}}"}}
"""


@pytest.fixture(name="run")
def _run(tmp_path):
    """Runs a spider whose `parse` does what is given, and returns what came of it and what it said."""

    def run(site, more, **settings):
        (tmp_path / "spiders.py").write_text(SPIDER.format(site=site, more=more))
        own = {
            **SETTINGS,
            "SPIDER_MODULES": ["spiders"],
            "ADDONS": {"webcrawl.WebcrawlAddon": 300},
            **settings,
        }
        (tmp_path / "settings.py").write_text(f"globals().update({own!r})\n")
        (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
        done = command("scrapy", "crawl", "own", "-O", "items.jsonl", cwd=tmp_path)
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        return done, items

    return run


def test_a_dead_proxy(tmp_path, run):
    """It holds up only the request that names it, whose errback hears of it, and `why` names the
    proxy.
    """
    proxy = f"127.0.0.1:{free_port()}"
    more = f"""
        if response.url.endswith("first"):
            meta = {{"proxy": "http://{proxy}"}}
            yield response.follow("/by_proxy", meta=meta, errback=self.failed)
            for number in range(10):
                yield response.follow(f"/{{number}}")
    """
    with serving() as site:
        done, items = run(site, more)

    assert done.returncode == 0, done.stderr
    got = [item["got"].rpartition("/")[2] for item in items if "got" in item]
    (failed,) = [item for item in items if "failed" in item]
    assert (sorted(got), failed["failed"]) == (
        sorted(["first", *map(str, range(10))]),
        f"{site}/by_proxy",
    )
    assert failed["why"].startswith(f"DownloadFailedError proxy {proxy}: ")
    told = command("webcrawl", "why", tmp_path / "crawls/own", failed["failed"]).stdout
    assert "its proxy could not reach the server" in told


def test_a_lambda_as_callback(run):
    """The first such request is told in a line that says what to do, and the crawl does not end as
    if it had it.
    """
    with serving() as site:
        done, items = run(site, 'yield response.follow("/next", callback=lambda response: None)')

    (line,) = [line for line in done.stderr.splitlines() if " ERROR: <GET" in line]
    assert (
        "its callback Own.parse.<locals>.<lambda> is not a method of the spider: use one, as in callback=self."
        in line
    )
    assert (done.returncode, len(items)) == (1, 1)


def test_a_request_that_a_filter_refuses(run):
    """The first one of each filter is told in a line with the filter's name."""
    more = """
        for number in range(3):
            yield response.follow(f"/private/{number}")
    """
    with serving() as site:
        done, items = run(site, more, URL_EXCLUDE=["/private/"])

    (line,) = [line for line in done.stderr.splitlines() if "cannot be crawled" in line]
    assert (
        "/private/0> cannot be crawled: left out by the filter expression of URL_FILTERS; further ones"
        in line
    )
    assert (done.returncode, len(items)) == (0, 1)


class Book:
    """No robots.txt is known."""

    def verdict(self, *_):
        return RobotsDecision.FETCH

    def tries(self, _):
        return 0


def test_a_dead_proxy_on_the_way_to_robots_txt():
    """The request lets others of its host pass, is tried once more, and ends; later its proxy is
    tried again.
    """
    admission = RobotsAdmission(Book())
    by_proxy, plain = Link("http://h.test/1", request="proxy"), Link("http://h.test/2")

    def decided(now):
        return [admission.decide(link, now) for link in (by_proxy, plain)]

    first, _ = decided(0.0)
    admission.way_failed(first, 0.0)
    waits, other = decided(1.0)
    again, _ = decided(PROXY_RETRY_WAIT)
    admission.way_failed(again, PROXY_RETRY_WAIT)
    ends, _ = decided(PROXY_RETRY_WAIT + 1)

    assert (waits, other.url, other.request) == (PROXY_RETRY_WAIT, "http://h.test/robots.txt", "")
    assert (again.url, again.request, ends) == ("http://h.test/robots.txt", "proxy", -61)
    assert isinstance(decided(3 * PROXY_RETRY_WAIT)[0], Link)
