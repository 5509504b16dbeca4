"""Redirects with cookies: a URL of the chain is requested again if it gets other cookies than
before.
"""

from dataclasses import replace

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.settings import REDIRECT_MAX_HOPS

A, B, CHECK, OTHER = (
    "http://a.test/",
    "http://a.test/b",
    "http://a.test/check",
    "http://other.test/",
)


class Walk:
    """Follows one chain, as if each link were fetched at once: `to` gives the links that it leads
    to.
    """

    def __init__(self, crawl, visitor):
        self.crawl, self.visitor = crawl, visitor

    def to(self, link, location, *cookies, status=302, more=()):
        headers = [
            *more,
            (b"Location", location.encode()),
            *((b"Set-Cookie", cookie.encode()) for cookie in cookies),
        ]
        self.visitor.visit(link, exchange(link.url, status=status, headers=headers, body=b""))
        return self.new()

    def new(self):
        seen = self.crawl.parts.seen
        seen.merge()
        return [unpack(record) for record in seen.pop_new(100) if record]

    def seed(self, url=A):
        """The link of a URL that was submitted."""
        link = Link(url, seed=url)
        assert self.crawl.parts.discovery.submit(link)
        self.new()
        return link


def sent(link):
    return cookie_header(link.chain, link.url)


@pytest.fixture(name="walk")
def _walk(tmp_path):
    with crawling(tmp_path) as (crawl, visitor):
        yield Walk(crawl, visitor)


class TestAgain:
    def test_without_a_cookie_it_is_seen(self, walk):
        """A redirect to a URL of the chain without a cookie leads nowhere."""
        assert walk.to(walk.seed(), "/") == []

    def test_with_the_same_cookie_it_is_seen(self, walk):
        """Once the cookie was sent, a redirect that sets the same one leads nowhere."""
        (link,) = walk.to(walk.seed(), "/", "a=1")

        assert walk.to(link, "/", "a=1") == []
        assert walk.to(link, "/") == []

    def test_by_the_servers_clock(self, walk):
        """A cookie for an hour is sent back although our clock is ahead by more than that."""
        hour = "a=1; Expires=Sun, 06 Nov 1994 09:49:37 GMT"
        date = (b"Date", b"Sun, 06 Nov 1994 08:49:37 GMT")

        (link,) = walk.to(walk.seed(), "/", hour, more=(date,))

        assert sent(link) == b"a=1"

    def test_with_a_changed_cookie(self, walk):
        """Another value is a new cookie; the one before is forgotten."""
        (link,) = walk.to(walk.seed(), "/", "a=1")
        (link,) = walk.to(link, "/", "a=2")

        assert sent(link) == b"a=2"

    def test_a_cookie_that_is_not_sent_there(self, walk):
        """A cookie that the URL would not get changes nothing: for another path, another host, or
        https.
        """
        assert (
            walk.to(walk.seed(), "/", "a=1; Path=/x", "b=2; Domain=other.test", "c=3; Secure") == []
        )

    def test_no_other_url_that_was_seen(self, walk):
        """A URL that another chain has led to is not requested again, whatever cookies it would
        get.
        """
        walk.seed(CHECK)

        assert walk.to(walk.seed(), CHECK, "a=1") == []

    def test_a_loop_of_new_cookies_ends(self, walk):
        """A page that sets a new cookie each time is requested REDIRECT_MAX_HOPS times more."""
        found, count = [walk.seed()], 0
        while found:
            count += 1
            found = walk.to(found[0], "/", f"a={count}", f"n{count}=1")

        assert count == 1 + REDIRECT_MAX_HOPS

    def test_filters_count(self, tmp_path):
        """What the filters drop is not asked for again either."""
        with crawling(tmp_path, URL_INCLUDE=["^http://a.test/in"]) as (crawl, visitor):
            assert Walk(crawl, visitor).to(Link(A), "/", "a=1") == []


class TestCarried:
    def test_to_another_page(self, walk):
        """The target of a redirect gets the cookies that the chain has set for its host."""
        (link,) = walk.to(walk.seed(), "/new", "a=1; Path=/new", "b=2")

        assert sent(link) == b"a=1; b=2"

    def test_not_across_hosts(self, walk):
        """Another host gets none of them; back on the first one, they are sent again."""
        (there,) = walk.to(walk.seed(), OTHER, "a=1; Domain=test")
        (back,) = walk.to(there, "http://a.test/new", "o=1")

        assert (sent(there), sent(back)) == (b"", b"a=1")

    def test_no_further_than_the_chain(self, walk):
        """The links of the page at the end of the chain have no cookies, nor has a refresh."""
        (link,) = walk.to(walk.seed(), "/new", "a=1")
        body = b'<meta http-equiv=refresh content="0;url=/again"><a href="/next">'
        headers = [(b"Content-Type", b"text/html"), (b"Set-Cookie", b"b=1")]
        walk.visitor.follow(
            walk.visitor.visit(link, exchange(link.url, body=body, headers=headers))
        )

        assert {(found.url, found.chain) for found in walk.new()} == {
            ("http://a.test/again", ""),
            ("http://a.test/next", ""),
        }

    def test_a_refresh_to_itself(self, walk):
        """A page that refreshes itself is not requested again, though it sets a cookie."""
        body, headers = b'<meta http-equiv=refresh content="0">', [(b"Set-Cookie", b"a=1")]
        walk.visitor.follow(
            walk.visitor.visit(walk.seed(), exchange(A, body=body, headers=headers))
        )

        assert walk.new() == []

    def test_it_is_packed_with_the_link(self, walk):
        """The chain is part of the packed link, as are its retries, and has neither blank nor
        control character.
        """
        (link,) = walk.to(walk.seed(), "/new", "a=1 2; Path=/ \xe4")

        assert unpack(replace(link, attempt=1).pack()) == replace(link, attempt=1)
        assert link.chain.isascii()
        assert link.chain.isprintable()
        assert " " not in link.chain

    def test_a_flood_of_cookies_is_bounded(self, walk):
        """However much a server sets, a link stays below 10 KB."""
        flood = [f"{'n' * 60}{number}={'v' * 80}; Path=/{'p' * 900}" for number in range(200)]
        (link,) = walk.to(walk.seed(), "/" + "p" * 900, *flood)

        assert len(link.pack()) < 10_000
        assert len(sent(link)) <= 4096


class TestRobots:
    """robots.txt that sets a cookie and redirects."""

    @pytest.mark.parametrize("size", [1, 2000])
    def test_no_other_host_gets_it(self, tmp_path, size):
        """A robots.txt that redirects to another host takes no cookie there; a large one is
        forgotten.
        """
        with crawling(tmp_path) as (crawl, visitor):
            crawl.parts.discovery.submit(Link(A))
            requested = crawl.next_link(0.0)
            headers = [(b"Location", b"http://other.test/r"), (b"Set-Cookie", b"a=" + b"x" * size)]
            visitor.visit(requested, exchange(requested.url, status=302, headers=headers, body=b""))
            there = crawl.next_link(1.0)

            assert (there.url, there.history, sent(there)) == (
                "http://other.test/r",
                "http://a.test",
                b"",
            )
            assert bool(there.chain) is (size == 1)
