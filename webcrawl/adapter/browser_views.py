"""Screenshots and PDFs of rendered pages, for the archive: RENDER_VIEWS (docs/browser.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from webcrawl.base.model import PageView

VIEW_TIMEOUT = 15.0  # seconds for each view
MAX_VIEW_BYTES = 64 << 20  # a page decides how high it is, and a full picture of it how large


class ViewKind(NamedTuple):
    """One kind of view: what its record's URL begins with, its media type, and how it is made."""

    prefix: str  # as Browsertrix and ArchiveWeb.page have it, so that their viewers find it
    content_type: str
    make: Callable[[Page], Awaitable[bytes]]


VIEWS = {
    "view": ViewKind("urn:view:", "image/png", lambda page: page.screenshot(timeout=0)),
    "fullpage": ViewKind(
        "urn:fullPage:", "image/png", lambda page: page.screenshot(timeout=0, full_page=True)
    ),
    "pdf": ViewKind("urn:pdf:", "application/pdf", lambda page: page.pdf(print_background=True)),
}


async def views_of(page: Page, names: Sequence[str]) -> tuple[tuple[PageView, ...], list[str]]:
    """Return the views of a page, and a line about each that could not be made."""
    views: list[PageView] = []
    failures: list[str] = []
    for name in names:
        kind = VIEWS[name]
        try:
            async with asyncio.timeout(VIEW_TIMEOUT):
                data = await kind.make(page)
        except (PlaywrightError, TimeoutError) as error:
            # A TimeoutError has no text
            failures.append(f"{name}: {str(error) or f'not made within {VIEW_TIMEOUT:.0f} s'}")
            continue
        if len(data) > MAX_VIEW_BYTES:
            failures.append(f"{name}: {len(data)} bytes are more than {MAX_VIEW_BYTES}")
        else:
            views.append(PageView(kind.prefix, kind.content_type, data))
    return tuple(views), failures
