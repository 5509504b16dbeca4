"""Two loops of a drone: letters out, and letters in."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from webcrawl.hive.contact import Contact
from webcrawl.hive.crawling import Crawling
from webcrawl.hive.errors import Away, ForeignMessage, Full, LaterMap, NewEpoch
from webcrawl.hive.member import Post
from webcrawl.hive.server import Server

logger = logging.getLogger(__name__)

SOON = 0.05  # seconds between two looks for letters to send
WAIT = 1.0  # seconds that a look for letters of others may take
LETTERS = 64  # at once
SLICE = 8  # letters taken in before others have their turn: some 2,000 links
FULL = 1.0  # seconds until a full server is tried again
AGAIN = 0.2  # seconds until a letter is read again that waits for a slot map, or a server that was away


class Carrying:
    """`get_map` brings the latest slot map."""

    def __init__(
        self,
        post: Post,
        server: Server,
        contact: Contact,
        crawling: Crawling,
        get_map: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._post, self._server, self._contact = post, server, contact
        self._crawling, self._get_map = crawling, get_map
        self.handled = 0  # letters, since the start
        self.taken = 0  # bytes of letters, since the last checkpoint
        self._full = False  # the last time that letters were to be sent

    def __repr__(self) -> str:
        return f"<Carrying handled={self.handled} taken={self.taken}>"

    async def out(self) -> None:
        """Sends letters as they are closed."""
        while True:
            await self._contact.there.wait()
            pause = SOON
            try:
                self._post.outbox.close(time.monotonic(), all=self._crawling.idle())
                await self.send_all()
                self._full = False
            except NewEpoch as error:
                self._contact.begin(error.epoch)
            except Full as error:
                pause = FULL
                if not self._full:
                    logger.warning("the hive's server is full (%s): letters to other drones wait on our disk", error)
                self._full = True
            except Away as error:
                self._contact.lost(error)
            await asyncio.sleep(pause)

    async def send_all(self) -> None:
        """Sends what may be sent now."""
        outbox = self._post.outbox
        for drone in list(outbox.drones()):
            while letters := outbox.due(drone, LETTERS):
                places = await self._server.send(drone, [letter.data for letter in letters])
                for letter, place in zip(letters, places, strict=True):
                    outbox.sent(drone, letter, place)

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
                logger.warning("a letter in our stream is not of this hive, and passed over: %s", error)
                inbox.skip(place)
            self.handled += 1
            self.taken += len(data)
        self._crawling.wake()
