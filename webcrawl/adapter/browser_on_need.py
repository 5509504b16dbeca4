"""Renders the pages that need scripts, or each page: RENDER = auto and all (docs/browser.md)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

from webcrawl.adapter.browser import NONE_FLAW, BrowserHandler, can_be_rendered, note_answered
from webcrawl.adapter.rendering_check import chromium
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Exchange, is_needed
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.crawl_settings import EVERY
from webcrawl.crawl.rendering.deciding import Deciding
from webcrawl.crawl.rendering.places import BrowserPlaces
from webcrawl.crawl.trip import Trip

# A page has this many times DOWNLOAD_TIMEOUT: its scripts and data wait for their hosts' turns, and
# a first page loses all its links if it runs out of time
TIMEOUT_FACTOR = 3
# Types of resources that a page needs to be seen, but not to be read. Each would wait for its turn.
SHOWN_TYPES = frozenset(("image", "font"))
PLAYED_TYPES = frozenset(("media",))


class BrowserOnNeed(BrowserHandler):
    """Download handler for http and https that renders the pages of the crawl, as RENDER says.

    Requests with `playwright` in their meta are rendered anyway, as BrowserHandler does.
    """

    abort_request: Any  # scrapy-playwright's, from PLAYWRIGHT_ABORT_REQUEST

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.config.launch_options.setdefault("executable_path", chromium())
        values = values_of(crawler)
        self._timeout *= TIMEOUT_FACTOR
        self._every = values["RENDER"] == EVERY
        self._unneeded_types = _unneeded_types(values)
        self.abort_request = self.abort_request or self._is_unneeded
        max_pages = max(1, int(values["RENDER_SHARE"] * values["CONCURRENT_REQUESTS"]))
        self._places = BrowserPlaces(min(self._max_pages, max_pages), max_pages)

    def _is_unneeded(self, browser_request: Any) -> bool:
        """Return whether the page can do without what its browser requests: no text, no links."""
        return browser_request.resource_type in self._unneeded_types

    @cached_property
    def _deciding(self) -> Deciding:
        deciding = scheduler_of(self._crawler).crawl.parts.rendering
        assert deciding is not None  # noqa: S101 - made with this handler, for the same setting
        return deciding

    async def _render_if_wanted(
        self, request: Request, trip: Trip | None, exchange: Exchange
    ) -> None:
        """Make the answer's body the browser's document if the page needs scripts, or RENDER = all.

        Only pages of the crawl itself are rendered here; what code awaits stays as it was sent.
        """
        await super()._render_if_wanted(request, trip, exchange)
        if exchange.rendered or not self._may_render(request, trip, exchange):
            return
        wanted = self._deciding.wanted(exchange)
        if wanted is None:
            return
        note_answered(trip, exchange)
        if not await self._places.wait_for_place(wanted.worth):
            reason = "the browser is busy with other pages (see RENDER_SHARE)"
            self._note_flaw(request, exchange, NONE_FLAW, reason)
            return
        body_as_sent = exchange.body
        milliseconds = await self._render_in_place(request, exchange)
        # A page that rendering has not changed keeps its bytes and digest: an archive has a
        # conversion record only where it adds something
        if not self._deciding.record_rendering(wanted, body_as_sent, exchange, milliseconds):
            exchange.body = body_as_sent
            exchange.rendered = False

    def _may_render(self, request: Request, trip: Trip | None, exchange: Exchange) -> bool:
        """Return whether the answer is a page of the crawl itself that a browser can show."""
        if request.method != "GET" or not can_be_rendered(exchange):
            return False
        # BrowserHandler has tried these
        if request.meta.get("playwright"):
            return False
        # Downloads that code or a page in the browser awaits stay as they were sent
        if trip is None or trip.inline or trip.is_prerequisite:
            return False
        # A frame that is fetched only to show the page around it
        is_frame = trip.link is not None and is_needed(trip.link.path)
        return not (self._every and is_frame)


def _unneeded_types(values: CheckedSettings) -> frozenset[str]:
    """Return the types of resources that no page of this crawl loads in the browser.

    With REQUISITES images are loaded, because a script may show some that its document does not
    name, as in a canvas.
    """
    unread = SHOWN_TYPES | PLAYED_TYPES
    if values["RENDER_VIEWS"] or values["REQUISITES"]:
        unread -= SHOWN_TYPES
    if "play" in (values["RENDER_ACTIONS"] or ()):
        unread -= PLAYED_TYPES
    return unread
