"""Replays the pages of a WACZ package in a browser, and compares them with what they should show.

The browser that replays has no network: each request is answered from the package, or fails. A page
is compared with the document and screenshot that the crawl's own browser has archived, or with the
live page.
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

LOADING_TIMEOUT_MS = 30_000  # for a page to load, and again to come to rest
ACTION_PAUSE = 0.5  # seconds after an action
PAGE_TIMEOUT = 120.0  # seconds for a page and its actions, because a script may never end
CLOSING_TIMEOUT = 5.0  # seconds
# The proxy of the browser that replays. No program listens there, so nothing leaves the machine.
DEAD_PROXY = "http://127.0.0.1:9"
CODING_FIELDS = frozenset((b"content-encoding", b"content-length", b"transfer-encoding"))
# Returns the share of pixels that are about equal; 0 for pictures of different sizes
COUNT_EQUAL_PIXELS = """async pictures => {
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
    """A page as a browser shows it. A part that is not known is empty."""

    document: bytes = b""  # in UTF-8
    screenshot: bytes = b""  # PNG


@dataclass(slots=True)
class ReplayComparison:
    """How far a page's replay equals what it should show.

    The figures are shares from 0 to 1, or None if there is nothing to compare with.
    """

    url: str
    stamp: str
    text: float | None = None  # share of common words, counted as often as they occur
    screenshot: float | None = None  # share of equal pixels
    resources: float = 1.0  # share of requests that the package answers
    missing: list[str] = field(default_factory=list)  # URLs that the package does not have
    error: str = ""  # why there is no replay, or nothing to compare it with

    def differs(self, least: float) -> bool:
        """Return whether one of the shares is below `least`, or the page cannot be compared."""
        if self.error:
            return True
        shares = (self.text, self.screenshot, self.resources)
        return any(share is not None and share < least for share in shares)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def compare_pages(
    package: PackagedAnswers, actions: Sequence[str], *, live: bool
) -> AsyncIterator[ReplayComparison]:
    """Replay each page of the package, and yield its comparison.

    With `live` the page is compared with the live page, or else with what the package has archived
    of it. Raise NotReplayable if there is no browser, PlaywrightError if it does not start.
    """
    if chromium() is None:
        raise NotReplayable(f"there is no browser: none of {', '.join(BROWSER_NAMES)} is on PATH")
    async with (
        async_playwright() as playwright,
        _browser(playwright, *CONTAINING_ARGUMENTS) as replaying,
    ):
        if not live:
            for page in package.pages:
                expected = ShownPage(package.document(page), package.view(page))
                yield await _compare_page(package, page, replaying, expected, actions)
            return
        async with _browser(playwright) as browser:
            for page in package.pages:
                try:
                    async with _context(browser) as context:
                        expected = await _show(context, page.url, actions)
                except (PlaywrightError, TimeoutError) as error:
                    reason = f"the live page cannot be shown: {_first_line(error)}"
                    yield ReplayComparison(page.url, page.stamp, error=reason)
                else:
                    yield await _compare_page(package, page, replaying, expected, actions)


async def _compare_page(
    package: PackagedAnswers,
    page: ListedPage,
    browser: Browser,
    expected: ShownPage,
    actions: Sequence[str],
) -> ReplayComparison:
    """Replay a page in the browser without a network, and compare it with what it should show."""
    comparison = ReplayComparison(page.url, page.stamp)
    request_count = 0

    async def answer(route: Route) -> None:
        """Answer a request of the browser from the package, or abort it."""
        nonlocal request_count
        url = route.request.url.partition("#")[0]
        archived = None
        # Requests of other methods are not counted, because no archive has answers to them
        if route.request.method == "GET":
            request_count += 1
            archived = package.answer(url, page.stamp)
            if archived is None:
                comparison.missing.append(url)
        # The page may have been closed meanwhile
        with suppress(PlaywrightError):
            if archived is None:
                await route.abort()
            else:
                headers = _replayed_headers(archived)
                await route.fulfill(status=archived.status, headers=headers, body=archived.body)

    try:
        async with _context(browser) as context:
            await context.route("**/*", answer)
            replayed = await _show(context, page.url, actions)
            if expected.screenshot:
                comparison.screenshot = await _equal_pixels(
                    context, expected.screenshot, replayed.screenshot
                )
    except (PlaywrightError, TimeoutError) as error:
        comparison.error = f"the replay cannot be shown: {_first_line(error)}"
    else:
        if expected.document:
            comparison.text = _words_in_common(expected.document, replayed.document)
    comparison.missing = list(dict.fromkeys(comparison.missing))
    missing_count = len(comparison.missing)
    comparison.resources = 1 - missing_count / max(request_count, missing_count, 1)
    return comparison


@asynccontextmanager
async def _browser(playwright: Playwright, *arguments: str) -> AsyncIterator[Browser]:
    """Start a browser; with CONTAINING_ARGUMENTS as `arguments` it reaches no network."""
    options: dict[str, Any] = {"proxy": {"server": DEAD_PROXY}} if arguments else {}
    browser = await playwright.chromium.launch(
        executable_path=chromium(),
        chromium_sandbox=os.geteuid() != 0,  # as root, Chromium refuses to start with one
        args=[*arguments],
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
            async with asyncio.timeout(CLOSING_TIMEOUT):
                await context.close()


async def _show(context: BrowserContext, url: str, actions: Sequence[str]) -> ShownPage:
    """Show a page, run the actions on it as the crawl's browser does, and return what it shows.

    Raise PlaywrightError or TimeoutError if the page cannot be shown.
    """
    async with asyncio.timeout(PAGE_TIMEOUT):
        page = await context.new_page()
        await page.goto(url, wait_until="load", timeout=LOADING_TIMEOUT_MS)
        for _ in range(MAX_ROUNDS):
            # A page that never rests is shown as it is
            with suppress(PlaywrightTimeout):
                await page.wait_for_load_state("networkidle", timeout=LOADING_TIMEOUT_MS)
            has_acted = [await page.evaluate(ACTIONS[name]) for name in actions]
            if not any(has_acted):
                break
            await asyncio.sleep(ACTION_PAUSE)
        await page.evaluate(TO_TOP)
        document = await page.content()
        return ShownPage(document.encode(errors="replace"), await page.screenshot())


def _replayed_headers(answer: Exchange) -> dict[str, str]:
    """Return the header fields without those of codings, because the body is decoded."""
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in answer.headers
        if name.lower() not in CODING_FIELDS
    }


def _words_in_common(expected: bytes, replayed: bytes) -> float:
    """Return the share of words that two documents have in common (Dice's coefficient)."""
    expected_words = _word_counts(expected)
    replayed_words = _word_counts(replayed)
    total = expected_words.total() + replayed_words.total()
    if not total:
        return 1.0
    return 2 * (expected_words & replayed_words).total() / total


def _word_counts(document: bytes) -> Counter[str]:
    return Counter(visible_text(document.removeprefix(BOM_UTF8), "html").split())


async def _equal_pixels(context: BrowserContext, *pictures: bytes) -> float:
    page = await context.new_page()
    encoded = [b64encode(picture).decode() for picture in pictures]
    return float(await page.evaluate(COUNT_EQUAL_PIXELS, encoded))


def _first_line(error: PlaywrightError | TimeoutError) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else f"it takes more than {PAGE_TIMEOUT:.0f} s"
