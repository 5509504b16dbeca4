"""The download handlers: an answer in Scrapy's form."""

import gzip

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response

from tests.support.warc_crawl import exchange
from webcrawl.adapter.handlers import to_response

URL = "http://a.test/"


@pytest.mark.parametrize(
    ("found", "protocol"),
    [
        (exchange(URL), "HTTP/1.1"),
        (exchange(URL, head=b"HTTP/1.0 200 OK\r\n\r\n"), "HTTP/1.0"),
        (exchange(URL, protocol="h2"), "h2"),
        (exchange("ftp://a.test/", head=b""), None),
    ],
)
def test_what_was_spoken(found, protocol):
    """A response has what was spoken as `protocol`, in Scrapy's words; None if that is no form of
    HTTP.
    """
    assert to_response(found, Request(found.url)).protocol == protocol


@pytest.mark.parametrize(
    "body",
    [
        b'<html lang="en"><p>',
        b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><p>',
        b"<p><svg><?xml?></svg>",
    ],
)
def test_the_class_of_a_page_that_was_coded(body):
    """The content type decides, not what the body looks like: of no other class does a CrawlSpider
    follow links.
    """
    headers = [(b"Content-Type", b"text/html"), (b"Content-Encoding", b"gzip"), (b"X-A", b"b")]
    found = exchange(URL, body, payload=gzip.compress(body), headers=headers)
    response = to_response(found, Request(URL))

    assert (type(response), response.body) == (HtmlResponse, body)
    assert response.headers.to_unicode_dict() == {"Content-Type": "text/html", "X-A": "b"}


def test_a_body_in_a_coding_that_nobody_knows():
    """It is as it came, and the header says so."""
    found = exchange(
        URL, b"\0\1", headers=[(b"Content-Type", b"text/html"), (b"Content-Encoding", b"no-such")]
    )
    response = to_response(found, Request(URL))

    assert (type(response), response.headers["Content-Encoding"]) == (Response, b"no-such")
