"""One page in a browser: it stays where it is, and gives its document even if it is not done."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Route
from scrapy import Request
from scrapy.utils.misc import load_object

from webcrawl.base.model import Exchange

LEAVING = 1.0  # seconds that a page gets whose script leads elsewhere
PATIENCE = 5.0  # seconds that a page gets to close, or to give its document


@dataclass(slots=True)
class Rendering:
    """A page that is being rendered."""

    request: Request
    exchange: Exchange
    asked: int = 0
    page: Page | None = None
    limit: asyncio.Timeout | None = None  # it ends early if the page wants to go elsewhere


async def prepare(rendering: Rendering, more: Any, page: Page, request: Request) -> None:
    """Before a page is loaded: no script may lead it elsewhere, or the document would be another URL's."""

    async def check(route: Route) -> None:
        asked = route.request
        if asked.is_navigation_request() and asked.frame.parent_frame is None and differs(asked.url, rendering.request):
            await route.abort("aborted")  # the page stays; after any other error it would be the browser's own
            _hurry(rendering.limit)
        else:
            await route.fallback()

    rendering.page = page
    page.set_default_navigation_timeout(0)  # the limit decides
    await page.route("**", check)
    if more is not None:
        await load_object(more)(page, request)


def differs(url: str, request: Request) -> bool:
    """Return whether this is another page than the request's."""
    return url.partition("#")[0] != request.url.partition("#")[0]


def _hurry(limit: asyncio.Timeout | None) -> None:
    """A page that was about to leave never finishes loading."""
    soon = asyncio.get_running_loop().time() + LEAVING
    when = limit.when() if limit is not None else None
    if limit is not None and when is not None and soon < when and not limit.expired():
        limit.reschedule(soon)


async def so_far(page: Page | None) -> str:
    """The document of a page that is not done; empty if there is none, or no way to get it."""
    if page is None or page.is_closed():
        return ""
    try:
        async with asyncio.timeout(PATIENCE):
            return str(await page.content())
    except (PlaywrightError, TimeoutError):
        return ""
