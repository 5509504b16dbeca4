"""One page in a browser: kept at its URL, waited for, and read even if it never finishes.

Its tab is emptied for the next page of its origin, because a new tab costs three times as much as a
page.
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
IDLE_SECONDS = 0.5
# Its scripts have nothing to do; a browser that draws nothing may never call a page idle, so a
# second is enough.
WAIT_FOR_IDLE = "() => new Promise(done => requestIdleCallback(() => done(), {timeout: 1000}))"
LEAVING_SECONDS = 1.0  # seconds that a page gets whose script leads elsewhere
CLOSING_TIMEOUT = 5.0  # seconds that a page gets to close, or to give its document
# Writes the base URL of a page's links into its document
WRITE_BASE_URL = """() => {
    const base = document.querySelector('base[href]') ?? document.createElement('base')
    base.href = document.baseURI
    if (!base.isConnected) document.head?.prepend(base)
}"""
# Runs before any script of a page, and clears what `empty_tab` does not reach
CLEAR_SESSION = "if (top === self) { try { sessionStorage.clear() } catch {} window.name = '' }"


@dataclass(slots=True)
class BrowserTab:
    """A browser context with one page, and with a proxy password of its own."""

    password: str
    page: Page
    pages_shown: int = 0  # pages that it has shown


@dataclass(slots=True)
class PageRendering:
    """A page that is being rendered."""

    request: Request
    exchange: Exchange
    url: str = ""  # as the browser writes it, which escapes | in a path
    requests_made: int = 0
    waiting: int = 0  # requests without an answer
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # set while none is waiting
    page: Page | None = None  # at first the earlier page of the tab, if the tab is not new
    limit: asyncio.Timeout | None = None  # shortened if the page wants to go elsewhere
    acted_partly: bool = False  # the time was up before RENDER_ACTIONS were done
    unsent: int = 0  # requests that would have sent data
    document: str = ""  # once the page is done
    views: tuple[PageView, ...] = ()
    unviewed: list[str] = field(default_factory=list)  # why a view could not be made

    def __post_init__(self) -> None:
        self.url = self.request.url
        self.answered.set()

    def begin_request(self) -> None:
        self.waiting += 1
        self.answered.clear()

    def end_request(self) -> None:
        self.waiting -= 1
        if not self.waiting:
            self.answered.set()


async def prepare(rendering: PageRendering, more: Any, page: Page, request: Request) -> None:
    """Set a page up before it is loaded, so that it cannot leave for another URL.

    Its document would otherwise be that of the other URL. The first navigation is ours. `more` is
    the user's own `playwright_page_init_callback`, a function or its path; it is called last.
    """
    is_loaded = False

    async def keep_at_url(route: Route) -> None:
        """Abort a request by which the page itself, and not one of its frames, would leave."""
        nonlocal is_loaded
        sent = route.request
        navigates_page = sent.is_navigation_request() and sent.frame.parent_frame is None
        if navigates_page and not is_loaded:
            rendering.url = sent.url
            is_loaded = True
        if navigates_page and is_other_page(sent.url, rendering.url):
            # After any other error than this one the browser would show an error page of its own
            await route.abort("aborted")
            _shorten_limit(rendering.limit)
        else:
            await route.fallback()

    if rendering.page is not page:
        rendering.page = page
        await page.add_init_script(CLEAR_SESSION)
        await page.context.route("**", _refuse_popup)
    # The limit of the whole page counts instead
    page.set_default_navigation_timeout(0)
    await page.route("**", keep_at_url)
    if more is not None:
        await load_object(more)(page, request)


async def _refuse_popup(route: Route) -> None:
    """Refuse the request of a pop-up. The page itself has a route of its own, which comes first."""
    await route.abort("blockedbyclient")


async def wait_until_idle(rendering: PageRendering, page: Page) -> None:
    """Wait until a page has requested nothing for IDLE_SECONDS, which may be long after `load`.

    A request that waits for its host's turn counts as requested. The limit of the rendering ends
    the wait for a page that is never idle.
    """
    # At `load`, scripts have not yet got what they fetch: on a site made by fetch(), one page of 51
    # had its text then
    while True:
        await rendering.answered.wait()
        requests_before = rendering.requests_made
        await page.evaluate(WAIT_FOR_IDLE)
        await asyncio.sleep(IDLE_SECONDS)
        if requests_before == rendering.requests_made and rendering.answered.is_set():
            return


async def keep_document(rendering: PageRendering, page: Page) -> None:
    """Take the document of a page that is done. Raise PlaywrightError if it has none."""
    rendering.document = await document_of_page(page, rendering.url)


async def empty_tab(page: Page) -> None:
    """End the scripts of a page, and drop what they have stored.

    Raise PlaywrightError or TimeoutError if the tab cannot be emptied.
    """
    async with asyncio.timeout(CLOSING_TIMEOUT):
        await page.goto("about:blank")
        session = await page.context.new_cdp_session(page)
        await session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        await session.detach()


async def document_of_page(page: Page, url: str) -> str:
    """Return the document of a page; `url` is where it was loaded from.

    Raise PlaywrightError for an empty document and the browser's error page: a page that was not
    loaded leaves one of them, and scripts may lead to the former.
    """
    if is_other_page(page.url, url):
        # A script has changed the page's URL by history.pushState, and with it where links lead
        await page.evaluate(WRITE_BASE_URL)
    document = str(await page.content())
    # Not before, because a script may just be leaving
    if not page.url.startswith(("http://", "https://")):
        raise PlaywrightError(f"the browser shows {page.url[:100]}")
    return document


def is_other_page(url: str, page_url: str) -> bool:
    """Return whether a URL is another page's, whatever the fragments."""
    return url.partition("#")[0] != page_url.partition("#")[0]


def _shorten_limit(limit: asyncio.Timeout | None) -> None:
    """Shorten the time limit of a page that wanted to leave, because it never finishes loading."""
    if limit is None or limit.expired():
        return
    soon = asyncio.get_running_loop().time() + LEAVING_SECONDS
    when = limit.when()
    if when is not None and soon < when:
        limit.reschedule(soon)


async def unfinished_document(rendering: PageRendering) -> str:
    """Return the document of an unfinished page, empty if there is none or it cannot be had."""
    page = rendering.page
    if page is None or page.is_closed():
        return ""
    try:
        async with asyncio.timeout(CLOSING_TIMEOUT):
            return await document_of_page(page, rendering.url)
    except (PlaywrightError, TimeoutError):
        # A script that never ends keeps the browser from answering
        return ""
