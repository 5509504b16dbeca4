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

    BOTH = (
        "callbacks of a spider or listeners, and then the crawl, which makes pages of the answers"
    )
    CALLBACKS = "callbacks alone"


class AnswerWithholder:
    """Withholds answers, in a crawl with a purpose, from the code that reads them."""

    def __init__(self, visitor: Visitor, reader: AnswerReader) -> None:
        self._visitor = visitor
        self._reader = reader

    def filter_answer(self, trip: Trip, response: Response) -> Response:
        """Return what the readers may have of a download's answer, as `withhold_answer` does."""
        return withhold_answer(self._visitor, trip, response, self._reader)

    def filter_substitute(self, request: Request, response: Response) -> Response:
        """Return what the readers may have of a middleware's response, as `withhold_substitute` does."""
        return withhold_substitute(self._visitor, request, response, self._reader)


def withhold_answer(
    visitor: Visitor, trip: Trip, response: Response, reader: AnswerReader
) -> Response:
    """Return the response, without its body if the site's owner forbids the use of the page.

    Raise IgnoreRequest instead if no page is made of the answer, because callbacks alone would take
    the empty response for the page. The crawl reads the links of a page from its own copy.
    """
    link = trip.link
    exchange = trip.exchange
    if link is None or exchange is None or trip.is_prerequisite:
        return response
    becomes_page = reader is AnswerReader.BOTH and not trip.inline
    if becomes_page:
        if not visitor.forbids(link, exchange):
            return response
        return response.replace(body=b"", flags=[*response.flags, FLAG])
    # `withholds` counts the answer: no page is made of it that would be counted later
    if visitor.withholds(link, exchange):
        raise _refusal()
    return response


def withhold_substitute(
    visitor: Visitor, request: Request, response: Response, reader: AnswerReader
) -> Response:
    """Return a middleware's response, such as a cached one, without its body if it is forbidden.

    Raise IgnoreRequest instead for callbacks alone, and for code that awaits a download. No page is
    made of such a response, so it is counted and noted here.
    """
    trip = trip_of(request)
    is_withheld_already = FLAG in response.flags and not response.body
    is_for_crawl = trip is not None and trip.is_prerequisite
    if is_withheld_already or is_for_crawl:
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
        # The host has answered as well, and the middleware has replaced that answer
        if trip.exchange is not None:
            trip.exchange.state.notes += exchange.state.notes
    if trip is None or reader is AnswerReader.CALLBACKS:
        raise _refusal()
    return response.replace(body=b"", flags=[*response.flags, FLAG])


def _refusal() -> IgnoreRequest:
    return IgnoreRequest(
        f"{FLAG}: the site's owner forbids the use of this page for every purpose of this crawl"
    )
