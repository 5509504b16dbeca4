"""Shows the pages of a WACZ package in a browser, and compares them with what was to be seen.

The browser that replays has no network: each request is answered from the package, and what is not
in it is missing. A page is compared with what the crawl's own browser has archived of it, or with
the live page.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from playwright.async_api import Browser, BrowserContext, Playwright, Route, async_playwright
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from webcrawl.adapter.browser_actions import ACTIONS, MAX_ROUNDS, TO_TOP
from webcrawl.adapter.rendering_check import BROWSER_NAMES, CONTAINING_ARGUMENTS, chromium
from webcrawl.base.model import Exchange
from webcrawl.content.html.shown_text import visible_text
from webcrawl.record.packaged_answers import ListedPage, NotReplayable, PackagedAnswers

LOADING = 30_000  # milliseconds for a page to load, and again to come to rest
RESTING = 0.5  # seconds after an action
LONGEST = 120.0  # seconds for a page and its actions: a script may never give way
CLOSING = 5.0  # seconds
NOWHERE = "http://127.0.0.1:9"  # the proxy of a browser without a network: no request reaches it
NOT_SENT = frozenset((b"content-encoding", b"content-length", b"transfer-encoding"))
# The share of pixels that are about the same; 0 for pictures of another size.
PIXELS = """async pictures => {
    const read = async data => {
        const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0))
        const image = await createImageBitmap(new Blob([bytes]))
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
        context.drawImage(image, 0, 0)
        return context.getImageData(0, 0, image.width, image.height)
    }
    const [one, other] = await Promise.all(pictures.map(read))
    if (one.width !== other.width || one.height !== other.height) return 0
    let same = 0
    for (let at = 0; at < one.data.length; at += 4) {
        same += [0, 1, 2].every(color => Math.abs(one.data[at + color] - other.data[at + color]) <= 32)
    }
    return same / (one.width * one.height)
}"""


class ShownPage(NamedTuple):
    """A page as a browser shows it; what is not known is empty."""

    document: bytes = b""  # in UTF-8
    screenshot: bytes = b""  # PNG


@dataclass(slots=True)
class ReplayComparison:
    """A page's replay beside what was to be seen: shares from 0 to 1, None where nothing is known."""

    url: str
    stamp: str
    text: float | None = None  # of the words, as often as each is there
    screenshot: float | None = None  # of the pixels
    resources: float = 1.0  # of the requests, those that the package answers
    missing: list[str] = field(default_factory=list)
    error: str = ""  # why there is no replay, or nothing to compare it with

    def differs(self, least: float) -> bool:
        """Return whether one of the shares is less than this, or the page cannot be shown."""
        if self.error:
            return True
        shares = (self.text, self.screenshot, self.resources)
        return any(share is not None and share < least for share in shares)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def compared(
    package: PackagedAnswers, actions: Sequence[str], *, live: bool
) -> AsyncIterator[ReplayComparison]:
    """Yield each page of the package, compared.

    Raise NotReplayable if there is no browser, PlaywrightError if it does not start.
    """
    if chromium() is None:
        raise NotReplayable(f"there is no browser: none of {', '.join(BROWSER_NAMES)} is on PATH")
    async with (
        async_playwright() as playwright,
        _browser(playwright, *CONTAINING_ARGUMENTS) as replaying,
    ):
        if not live:
            for page in package.pages:
                seen = ShownPage(package.document(page), package.view(page))
                yield await _compared(package, page, replaying, seen, actions)
            return
        async with _browser(playwright) as browser:
            for page in package.pages:
                try:
                    async with _context(browser) as context:
                        seen = await _shown(context, page.url, actions)
                except (PlaywrightError, TimeoutError) as error:
                    why = f"the live page cannot be shown: {_first_line(error)}"
                    yield ReplayComparison(page.url, page.stamp, error=why)
                else:
                    yield await _compared(package, page, replaying, seen, actions)


async def _compared(
    package: PackagedAnswers,
    page: ListedPage,
    browser: Browser,
    seen: ShownPage,
    actions: Sequence[str],
) -> ReplayComparison:
    found = ReplayComparison(page.url, page.stamp)
    asked = 0

    async def answer(route: Route) -> None:
        nonlocal asked
        url = route.request.url.partition("#")[0]
        archived = None
        # No archive has what other methods would send
        if route.request.method == "GET":
            asked += 1
            archived = package.answer(url, page.stamp)
            if archived is None:
                found.missing.append(url)
        # The page may be closed by now
        with suppress(PlaywrightError):
            if archived is None:
                await route.abort()
            else:
                head = _headers(archived)
                await route.fulfill(status=archived.status, headers=head, body=archived.body)

    try:
        async with _context(browser) as context:
            await context.route("**/*", answer)
            replayed = await _shown(context, page.url, actions)
            if seen.screenshot:
                found.screenshot = await _pixels(context, seen.screenshot, replayed.screenshot)
    except (PlaywrightError, TimeoutError) as error:
        found.error = f"the replay cannot be shown: {_first_line(error)}"
    else:
        if seen.document:
            found.text = _words_in_common(seen.document, replayed.document)
    found.missing = list(dict.fromkeys(found.missing))
    found.resources = 1 - len(found.missing) / max(asked, len(found.missing), 1)
    return found


@asynccontextmanager
async def _browser(playwright: Playwright, *contained: str) -> AsyncIterator[Browser]:
    """Start a browser; one that is contained reaches nothing."""
    options: dict[str, Any] = {"proxy": {"server": NOWHERE}} if contained else {}
    browser = await playwright.chromium.launch(
        executable_path=chromium(),
        chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to start with one as root
        args=[*contained],
        **options,
    )
    try:
        yield browser
    finally:
        await browser.close()


@asynccontextmanager
async def _context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(service_workers="block", accept_downloads=False)
    try:
        yield context
    finally:
        # It is closed with its browser
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(CLOSING):
                await context.close()


async def _shown(context: BrowserContext, url: str, actions: Sequence[str]) -> ShownPage:
    """Show a page, and act on it as the crawl's browser does.

    Raise PlaywrightError, or TimeoutError for a page that does not let itself be shown.
    """
    async with asyncio.timeout(LONGEST):
        page = await context.new_page()
        await page.goto(url, wait_until="load", timeout=LOADING)
        for _ in range(MAX_ROUNDS):
            # A page that never rests is shown as it is
            with suppress(PlaywrightTimeout):
                await page.wait_for_load_state("networkidle", timeout=LOADING)
            found = [await page.evaluate(ACTIONS[name]) for name in actions]
            if not any(found):
                break
            await asyncio.sleep(RESTING)
        await page.evaluate(TO_TOP)
        document = await page.content()
        return ShownPage(document.encode(errors="replace"), await page.screenshot())


def _headers(answer: Exchange) -> dict[str, str]:
    """Return the head's fields but those of the codings: the body has none any more."""
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in answer.headers
        if name.lower() not in NOT_SENT
    }


def _words_in_common(one: bytes, other: bytes) -> float:
    words = _words(one)
    others = _words(other)
    total = words.total() + others.total()
    if not total:
        return 1.0
    return 2 * (words & others).total() / total


def _words(document: bytes) -> Counter[str]:
    return Counter(visible_text(document.removeprefix(BOM_UTF8), "html").split())


async def _pixels(context: BrowserContext, *pictures: bytes) -> float:
    page = await context.new_page()
    return float(await page.evaluate(PIXELS, [b64encode(one).decode() for one in pictures]))


def _first_line(error: PlaywrightError | TimeoutError) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else f"it takes more than {LONGEST:.0f} s"
