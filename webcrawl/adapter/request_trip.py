"""How a trip travels with one of the scheduler's requests."""

from __future__ import annotations

from scrapy import Request

from webcrawl.crawl.trip import Trip

KEY = "webcrawl"  # in request.meta


def attach_trip(request: Request, trip: Trip) -> Request:
    """Give the request this trip, and return it."""
    request.meta[KEY] = trip
    trip.owner = id(request)
    return request


def trip_of(request: Request) -> Trip | None:
    """Return the trip of a scheduler's request; None if it bypassed it, whatever meta it copied."""
    trip: Trip | None = request.meta.get(KEY)
    # Middlewares and spiders copy a request's meta into requests of their own
    return trip if trip is not None and trip.owner == id(request) else None
