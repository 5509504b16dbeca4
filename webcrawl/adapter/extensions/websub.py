"""Subscribes to hubs that pages name, and takes what they push (docs/revisits.md#websub)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, NotConfigured

from webcrawl.adapter.listeners import connect_opening
from webcrawl.adapter.request_links import PRIVATE
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.errors import lack
from webcrawl.base.model import unpack
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.formats.document_reader import all_links
from webcrawl.content.page import Page
from webcrawl.crawl.periodic import Loop
from webcrawl.crawl.signalling import Signalling
from webcrawl.net.http_answerer import CannotListen, bound
from webcrawl.net.websub import (
    HOPS,
    REDIRECTS,
    Callback,
    Push,
    Subscription,
    Subscriptions,
    address,
    offer,
)
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between two looks for hubs to be asked
AT_ONCE = 8  # requests to hubs, each in its host's turn
# pushes that wait to be read; beyond, they are dropped: the feed itself is read in its turn
WAITING = 16
PACE = 0.02  # seconds between two pushes that are read, at least
# and times as long as the last one took, which may be a second: hubs have a tenth of the crawl's
# time
PAUSE = 9.0
LOOPBACK = ("127.0.0.1", 0)
FORM = "application/x-www-form-urlencoded"


class WebSub:
    """Asks hubs, in their hosts' turns and by robots.txt, and reads what they push."""

    def __init__(self, crawler: Crawler, values: CheckedSettings) -> None:
        self._crawler = crawler
        self._values = values
        self._asking: dict[str, asyncio.Task[None]] = {}  # by token
        self._pushes: deque[Push] = deque()
        self._reading: asyncio.TimerHandle | None = None
        self._rests_until = 0.0  # by the event loop's clock: no push is read before
        self._callback: Callback | None = None
        self._loop = Loop(self._look)
        self._starting: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if values["WEBSUB_PORT"] is None:
            raise NotConfigured
        return connect_opening(crawler, cls(crawler, values))

    def opened(self) -> None:
        scheduler = scheduler_of(self._crawler)
        crawl = scheduler.crawl
        self._scheduler = scheduler
        self._crawl = crawl
        # This spider makes its requests itself
        if crawl.parts.signalling is None:
            logger.warning("WEBSUB_PORT: no effect, because this crawl does not fetch pages again")
            return
        self._signalling: Signalling = crawl.parts.signalling
        address = address_of(self._values)
        self._subscriptions = Subscriptions(
            crawl.parts.db, crawl.parts.db.get("key") or b"", address
        )
        self._subscriptions.counters = crawl.parts.signalling.signals.counters
        host, port = place(self._values)
        try:
            self._callback = Callback(
                bound(host, port, "WEBSUB_PORT"), self._verify, self._pushed, self._knows
            )
        except CannotListen as error:
            # The port was free when the settings were checked
            scheduler.fail(error)
            return
        # before the state is closed, which hubs would be looked up in
        scheduler.run.stops.callback(self.closed)
        self._starting = asyncio.get_running_loop().create_task(self._callback.start())
        logger.info(
            "WebSub: listening on %s, port %d; hubs are given the address %s", host, port, address
        )
        crawl.parts.signalling.offered = self._offered
        self._loop.start(INTERVAL)

    def closed(self) -> None:
        self._signalling.offered = None
        self._loop.stop()
        if self._reading is not None:
            self._reading.cancel()
        if self._callback is not None:
            self._callback.close()
        for task in self._asking.values():
            task.cancel()

    # -- hubs are asked

    def _offered(self, page: Page) -> None:
        """Note a hub that a page may name, once the page was read."""
        entries = page.found.entries if page.found is not None else ()
        found = offer(page.url, page.headers, entries, self._signalling.site_of)
        if found is not None and page.link is not None:
            # The hub may speak of this site only
            site = self._signalling.site_of(page.url)
            self._subscriptions.offered(
                found.topic, found.hubs, page.link.pack(), site, self._crawl.parts.clock()
            )

    def _look(self) -> None:
        # Questions to hubs wait as all requests do, for an order or for our own network
        if self._crawl.parts.in_force.paused or self._crawl.parts.uplink.out:
            return
        try:
            due = self._subscriptions.due(
                self._crawl.parts.clock(), AT_ONCE - len(self._asking), self._asking
            )
        except StoreError as error:
            self._scheduler.fail(error)
            return
        for one in due:
            task = asyncio.get_running_loop().create_task(self._ask(one))
            self._asking[one.token] = task
            task.add_done_callback(partial(self._asked, one.token))

    def _asked(self, token: str, _: asyncio.Task[None]) -> None:
        self._asking.pop(token, None)

    async def _ask(self, one: Subscription) -> None:
        status = await self._posted(one)
        if status is None:
            return
        try:
            self._subscriptions.sent(one.token, status, self._crawl.parts.clock())
        except StoreError as error:
            self._scheduler.fail(error)

    async def _posted(self, one: Subscription) -> int | None:
        """Return the status of the hub's answer, 0 if there is none; None if the crawl ends."""
        engine: Any = self._crawler.engine
        url = one.hub
        form = self._subscriptions.form(one)
        for _ in range(HOPS + 1):
            request = Request(
                url,
                method="POST",
                body=form,
                headers={"Content-Type": FORM, "Referer": unpack(one.page).url},
                meta={"dont_retry": True, PRIVATE: True},
            )
            try:
                response = await engine.download_async(request)
            except (DownloadCancelledError, asyncio.CancelledError):
                return None
            except Exception as error:  # noqa: BLE001 - whatever it is, the hub has not answered
                if lack(error):
                    return None
                return 0
            location = response.headers.get("Location")
            if response.status not in REDIRECTS or not location:
                return int(response.status)
            url = address(location.decode("latin-1"), url)
            if not url:
                return 0
        return 0

    # -- hubs ask and push

    def _verify(self, token: str, said: Mapping[str, str]) -> str | None:
        try:
            return self._subscriptions.verify(token, said, self._crawl.parts.clock())
        except StoreError as error:
            self._scheduler.fail(error)
            return None

    def _knows(self, token: str) -> bool:
        try:
            return self._subscriptions.knows(token)
        except StoreError as error:
            self._scheduler.fail(error)
            return False

    def _pushed(self, push: Push) -> None:
        if len(self._pushes) >= WAITING:
            self._subscriptions.counters["websub/dropped"] += 1
            return
        self._pushes.append(push)
        self._read_next()

    def _read_next(self) -> None:
        """Schedule the reading of the next push, after a pause, unless that is done already.

        Pushes are read one at a time, so that no hub holds up the crawl.
        """
        if self._pushes and self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.call_at(max(self._rests_until, loop.time() + PACE), self._read)

    def _read(self) -> None:
        began = asyncio.get_running_loop().time()
        now = self._crawl.parts.clock()
        push = self._pushes.popleft()
        try:
            one = self._subscriptions.pushed(push.token, push.signature, push.body, now)
            if one is not None:
                self._heard(one, push, now)
        except (StoreError, OSError, MemoryError) as error:
            self._scheduler.fail(error)
        finally:
            ended = asyncio.get_running_loop().time()
            self._reading = None
            self._rests_until = ended + PAUSE * (ended - began)
            self._read_next()

    def _heard(self, one: Subscription, push: Push, now: float) -> None:
        topic = unpack(one.page)
        entries = all_links(push.body, push.content_type, topic.url).entries
        links = [entry.url for entry in entries if entry.role == "item"]
        if links and self._values["FEED_LINKS"]:
            self._crawl.parts.discovery.discover(topic, links, "L")
        self._signalling.pushed(topic, entries, now)
        self._scheduler.wake()


def place(values: CheckedSettings) -> tuple[str, int]:
    """Return the address and port of the callback: each drone of a hive has a port of its own."""
    host, _ = values["WEBSUB_HOST"] or LOOPBACK
    port = values["WEBSUB_PORT"] or 0
    if values["HIVE_DRONES"]:
        port += values["HIVE_DRONE"]
    return host, port


def address_of(values: CheckedSettings) -> str:
    """Return the URL at which hubs reach the crawl. For a drone, its number is appended."""
    address = values["WEBSUB_ADDRESS"] or ""
    return f"{address}/{values['HIVE_DRONE']}" if values["HIVE_DRONES"] else address
