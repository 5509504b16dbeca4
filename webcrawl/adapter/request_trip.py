"""Attaches a trip to one of the scheduler's requests, in its meta."""

from __future__ import annotations

from scrapy import Request

from webcrawl.crawl.trip import Trip

KEY = "webcrawl"  # in request.meta


def attach_trip(request: Request, trip: Trip) -> Request:
    request.meta[KEY] = trip
    trip.owner = id(request)
    return request


def trip_of(request: Request) -> Trip | None:
    """Return the trip that was attached to this very request, or None if none was.

    A request whose meta is a copy of another one's has no trip.
    """
    trip: Trip | None = request.meta.get(KEY)
    # Middlewares and spiders copy a request's meta into requests of their own
    if trip is None or trip.owner != id(request):
        return None
    return trip
