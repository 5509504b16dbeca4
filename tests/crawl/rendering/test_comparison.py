"""What a browser's document has that the page as it was sent has not."""

import pytest

from webcrawl.crawl.rendering.deciding import Comparison

URL = "http://a.test/page"
LONG = "<p>words that the server sends, which are many</p>" * 20


def gain(page, document):
    return Comparison().gain(page.encode(), document.encode(), "text/html; charset=utf-8", URL)


@pytest.mark.parametrize(
    ("page", "document"),
    [
        (LONG, LONG),
        (LONG, f"{LONG}<p>12:03:59</p>"),
        (LONG, "<p>please accept our cookies"),
        ("<div id=app></div>", "<div id=app>Loading...</div>"),
        (f"{LONG}<a href=/b>", f"{LONG}<a href='http://a.test/b#top'>"),
        (f"{LONG}", f"{LONG}<a href=https://share.test/a.test>share</a><a href='#top'>"),
        (LONG, f"{LONG}<a href=javascript:x()>x</a><a href='http://[x'>y</a>"),
    ],
    ids=["same", "clock", "less", "loading", "same link", "others' links", "no links"],
)
def test_the_page_says_the_same(page, document):
    """A line more or less, a place in the page, or what others put into it is no reason to render it."""
    assert gain(page, document).is_slight


@pytest.mark.parametrize(
    ("page", "document"),
    [
        ("<div id=app></div>", "<div id=app>words that only a script brings</div>"),
        (LONG, f"{LONG}{'<p>a reader said this' * 10}<p>{'more words ' * 20}"),
        (LONG, f"{LONG}<a href=/next>next</a>"),
        ("<div id=app></div>", "<div id=app><a href=1></a></div>"),
    ],
    ids=["text", "more text", "link", "link alone"],
)
def test_the_page_needs_scripts(page, document):
    """A tenth more text, or a link to another page of its host."""
    assert not gain(page, document).is_slight


def test_text_is_counted_once():
    """A line that is there many times is one."""
    assert gain("<p>a", "<p>a<p>new line<p>new line<p>other").text == len("new line") + len("other")
