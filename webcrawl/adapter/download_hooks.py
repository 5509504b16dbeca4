"""The lists of functions that the downloader calls at the steps of a download."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scrapy import Request
from scrapy.http import Response

from webcrawl.base.model import Link
from webcrawl.crawl.run import OfRequests
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import FetchError


class DownloadHooks:
    """The functions to call at each step of a download, filled when the crawl opens.

    A part of the crawl that is switched off adds nothing, and so costs nothing. `on_unfinished`,
    `readers_ahead` and `on_ended` are called for the scheduler's requests only.
    """

    def __init__(self) -> None:
        # Replaced by the hooks of the run once the crawl is open
        self.requests = OfRequests([], [])
        # A download by one of the crawl's own clients has failed
        self.on_failed: list[Callable[[Link, FetchError], object]] = []
        # The download may be tried again: an error, a truncated body, a 202
        self.on_unfinished: list[Callable[[Trip], object]] = []
        # Read an answer before its page is made, such as the text of a PDF; None: nothing to read
        self.readers_ahead: list[Callable[[Trip], Awaitable[None] | None]] = []
        # Return what the code beyond the crawl may have of an answer
        self.answer_filters: list[Callable[[Trip, Response], Response]] = []
        # The outcome is known, and the spider is called next
        self.on_ended: list[Callable[[Trip], object]] = []
        # As `answer_filters`, for a response that a middleware gives in place of the answer
        self.substitute_filters: list[Callable[[Request, Response], Response]] = []
