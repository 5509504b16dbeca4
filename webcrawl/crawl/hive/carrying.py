"""The two loops of a drone that carry letters: one sends, and the other receives.

Both see the crawl of the drone, and whether the server is there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.crawl.hive.errors import Away, ForeignMessage, Full, LaterMap, NewEpoch, PartAway
from webcrawl.crawl.hive.letter import BEGINNING
from webcrawl.crawl.hive.member import Post
from webcrawl.crawl.hive.transport import Transport

if TYPE_CHECKING:
    from webcrawl.crawl.crawl import Crawl

logger = logging.getLogger(__name__)

REMIND = 600.0  # seconds between two lines about a server that stays away

SOON = 0.05  # seconds between two looks for letters to send
WAIT = 1.0  # seconds that a look for letters of others may take
LETTERS = 64  # at once
SLICE = 8  # letters taken in before others have their turn: some 2,000 links
FULL = 1.0  # seconds until a full server is tried again
# seconds until a letter is read again that waits for a slot map, or a server that was away
AGAIN = 0.2


class Crawling(Protocol):
    """The scheduler of the drone's crawl, as far as the loops need it."""

    @property
    def crawl(self) -> Crawl: ...

    @property
    def hive(self) -> Side: ...

    @property
    def rests(self) -> bool:
        """Return whether nothing is left but to try hosts set aside, for long enough."""

    @property
    def got(self) -> bool:
        """Return whether the crawl has got a page, in any of its runs."""

    def has_work(self) -> bool:
        """Return False if nothing is left to do, unless other drones send something."""

    def wake(self) -> None:
        """Look for something to fetch: there may be some now."""

    def checkpoint(self) -> Awaitable[None]:
        """Takes a checkpoint now."""

    def fail(self, error: Exception) -> None:
        """Ends the crawl: this cannot be mended."""


class Side(Protocol):
    """The hive as the crawl of a drone sees it: whether the other drones are done."""

    others_done: bool


class Contact:
    """Knows whether the server answers: `there` is set as long as it does."""

    def __init__(self, post: Post, server: Transport) -> None:
        self._post = post
        self._server = server
        self.there = asyncio.Event()
        self._acknowledged = ""
        self._away_since = 0.0
        self._told_at = 0.0
        # by the machine's clock; None while the server answers
        self.absent_since: float | None = None

    def begin(self, epoch: str) -> None:
        """Send and read from the beginning of the streams of this epoch."""
        self._post.outbox.new_epoch(epoch)
        self._post.inbox.new_epoch(epoch)
        self._server.follow(epoch)
        self._acknowledged = ""

    def lost(self, error: Away) -> None:
        """Note that the server does not answer, in the log at once and every ten minutes."""
        now = time.monotonic()
        if self.there.is_set() or not self._told_at:
            self._away_since = now
            self._told_at = now
            self.absent_since = time.time()
            logger.warning(
                "the hive's server does not answer (%s): this drone continues with its own hosts",
                error,
            )
        elif now - self._told_at >= REMIND:
            self._told_at = now
            logger.warning(
                "the hive's server has not answered for %.0f s (%s)", now - self._away_since, error
            )
        self.there.clear()

    def found(self) -> None:
        """Note that the server answers."""
        self.there.set()
        self.absent_since = None
        if self._told_at:
            logger.info(
                "the hive's server is back after %.0f s", time.monotonic() - self._away_since
            )
            self._told_at = 0.0

    async def acknowledge(self) -> None:
        """Tells the others how far our last checkpoint has what they sent."""
        place = self._post.inbox.committed_place
        if place not in (self._acknowledged, BEGINNING):
            await self._server.acknowledge(place)
            self._acknowledged = place


class Carrying:
    """Carries the letters of one drone. `get_map` brings the latest slot map."""

    def __init__(
        self,
        post: Post,
        server: Transport,
        contact: Contact,
        crawling: Crawling,
        get_map: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._post = post
        self._server = server
        self._contact = contact
        self._crawling = crawling
        self._get_map = get_map
        self.handled = 0  # letters, since the start
        self.taken = 0  # bytes of letters, since the last checkpoint
        self._full = False  # the last time that letters were to be sent

    async def out(self) -> None:
        """Sends letters as they are closed."""
        while True:
            await self._contact.there.wait()
            pause = SOON
            try:
                self._post.outbox.close(time.monotonic(), all=not self._crawling.has_work())
                await self.send_all()
                if self._full:
                    logger.info("the hive's server accepts letters again")
                self._full = False
            except NewEpoch as error:
                self._contact.begin(error.epoch)
            except Full as error:
                pause = FULL
                if not self._full:
                    logger.warning(
                        "the hive's server is %s (%s): letters to other drones wait on this drone's disk",
                        error.state,
                        error,
                    )
                self._full = True
            except Away as error:
                self._contact.lost(error)
            await asyncio.sleep(pause)

    async def send_all(self) -> None:
        """Sends what may be sent now."""
        outbox = self._post.outbox
        away: PartAway | None = None
        for drone in list(outbox.drones()):
            try:
                while letters := outbox.due(drone, LETTERS):
                    places = await self._server.send(drone, [letter.data for letter in letters])
                    for letter, place in zip(letters, places, strict=True):
                        outbox.sent(drone, letter, place)
            except PartAway as error:  # the others' letters go on
                away = error
        if away is not None:
            raise away

    async def into(self) -> None:
        """Takes in what others send."""
        while True:
            await self._contact.there.wait()
            try:
                await self._read()
                continue
            except LaterMap:  # without it the letter would go back to where the slots were
                await self._get_map()
            except NewEpoch as error:
                self._contact.begin(error.epoch)
                continue
            except Away as error:
                self._contact.lost(error)
            await asyncio.sleep(AGAIN)

    async def _read(self) -> None:
        inbox = self._post.inbox
        epoch = inbox.epoch
        for number, (place, data) in enumerate(await self._server.read(inbox.place, LETTERS, WAIT)):
            if number and number % SLICE == 0:
                self._crawling.wake()
                await asyncio.sleep(0)
            if inbox.epoch != epoch:  # the streams have begun anew meanwhile
                return
            try:
                inbox.received(place, data)
            except ForeignMessage as error:
                logger.warning("a letter in this drone's stream was ignored: %s", error)
                inbox.skip(place)
            self.handled += 1
            self.taken += len(data)
        self._crawling.wake()
