"""The two loops of a drone that transfer batches: one sends, and the other receives.

Both use the crawl of the drone, and know whether the server answers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.errors import (
    Away,
    ForeignMessage,
    Full,
    LaterMapNeeded,
    NewEpoch,
    PartAway,
)
from webcrawl.crawl.hive.member import DroneParts
from webcrawl.crawl.hive.transport import Transport

if TYPE_CHECKING:
    from webcrawl.crawl.crawl import Crawl

logger = logging.getLogger(__name__)

REMINDER_SECONDS = 600.0  # between two lines about a server that stays away

SEND_SECONDS = 0.05  # between two turns of the loop that sends
READ_WAIT_SECONDS = 1.0  # for which the server keeps a read that finds no batch
BATCHES_AT_ONCE = 64  # in one call to the server
RECEIVE_SLICE = 8  # batches received before other tasks have their turn: some 2,000 links
FULL_SERVER_SECONDS = 1.0  # until a full server is tried again
# Until a batch is read again that needs a later slot map, or from a server that was away
READ_AGAIN_SECONDS = 0.2


class DroneCrawl(Protocol):
    """The scheduler of the drone's crawl, as far as the drone's loops need it."""

    @property
    def crawl(self) -> Crawl: ...

    @property
    def hive(self) -> HiveState: ...

    @property
    def rests(self) -> bool:
        """Return whether nothing is left but to try deferred hosts, for long enough."""

    @property
    def got(self) -> bool:
        """Return whether the crawl has got a page, in any of its runs."""

    def has_work(self) -> bool:
        """Return False if nothing is left to do, unless other drones send something."""

    def wake(self) -> None:
        """Look for something to fetch: there may be some now."""

    def checkpoint(self) -> Awaitable[None]:
        """Take a checkpoint now."""

    def fail(self, error: Exception) -> None:
        """End the crawl because of an error that cannot be mended."""


class HiveState(Protocol):
    """The hive as the crawl of a drone sees it: whether the other drones are done."""

    others_done: bool


class ServerContact:
    """Knows whether the server answers: `reachable` is set as long as it does."""

    def __init__(self, parts: DroneParts, server: Transport) -> None:
        self._parts = parts
        self._server = server
        self.reachable = asyncio.Event()
        self._acknowledged = ""  # the last place that the server was told in this epoch
        self._away_since = 0.0  # monotonic
        self._logged_at = 0.0  # monotonic; 0: the log says that the server is there, or nothing
        self._answered = 0.0  # monotonic; 0: not in this run
        # When the server last answered, by the machine's clock; None before the first answer
        self.answered_at: float | None = None
        # by the machine's clock; None while the server answers
        self.absent_since: float | None = None

    def follow_epoch(self, epoch: str) -> None:
        """Send and read from the beginning of the streams of this epoch."""
        self._parts.outbox.new_epoch(epoch)
        self._parts.inbox.new_epoch(epoch)
        self._server.follow(epoch)
        self._acknowledged = ""

    def note_lost(self, error: Away) -> None:
        """Note that the server does not answer, in the log at once and every ten minutes."""
        now = time.monotonic()
        if self.reachable.is_set() or not self._logged_at:
            # A call to a server that hangs fails long after the last answer.
            self._away_since = self._answered or now
            self._logged_at = now
            self.absent_since = self.answered_at or time.time()
            logger.warning(
                "the hive's server does not answer (%s): this drone continues with its own hosts "
                "until HIVE_FENCE is over",
                error,
            )
        elif now - self._logged_at >= REMINDER_SECONDS:
            self._logged_at = now
            logger.warning(
                "the hive's server has not answered for %.0f s (%s)", now - self._away_since, error
            )
        self.reachable.clear()

    def note_answer(self) -> None:
        """Note the time of an answer."""
        self._answered = time.monotonic()
        self.answered_at = time.time()

    def note_found(self) -> None:
        """Note that the server answers, in the log if that says that it did not."""
        self.note_answer()
        self.reachable.set()
        self.absent_since = None
        if self._logged_at:
            logger.info(
                "the hive's server is back after %.0f s", time.monotonic() - self._away_since
            )
            self._logged_at = 0.0

    async def acknowledge(self) -> None:
        """Tell the senders up to which place our last checkpoint has their batches."""
        place = self._parts.inbox.committed_place
        if place not in (self._acknowledged, BEGINNING):
            await self._server.acknowledge(place)
            self._acknowledged = place


class BatchTransfer:
    """Sends and receives the batches of one drone."""

    def __init__(
        self,
        parts: DroneParts,
        server: Transport,
        contact: ServerContact,
        crawl: DroneCrawl,
        learn_map: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """`learn_map` fetches the latest slot map, and has the drone learn it."""
        self._parts = parts
        self._server = server
        self._contact = contact
        self._crawl = crawl
        self._learn_map = learn_map
        self.received_batches = 0  # since the start
        self.unsaved_bytes = 0  # of batches received since the last checkpoint
        self._is_refused = False  # the server was full when batches were last to be sent

    async def send_loop(self) -> None:
        """Close batches as they are due, and send them, for ever."""
        while True:
            await self._contact.reachable.wait()
            pause = SEND_SECONDS
            try:
                if self._crawl.has_work():
                    self._parts.outbox.close_old(time.monotonic())
                else:
                    self._parts.outbox.close_all()
                await self.send_due_batches()
                if self._is_refused:
                    logger.info("the hive's server accepts batches again")
                self._is_refused = False
            except NewEpoch as error:
                self._contact.follow_epoch(error.epoch)
            except Full as error:
                pause = FULL_SERVER_SECONDS
                if not self._is_refused:
                    logger.warning(
                        "the hive's server is %s (%s): batches for other drones wait on this drone's disk",
                        error.state,
                        error,
                    )
                self._is_refused = True
            except Away as error:
                self._contact.note_lost(error)
            await asyncio.sleep(pause)

    async def send_due_batches(self) -> None:
        """Send all batches that may be sent now.

        Raise PartAway after that if a drone's stream could not be reached, and Away, Full or
        NewEpoch at once.
        """
        outbox = self._parts.outbox
        unreached: PartAway | None = None
        for drone in list(outbox.drones()):
            try:
                while batches := outbox.due_batches(drone, BATCHES_AT_ONCE):
                    places = await self._server.send(drone, [batch.data for batch in batches])
                    for batch, place in zip(batches, places, strict=True):
                        outbox.note_sent(drone, batch, place)
            except PartAway as error:  # batches for other drones are sent all the same
                unreached = error
        if unreached is not None:
            raise unreached

    async def receive_loop(self) -> None:
        """Receive what other drones send, for ever."""
        while True:
            await self._contact.reachable.wait()
            try:
                await self._receive_batches()
                continue
            except LaterMapNeeded:  # without it the batch would go back to where the slots were
                await self._learn_map()
            except NewEpoch as error:
                self._contact.follow_epoch(error.epoch)
                continue
            except Away as error:
                self._contact.note_lost(error)
            await asyncio.sleep(READ_AGAIN_SECONDS)

    async def _receive_batches(self) -> None:
        """Read the next batches, and have the inbox handle them; log those of another hive."""
        inbox = self._parts.inbox
        epoch = inbox.epoch
        batches = await self._server.read(inbox.place, BATCHES_AT_ONCE, READ_WAIT_SECONDS)
        for number, (place, data) in enumerate(batches):
            if number and number % RECEIVE_SLICE == 0:
                self._crawl.wake()
                await asyncio.sleep(0)
            if inbox.epoch != epoch:  # the streams have begun anew meanwhile
                return
            try:
                inbox.receive(place, data)
            except ForeignMessage as error:
                logger.warning("an entry in this drone's stream was ignored: %s", error)
                inbox.skip(place)
            self.received_batches += 1
            self.unsaved_bytes += len(data)
        self._crawl.wake()
