"""One page in a browser: it stays where it is, and gives its document even if it is not done.

The tab that it was in is emptied for the next page of its origin: a new one costs three times as
much as the page.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route
from scrapy import Request
from scrapy.utils.misc import load_object

from webcrawl.base.model import Exchange, PageView

# seconds without a request after which a page has come to rest; Playwright's networkidle has the
# same
REST = 0.5
# Its scripts have nothing to do; a browser that draws nothing may never call a page idle, so a
# second is enough.
IDLE = "() => new Promise(done => requestIdleCallback(() => done(), {timeout: 1000}))"
LEAVING = 1.0  # seconds that a page gets whose script leads elsewhere
PATIENCE = 5.0  # seconds that a page gets to close, or to give its document
# Runs before any script of a page, and clears what `empty` does not reach
AFRESH = "if (top === self) { try { sessionStorage.clear() } catch {} window.name = '' }"


@dataclass(slots=True)
class BrowserTab:
    """A page's place in the browser: a context with a password of its own."""

    password: str
    page: Page
    used: int = 0  # pages that it has shown


@dataclass(slots=True)
class PageRendering:
    """A page that is being rendered."""

    request: Request
    exchange: Exchange
    asked: int = 0
    waiting: int = 0  # requests without an answer
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # set while none is waiting
    page: Page | None = None  # an earlier page's at first, if it has that one's tab
    limit: asyncio.Timeout | None = None  # it ends early if the page wants to go elsewhere
    acted_partly: bool = False  # the time was up before RENDER_ACTIONS had come to an end
    unsent: int = 0  # requests that would have sent data
    views: tuple[PageView, ...] = ()
    unviewed: list[str] = field(default_factory=list)  # why a view could not be made

    def __post_init__(self) -> None:
        self.answered.set()

    def begin(self) -> None:
        """Note that a request of the page begins."""
        self.waiting += 1
        self.answered.clear()

    def end(self) -> None:
        """Note that a request of the page has ended."""
        self.waiting -= 1
        if not self.waiting:
            self.answered.set()


async def prepare(rendering: PageRendering, more: Any, page: Page, request: Request) -> None:
    """Keep a page from leaving, before it is loaded: the document would be another URL's."""

    async def check(route: Route) -> None:
        asked = route.request
        # A frame within the page may navigate
        is_of_page = asked.is_navigation_request() and asked.frame.parent_frame is None
        if is_of_page and differs(asked.url, rendering.request):
            # the page stays; after any other error it would be the browser's own
            await route.abort("aborted")
            _hurry(rendering.limit)
        else:
            await route.fallback()

    if rendering.page is not page:
        rendering.page = page
        await page.add_init_script(AFRESH)
        await page.context.route("**", _refuse)
    # The limit of the whole page decides
    page.set_default_navigation_timeout(0)
    await page.route("**", check)
    if more is not None:
        await load_object(more)(page, request)


async def _refuse(route: Route) -> None:
    """Refuse the request of a pop-up: those of the page itself have a route of their own."""
    await route.abort("blockedbyclient")


async def rest(rendering: PageRendering, page: Page) -> None:
    """Wait until nothing has been requested for a while, which may be long after `load`.

    Requests that wait for their host's turn keep it from resting, and the limit is what ends one
    that never rests.
    """
    # At `load`, scripts have not yet got what they fetch: of a site made by fetch(), one page of 51
    # had its text
    while True:
        await rendering.answered.wait()
        asked = rendering.asked
        await page.evaluate(IDLE)
        await asyncio.sleep(REST)
        if asked == rendering.asked and rendering.answered.is_set():
            return


async def empty(page: Page) -> None:
    """End a page's scripts, and drop what they stored. Raise PlaywrightError or TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        await page.goto("about:blank")
        session = await page.context.new_cdp_session(page)
        await session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        await session.detach()


def differs(url: str, request: Request) -> bool:
    """Return whether this is another page than the request's."""
    return url.partition("#")[0] != request.url.partition("#")[0]


def _hurry(limit: asyncio.Timeout | None) -> None:
    """Shorten the wait for a page that was about to leave: it never finishes loading."""
    if limit is None or limit.expired():
        return
    soon = asyncio.get_running_loop().time() + LEAVING
    when = limit.when()
    if when is not None and soon < when:
        limit.reschedule(soon)


async def so_far(page: Page | None) -> str:
    """Return the document of an unfinished page; empty if there is none, or no way to get it."""
    if page is None or page.is_closed():
        return ""
    try:
        async with asyncio.timeout(PATIENCE):
            return str(await page.content())
    except (PlaywrightError, TimeoutError):
        # A script that never ends keeps the browser from answering; the page stays as it was sent
        return ""
