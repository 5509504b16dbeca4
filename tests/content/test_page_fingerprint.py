"""The fingerprint of a page's text."""

from dataclasses import fields

from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.neardup.near_duplicates import fingerprint
from webcrawl.content.page import Page


def test_of_what_a_reader_sees():
    """It is that of the visible text, whatever the markup; it is read once, and no field of the item."""
    words = " ".join(f"word{number}" for number in range(50))
    body = f"<title>x</title><p>{words}</p><script>more()</script>".encode()
    kind = [(b"Content-Type", b"text/html")]
    exchange = Exchange("http://a.test/", b"", 200, b"", kind, body, body, body, "192.0.2.1", 0.0, Timings())
    page = Page.of(Link("http://a.test/"), exchange)

    assert page.fingerprint == fingerprint(words)
    assert page.looked_up["fingerprint"] == page.fingerprint
    assert "fingerprint" not in [one.name for one in fields(Page)]
