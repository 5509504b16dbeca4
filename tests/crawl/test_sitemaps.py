"""The sitemaps that a robots.txt names."""

from types import SimpleNamespace

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.html.found_links import Found
from webcrawl.content.page import Page
from webcrawl.crawl.visitor import Visitor


class Discovery:
    """Notes what it is given."""

    def __init__(self):
        self.found = []

    def discover(self, link, links, hops, *, base):
        self.found.append((link.path, links, hops, base))


def visited(found):
    visitor, discovery = Visitor.__new__(Visitor), Discovery()
    visitor._parts = SimpleNamespace(discovery=discovery)
    page = Page.of(Link("http://a.test/robots.txt", "LLP", history="http://a.test"), exchange())
    page.found = found
    visitor.follow_robots(page)
    return page, discovery.found


def test_they_are_links_of_the_page_that_needed_the_rules():
    """One link deeper than that page, found on the robots.txt; the outputs see that they are followed."""
    found = Found("http://a.test/robots.txt", "", [("sitemap", "/a.xml", "", ""), ("sitemap", "/b.xml", "", "")])
    page, submitted = visited(found)

    assert submitted == [("LL", ["/a.xml", "/b.xml"], "L", "http://a.test/robots.txt")]
    assert page.followed is found.links


def test_unwanted_or_missing_sitemaps_are_not_submitted():
    """Where nobody wants them, or there are none, nothing is submitted."""
    page, submitted = visited(None)

    assert (submitted, page.followed) == ([], ())
