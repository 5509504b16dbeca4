"""Renders pages with scrapy-playwright, behind a proxy of the crawl's own: docs/browser.md.

The crawl's own client fetches the page. The browser is then shown that answer, and whatever else it
wants it gets by inline downloads, which keep to the guard, to robots.txt and to the hosts' turns.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from contextlib import suppress
from functools import cached_property, partial
from typing import Any
from weakref import WeakValueDictionary

from playwright.async_api import Browser, BrowserContext, Page
from playwright.async_api import Error as PlaywrightError
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotSupported
from scrapy.http import Response, TextResponse
from scrapy_playwright.handler import Config, ScrapyPlaywrightDownloadHandler
from scrapy_playwright.page import PageMethod
from scrapy_playwright.provider import PlaywrightBrowserProvider

from webcrawl.adapter.browser_actions import ROUNDS, SHARE, act
from webcrawl.adapter.browser_page import (
    PATIENCE,
    BrowserTab,
    PageRendering,
    differs,
    empty,
    prepare,
    rest,
    so_far,
)
from webcrawl.adapter.browser_views import views_of
from webcrawl.adapter.crawl_end import close_spider
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.foreign_handlers import document_of
from webcrawl.adapter.handlers import HttpHandler
from webcrawl.adapter.rendering_check import CONTAINED
from webcrawl.adapter.request_trip import KEY, trip_of
from webcrawl.adapter.robots_request import OWN_META
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.errors import words_of
from webcrawl.base.model import Exchange, Outcome
from webcrawl.base.readable import count
from webcrawl.content.html.mimetype import parse
from webcrawl.content.html.shown_text import visible_text
from webcrawl.crawl.rendering.places import ASKED, BrowserPlaces
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
from webcrawl.store.jobdir.stats_file import REFUSED

logger = logging.getLogger(__name__)

PAGES = 4  # rendered at once, unless PLAYWRIGHT_MAX_CONTEXTS says otherwise: 100 MiB each
TAB_PAGES = 100  # pages of one origin that a tab shows: what they leak is freed with it
MOST = 200  # requests of one page; a script can ask for as many hosts as it likes
EARLY_FLAW = "rendered_early"  # the document of a page that was not done
EMPTY_FLAW = "rendered_empty"  # a document without text
NONE_FLAW = "unrendered"  # the browser gave none: the page stays as it was sent
PARTLY_FLAW = "acted_partly"  # RENDER_ACTIONS had not come to an end
UNSENT_FLAW = "unsent"  # its scripts would have sent data, as by POST
UNVIEWED_FLAW = "unviewed"  # one of RENDER_VIEWS could not be made
FAILED = "browser_failed"  # the reason that ends a crawl whose browser cannot be started
HTML = ("text/html", "application/xhtml+xml")
NOT_OURS = ("playwright_page", "playwright_include_page", "playwright_context", KEY)


class BrowserFailed(Exception):  # noqa: N818 - reads as what it is
    """There is no browser: a lack of ours, not of any page."""


class GuardedProvider(PlaywrightBrowserProvider):  # type: ignore[misc,unused-ignore]  # untyped where it is missing
    """Starts the browser so that everything it does goes through the proxy."""

    def __init__(self, config: Config, proxy: BrowserProxy, identity: ProxyIdentity) -> None:
        super().__init__(config)
        self._proxy = proxy
        given = config.launch_options
        arguments = [
            *given.get("args", ()),
            *CONTAINED,
            f"--ignore-certificate-errors-spki-list={identity.fingerprint}",
        ]
        # A browser of root has no sandbox; Chromium refuses to start with one.
        options = {
            "chromium_sandbox": os.geteuid() != 0,
            "ignore_default_args": ["--disable-popup-blocking"],
            **given,
        }
        self._options = options
        self._arguments = arguments

    async def start(self) -> None:
        await self._proxy.start()
        await super().start()

    async def launch_browser(self) -> Browser:
        try:
            # as an argument too: `ignore_default_args` would drop Playwright's
            address = self._proxy.address
            arguments = [*self._arguments, f"--proxy-server={address}"]
            self.config.launch_options = {
                **self._options,
                "args": arguments,
                "proxy": {"server": address},
            }
            # a name, for the types are known where it is installed
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
        self._plain = HttpHandler(crawler)
        self._plain.render = self._rendered
        identity = ProxyIdentity.make()
        self._proxy = BrowserProxy(self._subrequest, identity.context, self._count_refusal)
        self.browser_provider_cls = lambda config: GuardedProvider(config, self._proxy, identity)
        self._most = config.max_contexts or PAGES
        self._places = BrowserPlaces(self._most)
        # Empty ones, by the origin whose pages they showed
        self._tabs: dict[str, BrowserTab] = {}
        self._told: set[str] = set()
        self._renderings: dict[str, PageRendering] = {}
        self._shared = SharedResources()
        # pages may want the same at once
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def download_request(self, request: Request) -> Response:
        return await self._plain.download_request(request)

    async def _rendered(self, request: Request, trip: Trip | None, exchange: Exchange) -> None:
        """Make the answer's body the browser's document, if it is to be rendered."""
        is_wanted = request.meta.get("playwright")
        is_robots = trip is not None and trip.is_prerequisite
        if not is_wanted or is_robots or not can_be_rendered(exchange):
            return
        answered(trip, exchange)
        await self._places.take(ASKED)
        await self._in_place(request, exchange)

    async def _in_place(self, request: Request, exchange: Exchange) -> int:
        """Render a page that has got a place, and free the place; return the milliseconds taken."""
        begun = time.monotonic()
        try:
            await self._render(request, exchange)
        finally:
            self._places.leave()
        took = round(1000 * (time.monotonic() - begun))
        self._crawl_counters["browser/milliseconds"] += took
        return took

    @cached_property
    def _logins(self) -> Logins:
        return downloader_of(self._crawler).network.http.logins

    async def close(self) -> None:
        await super().close()
        await self._proxy.close()

    async def _render(self, request: Request, exchange: Exchange) -> None:
        """Put the document in the exchange.

        If the page does not let itself be rendered, it stays as it is.
        """
        origin = "/".join(request.url.split("/", 3)[:3])
        tab = await self._tab(origin) if _is_plain(request) else None
        password = self._proxy.admit(tab.password if tab else "")
        rendering = PageRendering(request, exchange, page=tab.page if tab else None)
        self._renderings[password] = rendering
        seconds = float(request.meta.get("download_timeout") or self._timeout)
        done = False
        try:
            await self._make_room()
            async with asyncio.timeout(seconds) as rendering.limit:
                response: TextResponse = await super().download_request(
                    self._copy(request, password, rendering, seconds)
                )
            self._take(exchange, response.text)
            if not visible_text(response.text.encode(errors="replace"), "html").strip():
                self._flaw(
                    request, exchange, EMPTY_FLAW, "the page has no text after its scripts have run"
                )
            done = True
        except BrowserFailed as error:
            self._fail(request, error)
            raise DownloadCancelledError("the browser cannot be started") from error
        except (PlaywrightError, TimeoutError) as error:
            text = await so_far(rendering.page)
            if text:
                self._take(exchange, text)
                await self._view(rendering, rendering.page)
            self._flaw(request, exchange, EARLY_FLAW if text else NONE_FLAW, words_of(error))
        finally:
            # First: what the page still asks for is refused from now on
            del self._renderings[password]
            self._proxy.dismiss(password)
            used = tab.used + 1 if tab else 1
            may_keep = done and used < TAB_PAGES and _is_plain(request)
            # A new tab takes three times the CPU of a page
            if not may_keep or not await self._keep(origin, password, used, rendering):
                await self._shut(password)
        self._note(rendering)

    def _note(self, rendering: PageRendering) -> None:
        """Hand over the views of a page, and note what it lacks."""
        request = rendering.request
        exchange = rendering.exchange
        exchange.state.views = rendering.views
        self._count(["browser/views"] * len(rendering.views))
        if rendering.acted_partly:
            why = f"more was left to do after {ROUNDS} rounds or {SHARE:.0%} of the page's time"
            self._flaw(request, exchange, PARTLY_FLAW, why)
        if rendering.unsent:
            why = f"{count(rendering.unsent, 'request')} refused that would have sent data"
            self._flaw(request, exchange, UNSENT_FLAW, why)
        if rendering.unviewed:
            self._flaw(request, exchange, UNVIEWED_FLAW, "; ".join(rendering.unviewed))

    async def _view(self, rendering: PageRendering, page: Page | None) -> None:
        """Make the views that RENDER_VIEWS asks for, once."""
        is_viewed = bool(rendering.views or rendering.unviewed)
        if page is not None and not is_viewed:
            rendering.views, rendering.unviewed = await views_of(page, self._views)

    async def _tab(self, origin: str) -> BrowserTab | None:
        """Return the empty tab of an origin, if it has one that is still there."""
        tab = self._tabs.pop(origin, None)
        if tab is not None and tab.page.is_closed():
            await self._shut(tab.password)
            return None
        return tab

    async def _make_room(self) -> None:
        """Close the empty tabs that are too many, the oldest first."""
        while self._tabs and len(self._tabs) + len(self._renderings) > self._most:
            await self._shut(self._tabs.pop(next(iter(self._tabs))).password)

    async def _keep(self, origin: str, password: str, used: int, rendering: PageRendering) -> bool:
        """Keep a page's tab for the next one of its origin, if it can be emptied."""
        page = rendering.page
        if page is None or origin in self._tabs or len(page.context.pages) > 1:
            return False
        try:
            await empty(page)
        except (PlaywrightError, TimeoutError):
            # A tab that cannot be emptied is closed: the next page would find what this one stored
            return False
        self._tabs[origin] = BrowserTab(password, page, used)
        return True

    def _take(self, exchange: Exchange, text: str) -> None:
        exchange.body = document_of(text, exchange)[: self._truncate]
        exchange.rendered = True
        self._count(["browser/pages"])

    def _flaw(self, request: Request, exchange: Exchange, name: str, why: str) -> None:
        """Note a flaw, mostly the page's own; the first of each name is logged, in case not."""
        logger.log(
            logging.DEBUG if name in self._told else logging.WARNING,
            "%s: %s (%s)",
            request,
            name,
            why,
        )
        self._told.add(name)
        exchange.flaws = (*exchange.flaws, name)
        self._count([f"flaw/{name}"])

    def _copy(
        self, request: Request, page: str, rendering: PageRendering, seconds: float
    ) -> Request:
        """Return a copy of the request for scrapy-playwright.

        It gets a browser context of its own, with the page's proxy password.
        """
        meta = {name: value for name, value in request.meta.items() if name not in NOT_OURS}
        ours = {
            "proxy": {"server": self._proxy.address, "username": USER, "password": page},
            "user_agent": self._agent,
            "service_workers": "block",  # they would go on without the page
            "accept_downloads": False,
        }
        given = meta.get("playwright_context_kwargs") or {}
        before = partial(prepare, rendering, meta.get("playwright_page_init_callback"))
        methods = meta.get("playwright_page_methods") or ()
        methods = methods.values() if isinstance(methods, dict) else methods
        # After the user's own methods, which may ask for more
        ours_last = [partial(rest, rendering)]
        if self._actions:
            ours_last.append(partial(act, rendering, self._actions, SHARE * seconds))
        if self._views:
            ours_last.append(partial(self._view, rendering))
        more = {
            "playwright": True,
            "playwright_context": page,
            "playwright_context_kwargs": {**given, **ours},
            "playwright_page_init_callback": before,
            "playwright_page_methods": [*methods, *map(PageMethod, ours_last)],
            "playwright_page": rendering.page,
            "playwright_include_page": _is_plain(request),  # its tab stays open
        }
        return request.replace(meta={**meta, **more})

    async def _shut(self, page: str) -> None:
        """Close the page's context.

        A browser that does not is closed as a whole; the next page starts another.
        """
        wrapper = self.context_wrappers.get(page)
        if wrapper is None:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await wrapper.context.close()
        except (PlaywrightError, TimeoutError) as error:
            line = "the browser did not close a page (%s), so it is stopped; the next page starts a new one"
            logger.warning(line, words_of(error))
            await self._give_up()

    async def _give_up(self) -> None:
        # There is none if it has gone by itself
        browser: Browser | None = getattr(self, "browser", None)
        if browser is not None:
            with suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await browser.close()

    def _fail(self, request: Request, error: BrowserFailed) -> None:
        """End the crawl; the URL is fetched by the next run."""
        logger.critical("the browser cannot be started: %s", error)
        trip = trip_of(request)
        if trip is not None:
            trip.abandoned = True
        close_spider(self._crawler, FAILED)

    async def _subrequest(self, page: str, ask: BrowserRequest, url: str) -> BrowserAnswer:
        """Return the answer for the page: its own, or an inline download's."""
        rendering = self._renderings.get(page)
        if rendering is None or not url.startswith(("http://", "https://")):
            return self._refused(PROTOCOL, 403, "not requested by this page")
        rendering.asked += 1
        # The crawl's own client has fetched the page already
        if rendering.asked == 1 or not differs(url, rendering.request):
            return BrowserAnswer(
                rendering.exchange.status, rendering.exchange.headers, rendering.exchange.body
            )
        if self._logins.keeps_from(rendering.request.url, url):
            return self._refused("login", 403, "another site's page must not use a login")
        if rendering.asked > MOST:
            return self._refused("number", 403, f"the page has made more than {MOST} requests")
        rendering.begin()
        try:
            # Pages that want the same at once wait for the first of them, and share its answer
            async with self._asking.setdefault(url, asyncio.Lock()):
                told = self._shared.find(url, ask, time.time())
                if told is not None:
                    self._count(["browser/shared"])
                return told or await self._asked(ask, url)
        finally:
            rendering.end()

    async def _asked(self, ask: BrowserRequest, url: str) -> BrowserAnswer:
        """Return an inline download's answer."""
        self._count(["browser/requests"])
        meta = {**OWN_META, "verbatim_url": True}
        try:
            request = Request(
                url, method=ask.method, headers=ask.onward(), meta=meta, dont_filter=True
            )
            response = await self._crawler.engine.download_async(request)
        except IgnoreRequest as error:
            return self._refused("rules", 403, str(error))
        except Exception as error:  # noqa: BLE001 - it was logged if it is a mistake; the page goes on without the answer
            return self._refused("failed", 502, type(error).__name__)
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        told = BrowserAnswer(response.status, headers, response.body)
        if not response.flags:  # it is whole
            self._shared.keep(url, ask, told, time.time())
        return told

    def _refused(self, kind: str, status: int, why: str) -> BrowserAnswer:
        self._count_refusal(kind)
        return refusal(status, why)

    def _count_refusal(self, kind: str, page: str = "") -> None:
        if kind == METHOD and page in self._renderings:
            self._renderings[page].unsent += 1
        self._count([REFUSED, f"{REFUSED}/{kind}"])

    @property
    def _crawl_counters(self) -> Counter[str]:
        return scheduler_of(self._crawler).crawl.parts.counters

    def _count(self, names: list[str]) -> None:
        self._crawl_counters.update(names)


def _is_plain(request: Request) -> bool:
    """Return whether the request asks nothing of its page that the next page would still find."""
    return not any(name.startswith("playwright_") for name in request.meta)


def answered(trip: Trip | None, exchange: Exchange) -> None:
    """Book the answer for its host now, so that the page's subrequests get their turns."""
    # The wait after the page counts the server's time, and not the browser's
    if trip is not None:
        timings = exchange.timings
        trip.fetched = Outcome(
            exchange.status, timings.total, ip=exchange.ip, at=time.time(), ended=time.monotonic()
        )


def can_be_rendered(exchange: Exchange) -> bool:
    if not 200 <= exchange.status < 300:
        return False
    mime = parse(exchange.content_type)
    if mime is None or mime.essence not in HTML:
        return False
    return bool(exchange.body) and not exchange.truncated
