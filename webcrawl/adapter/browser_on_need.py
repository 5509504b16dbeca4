"""Renders the pages that need scripts, or each page: RENDER = auto and all (docs/browser.md)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

from webcrawl.adapter.browser import NONE_FLAW, BrowserHandler, answered, can_be_rendered
from webcrawl.adapter.rendering_check import chromium
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Exchange, is_needed
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.crawl_settings import EVERY
from webcrawl.crawl.rendering.deciding import Deciding
from webcrawl.crawl.rendering.places import BrowserPlaces
from webcrawl.crawl.trip import Trip

# times DOWNLOAD_TIMEOUT: scripts and data wait for their host's turns, and a first page has all the
# links
LONGER = 3
# Types that a page needs to be shown, and not to be read: they would wait for turns, too
SHOWN = frozenset(("image", "font"))
PLAYED = frozenset(("media",))


class BrowserOnNeed(BrowserHandler):
    """Download handler for http and https that renders the pages of the crawl, as RENDER says.

    Requests with `playwright` in their meta are rendered anyway, as BrowserHandler does.
    """

    abort_request: Any  # scrapy-playwright's, from PLAYWRIGHT_ABORT_REQUEST

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.config.launch_options.setdefault("executable_path", chromium())
        values = values_of(crawler)
        self._timeout *= LONGER
        self._every = values["RENDER"] == EVERY
        self._unread = _unread(values)
        self.abort_request = self.abort_request or self._is_unread
        most = max(1, int(values["RENDER_SHARE"] * values["CONCURRENT_REQUESTS"]))
        self._places = BrowserPlaces(min(self._most, most), most)

    def _is_unread(self, asked: Any) -> bool:
        """Return whether a browser asks for what has neither text nor links, and need not be shown."""
        return asked.resource_type in self._unread

    @cached_property
    def _deciding(self) -> Deciding:
        deciding = scheduler_of(self._crawler).crawl.parts.rendering
        assert deciding is not None  # noqa: S101 - made with this handler, for the same setting
        return deciding

    async def _rendered(self, request: Request, trip: Trip | None, exchange: Exchange) -> None:
        """Render a page of the crawl itself on need; what others await comes as it was sent."""
        await super()._rendered(request, trip, exchange)
        if exchange.rendered or request.method != "GET" or not can_be_rendered(exchange):
            return
        if request.meta.get("playwright"):
            return
        # Awaited downloads stay as they were sent, and so do those of a page in the browser
        if trip is None or trip.inline or trip.is_prerequisite:
            return
        # A frame that is fetched only to show the page that it is in
        if self._every and trip.link is not None and is_needed(trip.link.path):
            return
        wanted = self._deciding.wanted(exchange)
        if wanted is None:
            return
        answered(trip, exchange)
        if not await self._places.take(wanted.worth):
            why = "the browser is busy with other pages (see RENDER_SHARE)"
            self._flaw(request, exchange, NONE_FLAW, why)
            return
        page = exchange.body
        took = await self._in_place(request, exchange)
        # A page that is the same keeps its own bytes and digest: an archive has a conversion record
        # only where it adds something
        if not self._deciding.learn(wanted, page, exchange, took):
            exchange.body = page
            exchange.rendered = False


def _unread(values: CheckedSettings) -> frozenset[str]:
    """Return the types of resources that no page of this crawl loads in the browser.

    With REQUISITES a script may show images that its document does not name, as in a canvas.
    """
    unread = SHOWN | PLAYED
    if values["RENDER_VIEWS"] or values["REQUISITES"]:
        unread -= SHOWN
    if "play" in (values["RENDER_ACTIONS"] or ()):
        unread -= PLAYED
    return unread
