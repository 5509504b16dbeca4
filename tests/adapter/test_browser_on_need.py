"""Which answers the browser is asked to render, without a browser."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

pytest.importorskip("scrapy_playwright", reason="scrapy-playwright is not installed")

from scrapy import Request

from tests.support.warc_crawl import exchange
from webcrawl.adapter import browser
from webcrawl.adapter.browser_on_need import BrowserOnNeed, _unneeded_types
from webcrawl.adapter.browser_views import views_of
from webcrawl.base.model import Link
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.rendering.deciding import Deciding
from webcrawl.crawl.rendering.places import BrowserPlaces
from webcrawl.crawl.trip import Trip

URL = "http://a.test/"
SHELL = b"<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>"
MADE = b"<!doctype html><p>words that a script has made of nothing at all"


class Browser(BrowserOnNeed):
    """Makes the same document of every page."""

    def __init__(self, db, document=MADE, places=None, *, every=False):
        self._deciding, self._places = (
            Deciding(db, Counter(), recogniser(), every=every),
            places or BrowserPlaces(1),
        )
        self._every = every
        self.document, self.flaws = document, []

    async def _render_in_place(self, _, one):
        self._places.leave()
        one.body, one.rendered = self.document, True
        return 100

    def _note_flaw(self, _request, _exchange, name, _why):
        self.flaws.append(name)

    def shown(self, request=None, trip=None, **changes):
        """What is left of a shell after the browser was asked."""
        one = exchange(URL, **{"body": SHELL, **changes})
        asyncio.run(self._render_if_wanted(request or Request(URL), trip or Trip(Link(URL)), one))
        return one


def test_a_shell_becomes_its_document(db):
    """With the bytes that were sent beside it."""
    one = Browser(db).shown()

    assert (one.body, one.payload, one.rendered) == (MADE, SHELL, True)


def test_a_page_that_is_the_same_stays_as_it_was_sent(db):
    """The archive gets no document of it, and its digest is that of its neighbours."""
    one = Browser(db, SHELL.replace(b"App", b"Seen")).shown()

    assert (one.body, one.rendered) == (SHELL, False)


def test_only_pages_of_the_crawl_are_looked_at(db):
    """Not robots.txt, nor what spiders and pages await, nor answers to a POST, nor errors, nor
    parts of pages.
    """
    browser, link = Browser(db), Link(URL)
    shown = [
        browser.shown(trip=Trip(Link(f"{URL}robots.txt", "P"))),
        browser.shown(trip=Trip(link, inline=True)),
        browser.shown(request=Request(URL, method="POST")),
        browser.shown(status=404),
        browser.shown(truncated="length"),
    ]

    assert [one.rendered for one in shown] == [False] * len(shown)
    assert browser.shown().rendered


def test_beyond_its_share_a_page_stays_as_it_was_sent(db):
    """It is marked, so that its owner can be told how many there are."""
    browser = Browser(db, places=BrowserPlaces(0, most=0))

    assert browser.shown().body == SHELL
    assert browser.flaws == ["unrendered"]


PLAIN = b"<!doctype html><title>Plain</title><p>" + b"words of a page without any script " * 20


def test_with_all_each_page_of_the_crawl_is_rendered(db):
    """Also one without scripts, and it keeps its document, although that says the same."""
    browser = Browser(db, PLAIN.replace(b"Plain", b"Seen"), every=True)
    one = browser.shown(body=PLAIN)

    assert (one.payload, one.rendered) == (PLAIN, True)
    assert b"Seen" in one.body
    assert not Browser(db).shown(body=PLAIN).rendered


def test_with_all_no_page_is_left_out_for_lack_of_room(db):
    """It waits for its place in the browser."""

    async def one_after_the_other():
        browser = Browser(db, places=BrowserPlaces(1, most=1), every=True)
        await browser._places.wait_for_place(1.0)
        page = exchange(URL, body=PLAIN)
        waiting = asyncio.ensure_future(
            browser._render_if_wanted(Request(URL), Trip(Link(URL)), page)
        )
        await asyncio.sleep(0)
        assert not waiting.done()
        browser._places.leave()
        await waiting
        return page

    assert asyncio.run(one_after_the_other()).rendered


@pytest.mark.parametrize(
    "changes",
    [
        {"trip": Trip(Link(f"{URL}frame", "LE", URL, URL))},
        {"status": 404},
        {"body": b"", "status": 200},
        {"headers": [(b"Content-Type", b"image/png")]},
    ],
    ids=["frame", "error", "empty", "image"],
)
def test_with_all_only_pages_are_rendered(db, changes):
    """No frame that is fetched for another page, no error, and nothing that is not HTML."""
    assert not Browser(db, every=True).shown(**{"body": PLAIN, **changes}).rendered


def test_with_all_a_block_page_is_not_rendered(db):
    """A browser might get past it."""
    challenge = b"<title>Just a moment...</title><script>window._cf_chl_opt = {}</script>"
    one = Browser(db, every=True).shown(
        body=challenge,
        headers=[
            (b"Content-Type", b"text/html"),
            (b"cf-mitigated", b"challenge"),
            (b"Server", b"cloudflare"),
        ],
    )

    assert not one.rendered


@pytest.mark.parametrize(
    ("values", "left_out"),
    [
        ({}, {"image", "font", "media"}),
        ({"REQUISITES": True}, {"media"}),
        ({"RENDER_VIEWS": ("view",)}, {"media"}),
        ({"RENDER_ACTIONS": ("scroll",)}, {"image", "font", "media"}),
        ({"RENDER_ACTIONS": ("play",)}, {"image", "font"}),
        ({"REQUISITES": True, "RENDER_ACTIONS": ("play",)}, set()),
    ],
)
def test_what_need_not_be_shown_is_not_loaded(values, left_out):
    """Images and fonts only for an archive that shows them, media only if they are played."""
    of_crawl = {"RENDER_VIEWS": None, "RENDER_ACTIONS": None, "REQUISITES": False}

    assert _unneeded_types(of_crawl | values) == left_out


def test_a_view_that_takes_too_long_has_a_reason():
    """The log says so, although a TimeoutError has no text."""

    class Slow:
        async def screenshot(self, **_):
            raise TimeoutError

    views, failures = asyncio.run(views_of(Slow(), ["view"]))
    assert (views, failures) == ((), ["view: not made within 15 s"])


def test_a_browser_that_does_not_close(monkeypatch, caplog):
    """The end of the crawl waits for it so long and no longer, and closes the proxy."""
    closed = []

    async def close(handler=None):
        if handler is None:
            closed.append("proxy")
        else:
            await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(browser.ScrapyPlaywrightDownloadHandler, "close", close)
    monkeypatch.setattr(browser, "END_TIMEOUT", 0.01)
    handler = browser.BrowserHandler.__new__(browser.BrowserHandler)
    handler._proxy = SimpleNamespace(close=close)

    asyncio.run(handler.close())

    assert closed == ["proxy"]
    assert "the browser does not close" in caplog.text
