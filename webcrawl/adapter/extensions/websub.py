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

INTERVAL = 1.0  # seconds between two checks which hubs are to be asked
MAX_HUB_REQUESTS = 8  # at once, each in its host's turn
# Further pushes are dropped; the feed itself is fetched in its turn
MAX_WAITING_PUSHES = 16
MIN_PAUSE = 0.02  # seconds between two pushes that are read
# The pause is at least this many times as long as the last push took to be read, which may be a
# second. So hubs get at most a tenth of the crawl's time.
PAUSE_FACTOR = 9.0
LOOPBACK = ("127.0.0.1", 0)
FORM = "application/x-www-form-urlencoded"


class WebSub:
    """Subscribes at hubs, in their hosts' turns and by robots.txt, and reads what they push."""

    def __init__(self, crawler: Crawler, values: CheckedSettings) -> None:
        self._crawler = crawler
        self._values = values
        self._asking: dict[str, asyncio.Task[None]] = {}  # by token
        self._pushes: deque[Push] = deque()
        self._reading: asyncio.TimerHandle | None = None
        self._rests_until = 0.0  # no push is read before this time of the event loop
        self._callback: Callback | None = None
        self._loop = Loop(self._ask_due_hubs)
        self._starting: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if values["WEBSUB_PORT"] is None:
            raise NotConfigured
        return connect_opening(crawler, cls(crawler, values))

    def opened(self) -> None:
        """Listen for pushes, and begin to subscribe. Warn if the crawl has no revisits."""
        scheduler = scheduler_of(self._crawler)
        crawl = scheduler.crawl
        self._scheduler = scheduler
        self._crawl = crawl
        # Without revisits, or in a crawl of a spider that makes its own requests
        if crawl.parts.signalling is None:
            logger.warning("WEBSUB_PORT: no effect, because this crawl does not fetch pages again")
            return
        self._signalling: Signalling = crawl.parts.signalling
        callback_url = callback_url_of(self._values)
        self._subscriptions = Subscriptions(
            crawl.parts.db, crawl.parts.db.get("key") or b"", callback_url
        )
        self._subscriptions.counters = crawl.parts.signalling.signals.counters
        host, port = listening_place(self._values)
        try:
            self._callback = Callback(
                bound(host, port, "WEBSUB_PORT"), self._verify, self._queue_push, self._knows
            )
        except CannotListen as error:
            # The port was free when the settings were checked, but is not any more
            scheduler.fail(error)
            return
        # Before the state is closed, in which an answer to a hub is looked up
        scheduler.run.stops.callback(self.closed)
        self._starting = asyncio.get_running_loop().create_task(self._callback.start())
        logger.info(
            "WebSub: listening on %s, port %d; hubs are given the address %s",
            host,
            port,
            callback_url,
        )
        crawl.parts.signalling.offered = self._note_hub
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

    def _note_hub(self, page: Page) -> None:
        """Note the hubs that a page names, if it names any. Called when the page has been read."""
        entries = page.found.entries if page.found is not None else ()
        hub_offer = offer(page.url, page.headers, entries, self._signalling.site_of)
        if hub_offer is not None and page.link is not None:
            # A hub may push changes of this site only
            site = self._signalling.site_of(page.url)
            self._subscriptions.offered(
                hub_offer.topic, hub_offer.hubs, page.link.pack(), site, self._crawl.parts.clock()
            )

    def _ask_due_hubs(self) -> None:
        """Begin the requests to hubs that are due."""
        # Like all requests, these wait while the crawl is paused or our own network is out
        if self._crawl.parts.in_force.paused or self._crawl.parts.uplink.out:
            return
        try:
            due = self._subscriptions.due(
                self._crawl.parts.clock(), MAX_HUB_REQUESTS - len(self._asking), self._asking
            )
        except StoreError as error:
            self._scheduler.fail(error)
            return
        for subscription in due:
            task = asyncio.get_running_loop().create_task(self._ask(subscription))
            self._asking[subscription.token] = task
            task.add_done_callback(partial(self._forget_request, subscription.token))

    def _forget_request(self, token: str, _: asyncio.Task[None]) -> None:
        self._asking.pop(token, None)

    async def _ask(self, subscription: Subscription) -> None:
        """Send a subscription to its hub, and note the status of the answer."""
        status = await self._post(subscription)
        try:
            self._subscriptions.sent(subscription.token, status, self._crawl.parts.clock())
        except StoreError as error:
            self._scheduler.fail(error)

    async def _post(self, subscription: Subscription) -> int | None:
        """Post a subscription to its hub, and follow redirects.

        Return the status of the answer, or 0 if there is none. Return None if our machine lacks
        something or the crawl ends, so that the hub is asked again later.
        """
        engine: Any = self._crawler.engine
        url = subscription.hub
        form = self._subscriptions.form(subscription)
        for _ in range(HOPS + 1):
            request = Request(
                url,
                method="POST",
                body=form,
                headers={"Content-Type": FORM, "Referer": unpack(subscription.page).url},
                meta={"dont_retry": True, PRIVATE: True},
            )
            try:
                response = await engine.download_async(request)
            except DownloadCancelledError:
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

    def _verify(self, token: str, parameters: Mapping[str, str]) -> str | None:
        """Return the text by which a hub's question for a subscription is confirmed, or None."""
        try:
            return self._subscriptions.verify(token, parameters, self._crawl.parts.clock())
        except StoreError as error:
            self._scheduler.fail(error)
            return None

    def _knows(self, token: str) -> bool:
        try:
            return self._subscriptions.knows(token)
        except StoreError as error:
            self._scheduler.fail(error)
            return False

    def _queue_push(self, push: Push) -> None:
        """Have a push read later, or drop it if too many wait."""
        if len(self._pushes) >= MAX_WAITING_PUSHES:
            self._subscriptions.counters["websub/dropped"] += 1
            return
        self._pushes.append(push)
        self._schedule_reading()

    def _schedule_reading(self) -> None:
        """Schedule the reading of the next push after a pause, unless that is already scheduled.

        Pushes are read one at a time, so that no hub holds up the crawl.
        """
        if self._pushes and self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.call_at(
                max(self._rests_until, loop.time() + MIN_PAUSE), self._read_push
            )

    def _read_push(self) -> None:
        """Read the next push, if it is authentic, and schedule the one after it."""
        began = asyncio.get_running_loop().time()
        now = self._crawl.parts.clock()
        push = self._pushes.popleft()
        try:
            subscription = self._subscriptions.pushed(push.token, push.signature, push.body, now)
            if subscription is not None:
                self._apply_push(subscription, push, now)
        except (StoreError, OSError, MemoryError) as error:
            self._scheduler.fail(error)
        finally:
            ended = asyncio.get_running_loop().time()
            self._reading = None
            self._rests_until = ended + PAUSE_FACTOR * (ended - began)
            self._schedule_reading()

    def _apply_push(self, subscription: Subscription, push: Push, now: float) -> None:
        """Submit the links of a pushed feed, and have its changed pages fetched again."""
        topic = unpack(subscription.page)
        entries = all_links(push.body, push.content_type, topic.url).entries
        links = [entry.url for entry in entries if entry.role == "item"]
        if links and self._values["FEED_LINKS"]:
            self._crawl.parts.discovery.discover(topic, links, "L")
        self._signalling.pushed(topic, entries, now)
        self._scheduler.wake()


def listening_place(values: CheckedSettings) -> tuple[str, int]:
    """Return the host and port to listen on. Each drone of a hive has a port of its own."""
    host, _ = values["WEBSUB_HOST"] or LOOPBACK
    port = values["WEBSUB_PORT"] or 0
    if values["HIVE_DRONES"]:
        port += values["HIVE_DRONE"]
    return host, port


def callback_url_of(values: CheckedSettings) -> str:
    """Return the URL at which hubs reach the crawl, with the number of the drone in a hive."""
    address = values["WEBSUB_ADDRESS"] or ""
    return f"{address}/{values['HIVE_DRONE']}" if values["HIVE_DRONES"] else address
