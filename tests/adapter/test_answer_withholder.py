"""Responses that middlewares give in place of a download's."""

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from webcrawl.adapter.answer_withholder import FLAG, AnswerReader, withhold_substitute
from webcrawl.adapter.request_trip import attach_trip
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip

URL = "http://a.test/"


class Forbids:
    """A visitor for which every page is forbidden."""

    def __init__(self):
        self.judged = []

    def withholds(self, link, exchange):
        self.judged.append((link.url, exchange.body))
        exchange.state.notes += ("withheld:header",)
        return True


def given(reader, *, link=None, body=b"secret", flags=(), url=URL):
    """What is left of a response, whether it was judged, and the trip of its request."""
    visitor, request, trip = Forbids(), Request(url), None
    if link is not None:
        trip = Trip(link)
        attach_trip(request, trip)
    response = withhold_substitute(
        visitor, request, Response(url, body=body, flags=list(flags)), reader
    )
    return response, visitor.judged, trip


def test_those_who_read_pages_beside_the_crawl_get_no_body():
    """The flag says why, and the trip has what the log notes."""
    response, _, trip = given(AnswerReader.BOTH, link=Link(URL))

    assert (response.body, response.flags) == (b"", [FLAG])
    assert trip.withheld.state.notes == ("withheld:header",)


@pytest.mark.parametrize("link", [Link(URL), None], ids=["callback", "awaited"])
def test_others_are_refused(link):
    """A callback's errback, and whoever awaits the download."""
    with pytest.raises(IgnoreRequest, match="owner forbids the use of this page"):
        given(AnswerReader.CALLBACKS, link=link)


def test_a_body_that_takes_the_place_of_a_withheld_one():
    """A middleware that fills a withheld response, which keeps its flag, does not get round the
    question.
    """
    response, judged, _ = given(AnswerReader.BOTH, link=Link(URL), flags=[FLAG])

    assert judged == [(URL, b"secret")]
    assert response.body == b""


@pytest.mark.parametrize(
    ("link", "more"),
    [
        (Link(URL), {"body": b"", "flags": [FLAG]}),
        (Link(f"{URL}robots.txt", "P"), {"url": f"{URL}robots.txt"}),
        (None, {"url": "data:,secret"}),
    ],
    ids=["withheld already", "robots.txt", "nobody's"],
)
def test_what_is_not_judged(link, more):
    """What was withheld before, the crawl's own robots.txt, and what has no host."""
    response, judged, _ = given(AnswerReader.BOTH, link=link, **more)

    assert judged == []
    assert response.body == more.get("body", b"secret")


def test_a_url_of_any_length_is_judged():
    """Also one that is longer than a crawl's own may be by default."""
    response, _, _ = given(AnswerReader.BOTH, link=Link(URL), url=URL + "x" * 8000)

    assert response.body == b""
