"""Renders pages with scrapy-playwright, behind a proxy of the crawl's own: docs/browser.md.

The crawl's own client fetches the page, and the proxy hands that answer to the browser. Anything
else that the browser requests comes by inline downloads, which keep to the address guard, to
robots.txt and to the hosts' turns.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from functools import cached_property, partial
from typing import Any
from weakref import WeakValueDictionary

from playwright.async_api import Browser, BrowserContext, Page
from playwright.async_api import Error as PlaywrightError
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotSupported
from scrapy.http import Response
from scrapy_playwright.handler import (
    Config,
    ScrapyPlaywrightDownloadHandler,
    TargetClosedError,
)
from scrapy_playwright.page import PageMethod
from scrapy_playwright.provider import PlaywrightBrowserProvider

from webcrawl.adapter.browser_actions import MAX_ROUNDS, TIME_SHARE, act_on_page
from webcrawl.adapter.browser_page import (
    CLOSING_TIMEOUT,
    BrowserTab,
    PageRendering,
    empty_tab,
    is_other_page,
    keep_document,
    prepare,
    unfinished_document,
    wait_until_idle,
)
from webcrawl.adapter.browser_views import views_of
from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.foreign_handlers import document_of
from webcrawl.adapter.handlers import HttpHandler
from webcrawl.adapter.rendering_check import CONTAINING_ARGUMENTS
from webcrawl.adapter.request_links import IMPATIENT
from webcrawl.adapter.request_trip import KEY, trip_of
from webcrawl.adapter.robots_request import OWN_META
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.errors import words_of
from webcrawl.base.model import Exchange, Outcome
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.content.html.mimetype import parse
from webcrawl.content.html.shown_text import visible_text
from webcrawl.crawl.rendering.places import BY_REQUEST, BrowserPlaces
from webcrawl.crawl.trip import Trip
from webcrawl.net.browser_proxy import (
    METHOD,
    PROTOCOL,
    USER,
    BrowserAnswer,
    BrowserProxy,
    BrowserRequest,
    ProxyIdentity,
    SharedResources,
    refusal,
)
from webcrawl.net.logins import Logins
from webcrawl.store.jobdir.stats_file import BROWSER_FAILED, REFUSED, SERVER_ERRORS

logger = logging.getLogger(__name__)

END_TIMEOUT = 40.0  # seconds; Playwright kills a browser that has not closed after 30
MAX_PAGES = 4  # rendered at once, unless PLAYWRIGHT_MAX_CONTEXTS says otherwise: 100 MiB each
TAB_PAGES = 100  # pages of one origin that a tab shows, until it is closed with what they leaked
MAX_PAGE_REQUESTS = 200  # of one page; a script could request URLs of any number of hosts
EARLY_FLAW = "rendered_early"  # the document of a page that was not done
EMPTY_FLAW = "rendered_empty"  # a document without text
CUT_FLAW = "rendered_truncated"  # a document that is longer than DOWNLOAD_TRUNCATE
NONE_FLAW = "unrendered"  # there is no document: the page stays as it was sent
PARTLY_FLAW = "acted_partly"  # RENDER_ACTIONS were not done when the time was up
UNSENT_FLAW = "unsent"  # its scripts would have sent data, as by POST
UNVIEWED_FLAW = "unviewed"  # one of RENDER_VIEWS could not be made
HTML_TYPES = ("text/html", "application/xhtml+xml")
META_NOT_COPIED = ("playwright_page", "playwright_include_page", "playwright_context", KEY)


class BrowserFailed(Exception):  # noqa: N818 - reads as what it is
    """The browser cannot be started, which no page is to blame for."""


class GuardedProvider(PlaywrightBrowserProvider):  # type: ignore[misc,unused-ignore]  # untyped where it is missing
    """Starts the browser so that all its connections go through the crawl's proxy."""

    def __init__(self, config: Config, proxy: BrowserProxy, identity: ProxyIdentity) -> None:
        super().__init__(config)
        self._proxy = proxy
        users_options = config.launch_options
        arguments = [
            *users_options.get("args", ()),
            *CONTAINING_ARGUMENTS,
            f"--ignore-certificate-errors-spki-list={identity.fingerprint}",
        ]
        # As root, Chromium refuses to start with a sandbox
        options = {
            "chromium_sandbox": os.geteuid() != 0,
            "ignore_default_args": ["--disable-popup-blocking"],
            **users_options,
        }
        self._options = options
        self._arguments = arguments

    async def start(self) -> None:
        await self._proxy.start()
        await super().start()

    async def restart(self) -> None:
        """Start Playwright's own process again, which has ended."""
        await self.close()
        await super().start()

    async def launch_browser(self) -> Browser:
        """Start the browser with the proxy's address. Raise BrowserFailed if it does not start."""
        try:
            # As an argument too, because `ignore_default_args` would drop Playwright's
            address = self._proxy.address
            arguments = [*self._arguments, f"--proxy-server={address}"]
            self.config.launch_options = {
                **self._options,
                "args": arguments,
                "proxy": {"server": address},
            }
            # A variable, because the type is known only where scrapy-playwright is installed
            browser: Browser = await super().launch_browser()
        except Exception as error:
            raise BrowserFailed(str(error)) from error
        return browser

    async def launch_persistent_context(self, context_kwargs: dict[str, Any]) -> BrowserContext:
        raise NotSupported(
            f"user_data_dir = {context_kwargs['user_data_dir']}: would start another browser, "
            "which does not use the crawl's proxy"
        )


class BrowserHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc,unused-ignore]  # untyped where it is missing
    """Download handler for http and https that renders requests with `playwright` in their meta."""

    guarded = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config: Config = self.config
        for name, given in (
            ("PLAYWRIGHT_CDP_URL", config.cdp_url),
            ("PLAYWRIGHT_CONNECT_URL", config.connect_url),
            ("PLAYWRIGHT_CONTEXTS", config.startup_context_kwargs),
        ):
            if given:
                raise ValueError(
                    f"{name} = {given!r}: must be unset, because that browser would not use the crawl's proxy"
                )
        if config.browser_type_name != "chromium":
            raise ValueError(
                f"PLAYWRIGHT_BROWSER_TYPE = {config.browser_type_name!r}: must be chromium"
            )
        values = values_of(crawler)
        self._agent = values["USER_AGENT"]
        self._timeout = values["DOWNLOAD_TIMEOUT"]
        self._truncate = values["DOWNLOAD_TRUNCATE"]
        self._actions = values["RENDER_ACTIONS"] or ()
        self._views = values["RENDER_VIEWS"] or ()
        self._http_handler = HttpHandler(crawler)
        self._http_handler.render = self._render_if_wanted
        identity = ProxyIdentity.make()
        self._proxy = BrowserProxy(self._subrequest, identity.context, self._count_refusal)
        self.browser_provider_cls = lambda config: GuardedProvider(config, self._proxy, identity)
        self._max_pages = config.max_contexts or MAX_PAGES
        self._places = BrowserPlaces(self._max_pages)
        # Empty tabs, by the origin whose pages they have shown
        self._tabs: dict[str, BrowserTab] = {}
        self._logged_flaws: set[str] = set()
        self._renderings: dict[str, PageRendering] = {}
        self._shared = SharedResources()
        # By URL: pages that request the same URL at once share one download
        self._url_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def download_request(self, request: Request) -> Response:
        return await self._http_handler.download_request(request)

    async def _render_if_wanted(
        self, request: Request, trip: Trip | None, exchange: Exchange
    ) -> None:
        """Make the answer's body the browser's document if its request has `playwright` in its meta."""
        is_wanted = request.meta.get("playwright")
        is_robots = trip is not None and trip.is_prerequisite
        if not is_wanted or is_robots or not can_be_rendered(exchange):
            return
        note_answered(trip, exchange)
        await self._places.wait_for_place(BY_REQUEST)
        await self._render_in_place(request, exchange)

    async def _render_in_place(self, request: Request, exchange: Exchange) -> int:
        """Render a page that has a place in the browser, and free the place.

        Return the milliseconds taken.
        """
        started = time.monotonic()
        try:
            await self._render(request, exchange)
        finally:
            self._places.leave()
        milliseconds = round(1000 * (time.monotonic() - started))
        self._crawl_counters["browser/milliseconds"] += milliseconds
        return milliseconds

    @cached_property
    def _logins(self) -> Logins:
        return downloader_of(self._crawler).network.http.logins

    async def close(self) -> None:
        """Close the browser and the proxy. Playwright's own process may not answer any more."""
        try:
            async with asyncio.timeout(END_TIMEOUT):
                await super().close()
        except TimeoutError:
            logger.warning("the browser does not close: the crawl ends without waiting for it")
        await self._proxy.close()

    async def _render(self, request: Request, exchange: Exchange) -> None:
        """Put the browser's document into the exchange, and note what is wrong with it.

        A page that cannot be rendered keeps its body. Raise DownloadCancelledError if the browser
        cannot be started; the crawl then ends.
        """
        origin = "/".join(request.url.split("/", 3)[:3])
        tab = await self._take_tab(origin) if _has_no_page_options(request) else None
        password = self._proxy.admit(tab.password if tab else "")
        rendering = PageRendering(request, exchange, page=tab.page if tab else None)
        self._renderings[password] = rendering
        seconds = float(request.meta.get("download_timeout") or self._timeout)
        is_finished = False
        try:
            await self._make_room()
            async with asyncio.timeout(seconds) as rendering.limit:
                await self._show(request, password, rendering, seconds)
            text = rendering.document
            self._take_document(rendering, text)
            if not visible_text(text.encode(errors="replace"), "html").strip():
                reason = "the page has no text after its scripts have run"
                self._note_flaw(request, exchange, EMPTY_FLAW, reason)
            is_finished = True
        except BrowserFailed as error:
            self._end_crawl(request, error)
            raise DownloadCancelledError("the browser cannot be started") from error
        except (PlaywrightError, TimeoutError) as error:
            await self._take_unfinished(rendering, error)
            # With a page, `_close_context` below notices that the browser has gone
            if rendering.page is None and isinstance(error, TargetClosedError):
                await self._stop_browser(getattr(self, "browser", None))
        finally:
            # First, so that nothing is downloaded any more for what the page still requests
            del self._renderings[password]
            self._proxy.dismiss(password)
            pages_shown = tab.pages_shown + 1 if tab else 1
            may_keep = is_finished and pages_shown < TAB_PAGES and _has_no_page_options(request)
            # A new tab takes three times the CPU of a page
            if not may_keep or not await self._keep_tab(origin, password, pages_shown, rendering):
                await self._close_context(password)
        self._note_lacks(rendering)

    async def _show(
        self, request: Request, password: str, rendering: PageRendering, seconds: float
    ) -> None:
        """Show a page in the browser, and keep its document in `rendering`."""
        try:
            await super().download_request(
                self._request_for_playwright(request, password, rendering, seconds)
            )
        except Exception:
            # What comes after the document is of no use here, and fails for some pages: those that
            # have begun a download, and those whose head names a type or encoding that is no text's
            if not rendering.document:
                raise

    async def _take_unfinished(self, rendering: PageRendering, error: Exception) -> None:
        """Take the document of a page that has not finished, if there is one, and note the flaw."""
        text = await unfinished_document(rendering)
        if text:
            self._take_document(rendering, text)
            await self._make_views(rendering, rendering.page)
        flaw = EARLY_FLAW if text else NONE_FLAW
        self._note_flaw(rendering.request, rendering.exchange, flaw, words_of(error))

    def _note_lacks(self, rendering: PageRendering) -> None:
        """Hand the page's views to the archive, and note as flaws what the rendering lacks."""
        request = rendering.request
        exchange = rendering.exchange
        exchange.state.views = rendering.views
        self._count(["browser/views"] * len(rendering.views))
        if rendering.acted_partly and exchange.rendered:
            reason = f"more was left to do after {MAX_ROUNDS} rounds or {TIME_SHARE:.0%} of the page's time"
            self._note_flaw(request, exchange, PARTLY_FLAW, reason)
        if rendering.unsent:
            reason = f"{count(rendering.unsent, 'request')} refused that would have sent data"
            self._note_flaw(request, exchange, UNSENT_FLAW, reason)
        if rendering.unviewed:
            self._note_flaw(request, exchange, UNVIEWED_FLAW, "; ".join(rendering.unviewed))

    async def _make_views(self, rendering: PageRendering, page: Page | None) -> None:
        """Make the views that RENDER_VIEWS names, unless that was done or tried before."""
        is_viewed = bool(rendering.views or rendering.unviewed)
        if page is not None and not is_viewed:
            rendering.views, rendering.unviewed = await views_of(page, self._views)

    async def _take_tab(self, origin: str) -> BrowserTab | None:
        """Return the empty tab of an origin and forget it, or None if there is none."""
        tab = self._tabs.pop(origin, None)
        if tab is not None and tab.page.is_closed():
            await self._close_context(tab.password)
            return None
        return tab

    async def _make_room(self) -> None:
        """Close empty tabs, the oldest first, until there is room for one more page."""
        while self._tabs and len(self._tabs) + len(self._renderings) > self._max_pages:
            await self._close_context(self._tabs.pop(next(iter(self._tabs))).password)

    async def _keep_tab(
        self, origin: str, password: str, used: int, rendering: PageRendering
    ) -> bool:
        """Empty the tab of a page for the next one of its origin.

        Return False if it must be closed.
        """
        page = rendering.page
        if page is None or origin in self._tabs or len(page.context.pages) > 1:
            return False
        try:
            await empty_tab(page)
        except (PlaywrightError, TimeoutError):
            # The next page would find what this one has stored
            return False
        self._tabs[origin] = BrowserTab(password, page, used)
        return True

    def _take_document(self, rendering: PageRendering, text: str) -> None:
        """Make the browser's document the body of the exchange, and note if it is too long."""
        exchange = rendering.exchange
        document = document_of(text, exchange)
        if len(document) > self._truncate:
            reason = f"its document has {len(document)} bytes, more than DOWNLOAD_TRUNCATE"
            self._note_flaw(rendering.request, exchange, CUT_FLAW, reason)
        exchange.body = document[: self._truncate]
        exchange.rendered = True
        self._count(["browser/pages"])

    def _note_flaw(self, request: Request, exchange: Exchange, name: str, reason: str) -> None:
        """Note a flaw in the exchange.

        Warn of the first of each name, because it may be our fault.
        """
        level = logging.DEBUG if name in self._logged_flaws else logging.WARNING
        logger.log(level, "%s: %s (%s)", request, name, reason)
        self._logged_flaws.add(name)
        exchange.flaws = (*exchange.flaws, name)
        self._count([f"flaw/{name}"])

    def _request_for_playwright(
        self, request: Request, page: str, rendering: PageRendering, seconds: float
    ) -> Request:
        """Return a copy of the request for scrapy-playwright.

        `page` is the page's proxy password, which names the page's own browser context as well.
        """
        meta = {name: value for name, value in request.meta.items() if name not in META_NOT_COPIED}
        our_context = {
            "proxy": {"server": self._proxy.address, "username": USER, "password": page},
            "user_agent": self._agent,
            "service_workers": "block",  # they would continue without the page
            "accept_downloads": False,
        }
        users_context = meta.get("playwright_context_kwargs") or {}
        users_callback = meta.get("playwright_page_init_callback")
        users_methods = meta.get("playwright_page_methods") or ()
        if isinstance(users_methods, dict):
            users_methods = users_methods.values()
        # After the user's own methods, which may have the page request more
        our_methods = [partial(wait_until_idle, rendering)]
        if self._actions:
            our_methods.append(partial(act_on_page, rendering, self._actions, TIME_SHARE * seconds))
        if self._views:
            our_methods.append(partial(self._make_views, rendering))
        our_methods.append(partial(keep_document, rendering))
        for_playwright = {
            "playwright": True,
            "playwright_context": page,
            "playwright_context_kwargs": {**users_context, **our_context},
            "playwright_page_init_callback": partial(prepare, rendering, users_callback),
            "playwright_page_methods": [*users_methods, *map(PageMethod, our_methods)],
            "playwright_page": rendering.page,
            "playwright_include_page": _has_no_page_options(request),  # its tab stays open
        }
        return request.replace(meta={**meta, **for_playwright})

    async def _close_context(self, page: str) -> None:
        """Close the browser context of a page.

        A browser that does not close it in time is stopped, and the next page starts another.
        """
        wrapper = self.context_wrappers.get(page)
        if wrapper is None:
            return
        try:
            async with asyncio.timeout(CLOSING_TIMEOUT):
                await wrapper.context.close()
        except (PlaywrightError, TimeoutError) as error:
            line = "the browser did not close a page (%s), so it is stopped; the next page starts a new one"
            logger.warning(line, words_of(error))
            await self._stop_browser(wrapper.context.browser)

    async def _stop_browser(self, browser: Browser | None) -> None:
        """Stop a browser, so that the next page starts another, unless that has been done."""
        if browser is None:
            return
        try:
            async with asyncio.timeout(CLOSING_TIMEOUT):
                await browser.close()
        except (PlaywrightError, TimeoutError):
            # Playwright kills it after a while
            return
        # Other pages launch no browser meanwhile
        async with self.browser_launch_lock:
            # The attribute is missing if no browser runs any more
            is_ours = browser is getattr(self, "browser", None)
            if is_ours and browser.is_connected():
                # Nobody has heard of its end, because Playwright's own process has ended before
                del self.browser
                self.context_wrappers.clear()
                self._tabs.clear()
                if hasattr(self, "context_semaphore"):
                    self.context_semaphore = asyncio.Semaphore(self._max_pages)
                await self.browser_provider.restart()

    def _end_crawl(self, request: Request, error: BrowserFailed) -> None:
        """End the crawl. The next run fetches the URL again."""
        logger.critical("the browser cannot be started: %s", error)
        trip = trip_of(request)
        if trip is not None:
            trip.abandoned = True
        close_spider(self._crawler, BROWSER_FAILED)

    async def _subrequest(self, page: str, ask: BrowserRequest, url: str) -> BrowserAnswer:
        """Return the answer to a request of the browser: the page itself, or an inline download's.

        `page` is the proxy password of the page that makes the request.
        """
        rendering = self._renderings.get(page)
        if rendering is None or not url.startswith(("http://", "https://")):
            return self._refuse(PROTOCOL, 403, "not requested by this page")
        rendering.requests_made += 1
        # The crawl's own client has fetched the page already
        if rendering.requests_made == 1 or not is_other_page(url, rendering.url):
            return BrowserAnswer(
                rendering.exchange.status, rendering.exchange.headers, rendering.exchange.body
            )
        if self._logins.keeps_from(rendering.request.url, url):
            return self._refuse("login", 403, "another site's page must not use a login")
        if rendering.requests_made > MAX_PAGE_REQUESTS:
            reason = f"the page has made more than {MAX_PAGE_REQUESTS} requests"
            return self._refuse("number", 403, reason)
        rendering.begin_request()
        try:
            # Pages that request the same URL at once wait for the first of them, and share its
            # answer
            async with self._url_locks.setdefault(url, asyncio.Lock()):
                shared = self._shared.find(url, ask, time.time())
                if shared is not None:
                    self._count(["browser/shared"])
                    return shared
                return await self._fetch_subrequest(ask, url, rendering.request.url)
        finally:
            rendering.end_request()

    async def _fetch_subrequest(
        self, ask: BrowserRequest, url: str, page_url: str
    ) -> BrowserAnswer:
        """Return the answer of an inline download, or a refusal if there is none."""
        self._count(["browser/requests"])
        meta = {**OWN_META, "verbatim_url": True}
        # The page would wait for its whole time for another host that is down, as that of an
        # advertisement, and what comes after the script of that host would be lost
        if host_of(url) != host_of(page_url):
            meta[IMPATIENT] = True
        try:
            request = Request(
                url, method=ask.method, headers=ask.onward(), meta=meta, dont_filter=True
            )
            response = await self._crawler.engine.download_async(request)
        except IgnoreRequest as error:
            return self._refuse("rules", 403, str(error))
        except Exception as error:  # noqa: BLE001 - a mistake in code was logged; the page continues without the answer
            return self._refuse("failed", 502, type(error).__name__)
        # The page goes on without what it has asked for, and nobody asks again
        if response.status in SERVER_ERRORS:
            self._count_refusal(str(response.status))
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        answer = BrowserAnswer(response.status, headers, response.body)
        # Flags say what a body lacks
        if not response.flags:
            self._shared.keep(url, ask, answer, time.time())
        return answer

    def _refuse(self, kind: str, status: int, reason: str) -> BrowserAnswer:
        self._count_refusal(kind)
        return refusal(status, reason)

    def _count_refusal(self, kind: str, page: str = "") -> None:
        if kind == METHOD and page in self._renderings:
            self._renderings[page].unsent += 1
        self._count([REFUSED, f"{REFUSED}/{kind}"])

    @property
    def _crawl_counters(self) -> Counter[str]:
        return scheduler_of(self._crawler).crawl.parts.counters

    def _count(self, names: list[str]) -> None:
        self._crawl_counters.update(names)


def _has_no_page_options(request: Request) -> bool:
    """Return whether a request sets no option of its page, so that its tab can show another page."""
    return not any(name.startswith("playwright_") for name in request.meta)


def note_answered(trip: Trip | None, exchange: Exchange) -> None:
    """Book an answer for its host before the page is rendered, so that subrequests get turns there."""
    # The wait after the page counts the server's time, and not the browser's
    if trip is not None:
        timings = exchange.timings
        trip.fetched = Outcome(
            exchange.status, timings.total, ip=exchange.ip, at=time.time(), ended=time.monotonic()
        )


def can_be_rendered(exchange: Exchange) -> bool:
    """Return whether an answer is a whole HTML page with a status of 2xx."""
    if not 200 <= exchange.status < 300:
        return False
    mime = parse(exchange.content_type)
    if mime is None or mime.essence not in HTML_TYPES:
        return False
    return bool(exchange.body) and not exchange.truncated
