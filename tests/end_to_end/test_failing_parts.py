"""Parts of a user's own that fail: the crawl ends with status 1, and the next run loses nothing."""

import socket

import pytest

from tests.support.examples import in_campaign
from tests.support.plain_site import Site, serving
from tests.support.projects import OURS, Project

PAGES = [f"/{number}" for number in range(12)]
SPIDER = """
from pathlib import Path

from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth


class Own(WebSpider):
    name = "own"


class Panic(BaseException):
    '''As a library in Rust raises it.'''


def fail(url):
    if url.endswith("/7") and Path("broken").exists():
        raise globals().get(Path("broken").read_text(), ValueError)


class Filter:
    name = "mine"

    def keep(self, urls, origin):
        for url in urls:
            fail(url)
        return urls


def function(url):
    fail(url)
    return True


class Prioritizer(ByDepth):
    def level(self, link):
        fail(link.url)
        return super().level(link)


class Politeness(Mercator):
    waits = 0

    def wait(self, times):
        self.waits += 1
        fail(f"/{self.waits}")
        return super().wait(times)
"""


class Chain(Site):
    """Each page leads to the next."""

    def answer(self):
        if self.path == "/robots.txt":
            self.say(200, b"")
        else:
            body = f"<title>Page {self.path}</title><a href=/{int(self.path[1:] or 0) + 1}>next</a>".encode()
            self.say(200 if self.path in PAGES else 404, body, content_type="text/html")


# crawl/test_panics.py has the rule
@pytest.mark.parametrize("error", ["ValueError", *in_campaign("Panic")])
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("URL_FILTERS", {"spiders.Filter": 650}),
        ("URL_FILTERS", {"spiders.function": 650}),
        ("FRONTIER_PRIORITIZER", "spiders.Prioritizer"),
        ("POLITENESS_POLICY", "spiders.Politeness"),
    ],
)
def test_the_next_run_has_all(tmp_path, setting, value, error):
    """What it raises in the middle, an Exception or not, is told in one line; mended, the crawl
    goes on to its end.
    """
    project = Project(tmp_path, OURS, SPIDER, **{setting: value})
    broken = tmp_path / "broken"
    broken.write_text(error)
    with serving(Chain) as here:
        status, said = project.run("crawl", "own", "-a", f"seeds={here}/0")
        assert (status, said.count("an unexpected error stopped a change halfway: ")) == (1, 1)

        broken.unlink()
        status, said = project.run("crawl", "own", "-a", f"seeds={here}/0")

    lines = (tmp_path / "crawls/own/logs/crawl.log").read_text().splitlines()
    found = [line.split()[3].removeprefix(here) for line in lines]
    assert status == 0, said
    assert sorted(found) == sorted([*PAGES, "/robots.txt", "/12"])


def test_a_feed_that_cannot_be_stored(tmp_path):
    """The pages are there, and the feed is not: an error says so, and the exit status is 1."""
    project = Project(tmp_path, OURS, SPIDER)
    with serving(Chain) as here, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        feed = f"ftp://user:password@127.0.0.1:{nobody.getsockname()[1]}/pages.jsonl"
        status, said = project.run("crawl", "own", "-a", f"seeds={here}/0", "-o", feed)

    assert (status, "Error storing jsonl feed (13 items)" in said) == (1, True)
