"""Each host is asked once for a URL that cannot exist, and its soft 404s are known by the answer."""

from collections import Counter

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link, unpack
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.missing_pages import MissingPages

TYPE = (b"Content-Type", b"text/html")
LOST = b"<title>Our shop</title><p>Have a look at these"


class Frontier:
    """Keeps what it is told."""

    def __init__(self):
        self.requested, self.shown, self.notes = [], {}, self

    def expedite(self, record):
        self.requested.append(unpack(record))

    def missing(self, name, shown=None):
        if shown is not None:
            self.shown[name] = shown
        return self.shown.get(name, b"")


def answer(body=LOST, url="http://a.test/x", status=200):
    return exchange(url=url, status=status, headers=[TYPE], body=body)


@pytest.fixture(name="frontier")
def _frontier():
    return Frontier()


@pytest.fixture(name="missing")
def _missing(frontier):
    return MissingPages(frontier, Counter(), 7)


def requested_url(url, frontier, missing):
    missing.ask(Link(url, "LL", "http://a.test/", "http://a.test/"))
    return frontier.requested[-1].url


@pytest.mark.parametrize(
    ("url", "before", "after"),
    [
        ("http://a.test/", "http://a.test/", ""),
        ("http://a.test/b/c/page.html?x=/y.z", "http://a.test/b/c/", ".html"),
        ("https://a.test:8443/b/page", "https://a.test:8443/b/", ""),
        ("http://a.test/b/1.5%20of%20all", "http://a.test/b/", ""),
    ],
)
def test_the_url_is_like_that_of_a_page(frontier, missing, url, before, after):
    """It has the same folder and ending, and a name that nobody has."""
    found = requested_url(url, frontier, missing)
    name = found.removeprefix(before).removesuffix(after)

    assert found == before + name + after
    assert len(name) == 16
    assert name.isalpha()
    assert frontier.requested[-1].is_probe
    assert frontier.requested[-1].depth == 3


def test_the_name_depends_on_seed_and_host_alone(frontier, missing):
    """A crawl that is run again with the same seed asks for the same."""
    other = MissingPages(frontier, Counter(), 8)

    assert requested_url("http://a.test/x", frontier, missing) == requested_url(
        "http://a.test/y", frontier, missing
    )
    assert requested_url("http://a.test/x", frontier, missing) != requested_url(
        "http://a.test/x", frontier, other
    )
    assert (
        requested_url("http://a.test/x", frontier, missing)[14:]
        != requested_url("http://b.test/x", frontier, missing)[14:]
    )


@pytest.mark.parametrize("link", [Link("ftp://a.test/x"), Link("http://a.test/x", request="0.x")])
def test_only_what_the_crawl_itself_found_on_the_web_is_followed_by_a_probe(
    frontier, missing, link
):
    """Nothing is asked for beside a spider's own requests."""
    missing.ask(link)

    assert frontier.requested == []


def tried(missing, pages):
    """The probe's answer, and these pages after it."""
    missing.record_probe_answer(
        Link("http://a.test/nowhere", "S"), answer(url="http://a.test/nowhere"), recogniser()
    )
    return [missing.shows(answer(page), recogniser()) for page in pages]


def test_nothing_follows_before_some_pages_were_compared(missing):
    """Nobody knows by then whether the host shows the same for everything."""
    assert not any(tried(missing, [LOST] * 4))


def test_a_host_that_shows_one_page_for_everything_has_no_soft_404s(frontier, missing):
    """If most pages look like the answer, it tells nothing of any."""
    assert not any(tried(missing, [LOST] * 9 + [b"<title>Shoes</title><p>Boots"] * 11))
    assert frontier.shown == {"a.test": b""}
    assert not missing.shows(answer(), recogniser())


def test_a_page_like_the_answer_is_missing(missing):
    """Of this host; any other page is there."""
    tried(missing, [b"<title>Shoes</title><p>Boots"] * 9 + [LOST] * 7)

    assert missing.shows(answer(), recogniser())
    assert not missing.shows(answer(b"<title>Shoes</title><p>Have a look at these"), recogniser())
    assert not missing.shows(answer(url="http://b.test/x"), recogniser())
    assert not missing.shows(answer(status=404), recogniser())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (LOST, 404),
        (LOST, 302),
        (b'<title>Not a bot?</title><script id="anubis_challenge"></script>', 200),
        (b'<div id="root"></div><script src=/app.js></script>', 200),
    ],
)
def test_an_answer_that_is_no_page_teaches_nothing(frontier, missing, body, status):
    """All pages of such a host may look like it."""
    missing.record_probe_answer(
        Link("http://a.test/nowhere", "S"), answer(body, status=status), recogniser()
    )

    assert frontier.shown == {}
