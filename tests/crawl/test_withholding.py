"""What is withheld, and what it costs where nothing is."""

import sys

import pytest

from webcrawl.base.model import Exchange, Link, PageView, Timings
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.page import Page
from webcrawl.content.purpose_bits import Purpose
from webcrawl.crawl.withholding import Owners, forget_links, withhold
from webcrawl.net.robots_book import RobotsBook

URL = "http://a.test/x"
HTML = b"<title>T</title><a href=/y>words</a>"


class Table(dict):
    def robots(self, origin):
        return self.get(origin)

    def set_robots(self, origin, until, rules):
        self[origin] = until, rules

    def sweep(self, before):
        pass


def owners(robots=b"", *purposes):
    """Of a host with this robots.txt, to a crawl for these purposes."""
    book = RobotsBook(Table(), "webcrawl")
    book.record_answer("http://a.test", 200, robots, 0.0)
    return Owners(book.said, "webcrawl", Purpose.of(purposes))


def page(of, *headers, body=HTML):
    """A page that was read for its links."""
    exchange = Exchange(
        URL,
        b"GET",
        200,
        b"head",
        [(b"Content-Type", b"text/html"), *headers],
        body,
        body,
        body,
        "",
        0.0,
        Timings(),
    )
    found = Page.of(Link(URL), exchange)
    found.robots_word = of.word(URL)
    found.found = LinkReader(["a"], anchor_text=True).links(body, "text/html", URL)
    found.title = found.found.title
    return found


class TestWhen:
    @pytest.mark.parametrize(
        ("purposes", "words", "withheld"),
        [
            (["search"], b"noindex", True),
            (["search", "archive"], b"noindex", False),
            (["search", "archive"], b"noindex, noarchive", True),
            (["archive"], b"noindex, noai", False),
            (["research"], b"noindex, noarchive, noai", False),
            (["train-ai", "ai-input"], b"noai", True),
            ([], b"noindex, noarchive, noai", False),
        ],
    )
    def test_all_purposes_are_forbidden(self, purposes, words, withheld):
        """A page is withheld if its owner forbids it for each purpose that is declared, and never
        without one.
        """
        of = owners(b"", *purposes)

        assert of.withholds(page(of, (b"X-Robots-Tag", words))) is withheld

    def test_who_forbids(self):
        """All sources that have a part in it are named, and no others."""
        of = owners(b"User-agent: *\nContent-Usage: search=n", "search", "archive")
        found = page(of, (b"X-Robots-Tag", b"noarchive"), (b"Content-Signal", b"ai-train=no"))

        assert withhold(found, found.exchange, of.purpose) == ("robots.txt", "header")


class TestWhatIsLeft:
    def test_nothing_but_the_head(self):
        """No body, title, text or view; sizes and digest are those of what came."""
        of = owners(b"User-agent: *\nContent-Usage: search=n", "search")
        found = page(of)
        assert found.visible_text == "words"
        found.exchange.state.views = (PageView("urn:view:", "image/png", b"PNG"),)
        digest = Exchange(URL, b"", 200, b"", [], HTML, HTML, HTML, "", 0.0, Timings()).digest

        withhold(found, found.exchange, of.purpose)

        exchange = found.exchange
        assert (exchange.wire, exchange.payload, exchange.body, found.body) == (b"",) * 4
        assert exchange.state.views == ()
        assert (found.title, found.text, found.visible_text, found.headings) == ("", "", "", [])
        assert (exchange.size, exchange.received, exchange.digest) == (
            len(HTML),
            len(HTML) + 4,
            digest,
        )
        assert found.found.links == [("a", "/y", "", "")]
        assert found.preferences.forbidden == ("search",)
        forget_links(found)
        assert found.found.links == []


class TestCost:
    def test_a_host_that_says_nothing(self):
        """One look for each page: four calls, and nothing is read of the page."""
        of = owners(b"User-agent: *\nDisallow: /a")
        found, calls = page(of), []
        of.word(URL)
        sys.setprofile(
            lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None
        )
        try:
            word = of.word(URL)
        finally:
            sys.setprofile(None)

        assert calls == ["word", "said", "origin_of"]  # and Crawl.robots_said between them
        assert word is found.robots_word
        assert found.looked_up is None

    def test_without_robots_txt(self):
        """A crawl that asks for none looks at none."""
        of = Owners(None, "webcrawl", Purpose())

        assert of.word(URL).statements == ()
