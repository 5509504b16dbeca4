"""Tells somebody when a client is about to send a request: it has its connection then."""

from __future__ import annotations

from collections.abc import Callable

from scrapy import Request

from webcrawl.adapter.trip import Trip
from webcrawl.model import Timings
from webcrawl.net.protocols import Source


class Sending:
    """A Watch in place of a request's trip, made only where somebody wants to know."""

    __slots__ = ("_asked", "_source", "_tell", "_trip")

    def __init__(self, request: Request, trip: Trip | None, tell: Callable[[Request, Trip | None], None]) -> None:
        self._asked, self._trip, self._tell = request, trip, tell
        self._source: Source | None = None

    @property
    def spare(self) -> bool:
        return self._trip is not None and self._trip.spare

    @property
    def source(self) -> Source | None:
        return self._source

    @source.setter
    def source(self, source: Source | None) -> None:
        if self._source is None:
            self._tell(self._asked, self._trip)
        self._source = source
        if self._trip is not None:
            self._trip.source = source

    @property
    def timings(self) -> Timings | None:
        return self._trip.timings if self._trip is not None else None

    @timings.setter
    def timings(self, timings: Timings | None) -> None:
        if self._trip is not None:
            self._trip.timings = timings
