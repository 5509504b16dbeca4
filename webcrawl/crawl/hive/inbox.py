"""Letters of other drones: each exact one is handled once, however often it comes, and the checkpoint knows how far.

Epoch, place in the stream, and for each sender the number of the last exact message are part of the checkpoint that has
the effects of all these messages.
"""

from __future__ import annotations

from collections.abc import Callable

import msgpack

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.keys import BEGINNING, order
from webcrawl.crawl.hive.letter import EXACT, Letter, unpack
from webcrawl.store.crawldb import CrawlDB, Part

META = "hive/inbox"  # in the database


class Inbox(Part):
    """A Part of the checkpoint, and its follower (`committed`)."""

    def __init__(self, db: CrawlDB, hive: bytes, handle: Callable[[Letter], None]) -> None:
        self._db, self._hive, self._handle = db, hive, handle
        self.epoch, self.place = "", BEGINNING
        self._last: dict[int, tuple[int, int]] = {}  # by sender: channel and number
        self.senders: set[int] = set()  # of what no checkpoint has
        saved = db.get(META)
        if saved is not None:
            self.epoch, self.place, last = msgpack.unpackb(saved)
            self._last = {sender: (channel, number) for sender, channel, number in last}
        self.committed_place = self.place  # what may be acknowledged
        self._written = self._saved = self.epoch, self.place
        db.join(self)

    def received(self, place: str, data: bytes) -> bool:
        """Handles a message and advances to its place; False if it was known. ForeignMessage: it is not ours."""
        if order(place) <= order(self.place):
            return False
        message = unpack(data, self._hive)
        new = message.kind not in EXACT or self._is_next(message)
        if new:
            self._handle(message)
            self.senders.add(message.sender)
            if message.kind in EXACT:
                self._last[message.sender] = message.channel, message.number
        self.place = place
        return new

    def skip(self, place: str) -> None:
        """Passes over what is not of this hive."""
        self.place = place

    def _is_next(self, message: Letter) -> bool:
        channel, number = self._last.get(message.sender, (0, 0))
        expected = number + 1 if channel == message.channel else 1
        if message.number > expected:
            raise HiveError(
                f"drone {message.sender} sent message {message.number}, but {expected} has not come: messages were lost"
            )
        return message.number == expected

    def new_epoch(self, epoch: str) -> None:
        """The stream has begun anew."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.place = self.committed_place = BEGINNING

    # -- the checkpoint

    def save(self) -> None:
        """Writes how far everything is handled; whatever changes, the place does too."""
        self._saved = self.epoch, self.place
        self.senders = set()
        if self._saved != self._written:
            last = [(sender, channel, number) for sender, (channel, number) in self._last.items()]
            self._db.set(META, msgpack.packb((self.epoch, self.place, last)))
            self._written = self._saved

    def committed(self) -> None:
        """Call after COMMIT."""
        epoch, place = self._saved
        if epoch == self.epoch:
            self.committed_place = place
