"""robots.txt as a Scrapy request of the scheduler's own, whatever the spider is."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from webcrawl.adapter.request_links import cookie_headers, stored_meta
from webcrawl.adapter.request_trip import KEY, attach_trip
from webcrawl.content.page import Page
from webcrawl.crawl.fetching import OF_ROBOTS
from webcrawl.crawl.robots_hearing import RobotsHearing
from webcrawl.crawl.trip import Trip

OWN_META = {"dont_redirect": True, "dont_cache": True, "handle_httpstatus_all": True, **OF_ROBOTS}
# Taken over from the request that needs the rules: there may be no other route to the host
ROUTE_KEYS = frozenset(("proxy", "bindaddress"))


class RobotsRequests(RobotsHearing):
    """Makes the crawl's own requests for Scrapy's engine, and takes their answers."""

    def request(self, url: str, trip: Trip) -> Request:
        """Return the request of a robots.txt or a probe. Its answer does not reach the spider."""
        meta: dict[str, Any] = {**OWN_META, "verbatim_url": True}
        headers: dict[Any, bytes] = {}
        link = trip.link
        if link is not None:
            if link.request:
                meta |= {
                    key: value for key, value in stored_meta(link).items() if key in ROUTE_KEYS
                }
            headers = {**(cookie_headers(link) or {}), **dict(self.conditions(link))}
        request = Request(
            url,
            headers=headers,
            callback=self.on_response,
            errback=self.failed,
            dont_filter=True,
            meta=meta,
        )
        return attach_trip(request, trip)

    def on_response(self, response: Response) -> list[Page]:
        """Return the page of the answer. The callback of these requests."""
        return self.pages_of(response.meta[KEY], response)

    def failed(self, failure: Failure) -> None:
        """Note that there is no answer. The errback of these requests."""
        self.end(failure.request.meta[KEY])  # type: ignore[attr-defined] # Scrapy sets it
