"""Answers of middlewares that are still compressed, as those of a cache that Scrapy itself has
filled.
"""

import gzip
import zlib

import brotli
import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from webcrawl.adapter.cached_responses import decoded

URL = "http://a.test/x"
TEXT = b"<!DOCTYPE html><title>t</title><p>" + b"some words " * 50
CODED = {"gzip": gzip.compress(TEXT), "br": brotli.compress(TEXT), "deflate": zlib.compress(TEXT)}


def response(body, coding, **more):
    headers = {"Content-Type": "text/html", "Content-Encoding": coding, "X-A": "b"}
    return Response(URL, headers=headers, body=body, flags=["cached"], **more)


class TestDecoded:
    @pytest.mark.parametrize("coding", CODED)
    def test_a_coded_body(self, coding):
        """It is decoded, is HTML by its type, and says no more how it was coded."""
        found = decoded(response(CODED[coding], coding), 1 << 20)

        assert (type(found), found.body, found.flags) == (HtmlResponse, TEXT, ["cached"])
        assert found.headers.to_unicode_dict() == {"Content-Type": "text/html", "X-A": "b"}

    def test_what_was_taken_for_a_text(self):
        """What the body is now decides, whatever class the response had while nobody knew what was
        in it.
        """
        image = b"\x89PNG\r\n\x1a\n" + bytes(20)
        headers = {"Content-Type": "image/png", "Content-Encoding": "gzip"}
        found = decoded(TextResponse(URL, headers=headers, body=gzip.compress(image)), 1000)

        assert (type(found), found.body) == (Response, image)

    @pytest.mark.parametrize("coding", [*CODED, "zstd", "gzip, br", "identity", "no-such", ""])
    def test_a_body_that_is_decoded_already(self, coding):
        """It stays as it is, for the crawl's own clients decode and leave the header."""
        given = response(TEXT, coding)

        assert decoded(given, 1 << 20) is given

    def test_what_has_no_end(self):
        """Of a gzip stream that breaks off there is what could be decoded: it is not handed out as
        it came.
        """
        found = decoded(response(gzip.compress(TEXT, 0)[:200], "gzip"), 1 << 20)

        assert found.body
        assert TEXT.startswith(found.body)

    def test_no_more_is_decoded_than_the_crawl_takes(self):
        """No more is decoded than the crawl takes of any body, and the response says that it is
        truncated.
        """
        found = decoded(response(gzip.compress(bytes(10 << 20)), "gzip"), 1000)

        assert (len(found.body), found.flags) == (1000, ["cached", "truncated/length"])

    @pytest.mark.parametrize("given", [Response(URL, body=CODED["gzip"]), response(b"", "gzip")])
    def test_nothing_to_decode(self, given):
        """Without a coding, or without a body, nothing changes."""
        assert decoded(given, 1000) is given
