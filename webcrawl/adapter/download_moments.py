"""The moments of a download, and who takes part: lists that are made when the crawl is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scrapy import Request
from scrapy.http import Response

from webcrawl.base.model import Link
from webcrawl.crawl.run import OfRequests
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import FetchError


class DownloadMoments:
    """A part that is off is in no list.

    `unfinished`, `ahead` and `ended` are about the scheduler's requests.
    """

    def __init__(self) -> None:
        self.requests = OfRequests([], [])  # until the crawl is open: then its run's
        # by one of the crawl's own clients
        self.failed: list[Callable[[Link, FetchError], object]] = []
        # it may be tried again: an error, a cut body, a 202
        self.unfinished: list[Callable[[Trip], object]] = []
        # what is done with an answer first
        self.ahead: list[Callable[[Trip], Awaitable[None] | None]] = []
        # before anybody gets it: what they may have of it
        self.judge: list[Callable[[Trip, Response], Response]] = []
        self.ended: list[Callable[[Trip], object]] = []  # its outcome is known; the spider is next
        # a middleware has answered in its place
        self.given: list[Callable[[Request, Response], Response]] = []
