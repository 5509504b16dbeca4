"""The download handlers: an answer in Scrapy's form."""

import pytest
from scrapy import Request

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
    """A response has what was spoken as `protocol`, in Scrapy's words; None if that is no form of HTTP."""
    assert to_response(found, Request(found.url)).protocol == protocol
