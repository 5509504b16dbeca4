"""What an entry in a list of seeds means, as users of scrapy-redis know it."""

import json

import pytest
from scrapy import Request, Spider

from webcrawl.adapter.extensions.redis_seeds import START, SeedEntries
from webcrawl.adapter.request_trip import KEY
from webcrawl.base.model import Link
from webcrawl.urls.seeds.seed_source import BadLineError


def meaning(data, spider=None, encoding="utf-8"):
    """What one entry makes."""
    return list(SeedEntries(spider or Spider("test"), encoding, 2000).read(data))


@pytest.mark.parametrize(
    ("data", "url"),
    [
        (b"http://example.com/a", "http://example.com/a"),
        (b" HTTP://Example.com \n", "http://example.com/"),
        (b"example.com", "http://example.com/"),
        (b'{"url": "http://example.com/a"}', "http://example.com/a"),
        (b'{"url": "example.com", "method": "get", "meta": {}}', "http://example.com/"),
        ("http://bücher.example/ü".encode(), "http://xn--bcher-kva.example/%C3%BC"),
    ],
)
def test_a_plain_url(data, url):
    """A URL, a domain, or JSON with nothing else, is a seed like one of a list."""
    assert meaning(data) == [Link(url, seed=url)]


def test_another_encoding():
    """REDIS_ENCODING says how entries are encoded."""
    assert (
        meaning("http://a.example/ü".encode("latin-1"), encoding="latin-1")[0].url
        == "http://a.example/%C3%BC"
    )


def test_a_form():
    """Fields that are no part of a request are those of a form."""
    (request,) = meaning(
        b'{"url": "http://a.example/", "method": "post", "meta": {"job": 7}, "q": "x y", "n": [1, 2]}'
    )
    assert (request.method, request.url, request.body) == (
        "POST",
        "http://a.example/",
        b"q=x+y&n=1&n=2",
    )
    assert request.meta == {"job": 7, START: True}


def test_a_form_in_the_url():
    """Without a method they go into the URL."""
    (request,) = meaning(b'{"url": "http://a.example/", "q": "x"}')
    assert (request.method, request.url, request.body) == ("GET", "http://a.example/?q=x", b"")


def test_our_own_meta():
    """Nobody outside can give a request what only the scheduler gives."""
    (request,) = meaning(f'{{"url": "http://a.example/", "meta": {{"{KEY}": 1, "a": 1}}}}'.encode())
    assert request.meta == {"a": 1, START: True}


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"no url",
            b"12",
            b"mailto:a@example.com",
            b"\xff\xfe",
            b"{",
            b"{}",
            b'{"url": 1}',
            b'{"url": ""}',
        ),
        *(
            b'{"url": "http://a.example/", "meta": 1}',
            b'{"url": "http://a.example/", "meta": [1]}',
            b"[" * 100_000,
        ),
        *(b'{"a":' * 100_000, b"http://a.example/" + b"a" * 3000, b'["http://a.example/"]'),
    ],
)
def test_what_is_no_seed(data):
    """It is told why, in one line."""
    with pytest.raises(BadLineError) as error:
        meaning(data)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "meta",
    [
        *(
            {"proxy": "http://127.0.0.1:1"},
            {"bindaddress": "127.0.0.2"},
            {"depth": 10**9},
            {"webcrawl_private": True},
        ),
        *(
            {"playwright": True, "playwright_page_init_callback": "os.system"},
            {"download_timeout": "soon"},
        ),
    ],
)
def test_meta_that_is_refused(meta):
    """A seed does not say where a connection goes, what is loaded, or what the crawl itself notes;
    it is told which.
    """
    with pytest.raises(BadLineError, match=f"is refused: meta {[*meta][-1]}: "):
        meaning(json.dumps({"url": "http://a.example/", "meta": meta}).encode())


def test_methods():
    """A method is one word, not the beginning of a request."""
    with pytest.raises(BadLineError, match="invalid HTTP method: GET / "):
        meaning(
            json.dumps(
                {"url": "http://a.example/", "method": "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET"}
            ).encode()
        )


class Own(Spider):
    name = "own"

    def make_request_from_data(self, data):
        return {
            b"one": Request("http://one/"),
            b"many": [Request("http://a/"), Request("http://b/")],
        }.get(data)


def test_a_spider_that_makes_requests_itself():
    """One, several or none; they pass the seen test, for they may come twice."""
    assert [one.url for one in meaning(b"one", Own())] == ["http://one/"]
    assert [one.url for one in meaning(b"many", Own())] == ["http://a/", "http://b/"]
    assert all(one.meta[START] for one in meaning(b"many", Own()))
    with pytest.raises(BadLineError, match="makes no request"):
        meaning(b"none", Own())


@pytest.mark.parametrize("method", ["GET\n2026-11-24 INFO: forged", "GET\x1b[2J"])
def test_why_an_entry_is_bad_is_one_harmless_line(method):
    """What an entry holds begins no line of the log, and moves no terminal."""
    with pytest.raises(BadLineError) as raised:
        meaning(json.dumps({"url": "http://a.example/", "method": method}).encode())

    assert str(raised.value).isprintable()
