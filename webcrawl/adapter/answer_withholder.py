"""Hides answers whose owner forbids their use from all but the crawl (docs/robots-and-preferences.md)."""

from __future__ import annotations

from enum import Enum

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from webcrawl.adapter.page_without_crawl import exchange_of
from webcrawl.adapter.request_trip import trip_of
from webcrawl.base.model import Link
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.urls.canonical import InvalidUrl, canonical

FLAG = "withheld"  # of a response


class AnswerReader(Enum):
    """The code that processes the answers to the scheduler's requests."""

    BOTH = "callbacks of a spider, or others who may look at them, and then the crawl, which makes pages of them"
    CALLBACKS = "callbacks alone"


class AnswerWithholder:
    """Withholds answers, in a crawl with a purpose, from the code that reads them."""

    def __init__(self, visitor: Visitor, reader: AnswerReader) -> None:
        self._visitor = visitor
        self._reader = reader

    def answer(self, trip: Trip, response: Response) -> Response:
        """Return what others may have of a download's answer."""
        return withheld(self._visitor, trip, response, self._reader)

    def given(self, request: Request, response: Response) -> Response:
        """Return what others may have of what a middleware gives in place of an answer."""
        return withheld_given(self._visitor, request, response, self._reader)


def withheld(visitor: Visitor, trip: Trip, response: Response, reader: AnswerReader) -> Response:
    """Return the response for callbacks and those that await it, without a body.

    Raise IgnoreRequest for those who would take an empty page for the page. Of a WebSpider's
    callbacks the page is made all the same, for the sake of its links.
    """
    link = trip.link
    exchange = trip.exchange
    if link is None or exchange is None or trip.is_prerequisite:
        return response
    is_made_a_page = reader is AnswerReader.BOTH and not trip.inline
    if is_made_a_page:
        if not visitor.forbids(link, exchange):
            return response
        return response.replace(body=b"", flags=[*response.flags, FLAG])
    # Counted here, because no page is made of it
    if visitor.withholds(link, exchange):
        raise _refused()
    return response


def withheld_given(
    visitor: Visitor, request: Request, response: Response, reader: AnswerReader
) -> Response:
    """Hide a response that a middleware gives in place of the download's, as from a cache.

    No page is made of it, so it is counted and noted here.
    """
    trip = trip_of(request)
    is_hidden = FLAG in response.flags and not response.body
    is_for_crawl = trip is not None and trip.is_prerequisite
    if is_hidden or is_for_crawl:
        return response
    try:
        exchange = exchange_of(response)
        if not visitor.withholds(Link(canonical(request.url)), exchange):
            return response
    except InvalidUrl:
        # A URL such as `data:` has no owner
        return response
    if trip is not None:
        trip.withheld = exchange
        # the host was asked, and its answer was not what the middleware gives
        if trip.exchange is not None:
            trip.exchange.state.notes += exchange.state.notes
    if trip is None or reader is AnswerReader.CALLBACKS:
        raise _refused()
    return response.replace(body=b"", flags=[*response.flags, FLAG])


def _refused() -> IgnoreRequest:
    return IgnoreRequest(
        f"{FLAG}: the site's owner forbids the use of this page for every purpose of this crawl"
    )
