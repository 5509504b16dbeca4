"""The messages between drones: their bytes, and how each exact one is handled once.

A message is a head, and its items as the zstd frame of a msgpack array. The head has magic,
version, kind, sender, generation, channel, number, how many items there are, 16 bytes that stand
for the hive, and the crc32 of all that and of the frame (docs/hive-protocol.md). Whatever the bytes
are, reading them gives a message of plain values, or ForeignMessage; nothing of them is ever
executed.
What the items are is checked one by one, in letter_check.py.

However often an exact message comes, it has effects once: the epoch, the place in the stream, and
for each sender the number of the last exact message are part of the checkpoint that has the effects
of all these messages.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

import msgpack

from webcrawl.base import zstd_frame
from webcrawl.crawl.hive.errors import ForeignMessage, HiveError
from webcrawl.crawl.hive.partition import MOST_DRONES
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.rowcrc import crc32_of_many

MAGIC, VERSION = b"WCHV", 1
# magic, version, kind, sender, generation, channel, number, count, hive
HEAD = struct.Struct("<4sBBHIIQI16s")
CRC = struct.Struct("<I")
START = HEAD.size + CRC.size
LARGEST = 16 << 20  # bytes that a frame may unpack to
SURROGATES = "surrogatepass"  # what other people's pages have in them can be sent as it is


class Kind(IntEnum):
    """The kinds of items in a message; the numbers are on the wire and in spools."""

    LINKS = 1  # packed links (model.Link.pack): through the owner's seen store
    VOTES = 2  # [registered domain of a page, URL that it links to]
    REQUESTS = 3  # [record, variant, free]: requests of a spider; free: without the seen test
    QUEUED = 4  # packed links that are known to be new: to the owner's frontier
    # [record, status, body, location, chain]: the answer to a robots.txt that was asked for another
    # drone
    ROBOTS = 5
    SLOT = 6  # pieces of a slot that changes hands (slot_moves.py)


EXACT = frozenset((Kind.REQUESTS, Kind.QUEUED, Kind.SLOT))
"""Kinds that must be received exactly once. Of all others a second copy does no harm: the seen store decides."""

LINKS = frozenset((Kind.LINKS, Kind.QUEUED))
"""Kinds with packed links as their items."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A batch of items for one drone."""

    kind: Kind
    sender: int
    generation: int  # of the sender's slot map
    # of an exact message: they ascend from 1 for each sender and receiver; 0 for others
    number: int
    items: list[Any]
    # of an exact message: another one where the numbers begin anew, after a drone was lost
    channel: int = 0


class TooLong(HiveError):  # noqa: N818 - reads as what it is
    """The items are more than a letter may hold."""


@lru_cache(maxsize=16)
def hive_id(hive: bytes) -> bytes:
    """Return the mark of the hive on the wire, by which its key stays secret."""
    return hashlib.blake2b(hive, digest_size=16, person=b"webcrawl hive").digest()


def pack(message: Letter, hive: bytes, most: int = LARGEST) -> bytes:
    """Return the bytes of a message.

    Raise TooLong if its items take more than `most` bytes uncompressed.
    """
    items = msgpack.packb(message.items, unicode_errors=SURROGATES)
    if len(items) > most:
        raise TooLong(
            f"{len(message.items)} items for another drone take {len(items)} bytes, but a letter "
            f"holds at most {most}"
        )
    head = HEAD.pack(
        MAGIC,
        VERSION,
        message.kind,
        message.sender,
        message.generation,
        message.channel,
        message.number,
        len(message.items),
        hive_id(hive),
    )
    frame = zstd_frame.pack(items)
    return b"".join((head, CRC.pack(crc32_of_many(frame, crc32_of_many(head))), frame))


def unpack(data: bytes, hive: bytes) -> Letter:
    """Return the message that `pack` made these bytes of, for the same hive.

    Raise ForeignMessage for all else.
    """
    return read(data, hive_id(hive))[1]


def read(data: bytes, expected: bytes | None = None) -> tuple[bytes, Letter]:
    """Return the mark of a message's hive, and the message; `expected`: the only valid mark.

    Raise ForeignMessage for other bytes.
    """
    if not data.startswith(MAGIC):
        raise ForeignMessage("it does not begin like a letter of a hive")
    if len(data) < START:
        raise ForeignMessage("it is damaged: it ends within its head")
    _, version, kind, sender, generation, channel, number, count, hive = HEAD.unpack_from(data)
    if version != VERSION:
        raise ForeignMessage(
            f"it was written in version {version} of the format, but this program reads version {VERSION}"
        )
    frame = data[START:]
    if CRC.unpack_from(data, HEAD.size)[0] != crc32_of_many(
        frame, crc32_of_many(data[: HEAD.size])
    ):
        raise ForeignMessage("it is damaged: its checksum is wrong")
    if expected not in (None, hive):
        raise ForeignMessage("it belongs to another hive that has the same name on this server")
    try:
        what = Kind(kind)
    except ValueError as error:
        raise ForeignMessage(f"it is of kind {kind}, which this program does not know") from error
    if sender >= MOST_DRONES or (what in EXACT) != bool(number) or (what in EXACT) != bool(channel):
        raise ForeignMessage(
            f"it claims to be number {number} from drone {sender}, which is impossible"
        )
    message = Letter(what, sender, generation, number, _items(frame), channel)
    _check_items(message.items, count)
    return hive, message


def _items(frame: bytes) -> Any:
    try:
        data = zstd_frame.unpack(frame, LARGEST)
        return msgpack.unpackb(
            data, strict_map_key=False, ext_hook=_refuse, unicode_errors=SURROGATES
        )
    except (msgpack.UnpackException, ValueError, TypeError) as error:
        raise ForeignMessage(f"its items cannot be read: {error!r}") from error


def _refuse(code: int, _data: bytes) -> Any:
    raise ValueError(f"it has an extension of type {code}")


def _check_items(items: Any, count: int) -> None:
    if not isinstance(items, list) or len(items) != count:
        raise ForeignMessage("the number of its items differs from what its head says")


# -- letters of other drones

INBOX = "hive/inbox"  # in the database
BEGINNING = "0-0"  # the place in a stream before its first letter


def order(place: str) -> int:
    """Return a number by which places in a stream compare. Raise ValueError if this is no place."""
    major, _, minor = place.partition("-")
    return int(major) << 64 | int(minor)


def read_inbox(saved: bytes | None) -> tuple[str, str, dict[int, tuple[int, int]]]:
    """Return the epoch, the place, and by sender channel and number of its last exact letter."""
    if saved is None:
        return "", BEGINNING, {}
    epoch, place, last = msgpack.unpackb(saved)
    return epoch, place, {sender: (channel, number) for sender, channel, number in last}


class Inbox(Part):
    """Handles each exact letter of other drones once.

    A Part of the checkpoint, and its follower (`committed`).
    """

    def __init__(self, db: CrawlDB, hive: bytes, handle: Callable[[Letter], None]) -> None:
        self._db = db
        self._hive = hive
        self._handle = handle
        self.epoch, self.place, self._last = read_inbox(db.get(INBOX))
        self.senders: set[int] = set()  # of what no checkpoint has
        self.committed_place = self.place  # what may be acknowledged
        self._written = self.epoch, self.place
        self._saved = self._written
        db.join(self)

    def received(self, place: str, data: bytes) -> bool:
        """Handle a message and advance to its place; return whether it was new.

        Raise ForeignMessage if it is not of this hive.
        """
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
                f"drone {message.sender} sent letter {message.number}, but letter {expected} has "
                "not arrived: letters were lost"
            )
        return message.number == expected

    def new_epoch(self, epoch: str) -> None:
        """Read from the beginning of this epoch's stream."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.place = BEGINNING
            self.committed_place = BEGINNING

    # -- the checkpoint

    def save(self) -> None:
        """Write how far everything is handled; whatever changes, the place does too."""
        self._saved = self.epoch, self.place
        self.senders = set()
        if self._saved != self._written:
            last = [(sender, channel, number) for sender, (channel, number) in self._last.items()]
            self._db.set(INBOX, msgpack.packb((self.epoch, self.place, last)))
            self._written = self._saved

    def committed(self) -> None:
        """Let all be acknowledged that the checkpoint has; call it after COMMIT."""
        epoch, place = self._saved
        if epoch == self.epoch:
            self.committed_place = place
