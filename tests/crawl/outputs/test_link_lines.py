"""The lines that a page has in links.log, made while other pages are at hand."""

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.outputs import logs
from webcrawl.store.jobdir import log_lines

URL = "http://a.test/b/"
LINE = b"http://a.test/b/\tx\thttp://a.test/b/x\ta\there\n"


def page(status=200, path=""):
    found = Page.of(Link(URL, path), exchange(URL, status=status))
    found.found = DocumentLinks(URL, "UTF-8", [("a", "x", "here", "")])
    return found


def test_are_made_once(monkeypatch):
    """The pipeline writes those that were made ahead."""
    one, made = page(), []
    monkeypatch.setattr(
        logs, "page_lines", lambda *given: made.append(1) or log_lines.page_lines(*given)
    )

    assert [logs.lines_of(one), logs.lines_of(one)] == [LINE, LINE]
    assert made == [1]


def test_are_of_the_url_that_the_page_has():
    """A callback may give it another after they were made."""
    one = page()
    logs.lines_of(one)
    one.url = "http://b.test/"

    assert logs.lines_of(one) == LINE.replace(b"a.test/b/", b"b.test/", 1)


def test_only_pages_have_them():
    """An error's links are nobody's, and a robots.txt has none."""
    assert logs.lines_of(page(status=404)) == b""
    assert logs.lines_of(page(path="P")) == b""
