"""Batches of items for other drones: their bytes, and how each exact one is handled once.

A batch is a head, and its items as the zstd frame of a msgpack array. The head has magic, version,
kind, sender, generation, channel, number, how many items there are, 16 bytes that stand for the
hive, and the crc32 of all that and of the frame (docs/hive-protocol.md). Whatever the bytes are,
reading them gives a batch of plain values, or ForeignMessage; nothing of them is ever executed.
What the items are is checked one by one, in batch_check.py.

However often an exact batch comes, it has effects once: the epoch, the place in the stream, and for
each sender the number of the last exact batch are part of the checkpoint that has the effects of
all these batches.
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
from webcrawl.crawl.hive.partition import MAX_DRONES
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.rowcrc import crc32_of_many

MAGIC = b"WCHV"
VERSION = 1
# magic, version, kind, sender, generation, channel, number, count, hive
HEAD = struct.Struct("<4sBBHIIQI16s")
CRC = struct.Struct("<I")
HEAD_BYTES = HEAD.size + CRC.size
MAX_ITEMS_BYTES = 16 << 20  # that a frame may unpack to
# Text of pages may have lone surrogates, and is sent as it is.
UNICODE_ERRORS = "surrogatepass"


class Kind(IntEnum):
    """The kinds of items, one for all of a batch; the numbers are on the wire and in outboxes."""

    LINKS = 1  # packed links (model.Link.pack): through the owner's seen store
    VOTES = 2  # [registered domain of a page, URL that it links to]
    REQUESTS = 3  # [record, variant, free]: requests of a spider; free: without the seen test
    QUEUED = 4  # packed links that are known to be new: to the owner's frontier
    # [record, status, body, location, chain]: the answer to a robots.txt that was asked for another
    # drone
    ROBOTS = 5
    SLOT = 6  # pieces of a slot that changes hands (slot_moves.py)


EXACT_KINDS = frozenset((Kind.REQUESTS, Kind.QUEUED, Kind.SLOT))
"""Kinds that must be received exactly once. Of all others a second copy does no harm: the seen store decides."""

LINK_KINDS = frozenset((Kind.LINKS, Kind.QUEUED))
"""Kinds with packed links as their items."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one kind that a drone sends to another, up to outbox.MAX_ITEMS of them."""

    kind: Kind
    sender: int
    generation: int  # of the sender's slot map
    number: int  # of an exact batch, ascending from 1 for each sender and receiver; else 0
    items: list[Any]
    # Of an exact batch, a random number; else 0. Numbers begin at 1 in another channel when a
    # drone was lost and another one has its number.
    channel: int = 0


class BatchTooLarge(HiveError):  # noqa: N818 - reads as what it is
    """The items are more than a batch may hold."""


@lru_cache(maxsize=16)
def hive_id(hive: bytes) -> bytes:
    """Return the digest of the hive's key that batches carry in place of the secret key."""
    return hashlib.blake2b(hive, digest_size=16, person=b"webcrawl hive").digest()


def pack_batch(batch: Batch, hive: bytes, max_items_bytes: int = MAX_ITEMS_BYTES) -> bytes:
    """Return the batch as it goes over the wire, for the hive with this key.

    Raise BatchTooLarge if its items take more than `max_items_bytes` uncompressed.
    """
    items = msgpack.packb(batch.items, unicode_errors=UNICODE_ERRORS)
    if len(items) > max_items_bytes:
        raise BatchTooLarge(
            f"{len(batch.items)} items for another drone take {len(items)} bytes, but a batch "
            f"holds at most {max_items_bytes}"
        )
    head = HEAD.pack(
        MAGIC,
        VERSION,
        batch.kind,
        batch.sender,
        batch.generation,
        batch.channel,
        batch.number,
        len(batch.items),
        hive_id(hive),
    )
    frame = zstd_frame.pack(items)
    return b"".join((head, CRC.pack(_checksum(head, frame)), frame))


def unpack_batch(data: bytes, hive: bytes) -> Batch:
    """Return the batch that `pack_batch` made these bytes of, for the same hive.

    Raise ForeignMessage for all other bytes.
    """
    _, batch = read_batch(data, hive_id(hive))
    return batch


def read_batch(data: bytes, expected_hive: bytes | None = None) -> tuple[bytes, Batch]:
    """Return the digest of the batch's hive (see `hive_id`), and the batch.

    Raise ForeignMessage if the bytes are no batch, or one of another hive than the expected one.
    """
    if not data.startswith(MAGIC):
        raise ForeignMessage("it does not begin like a batch of a hive")
    if len(data) < HEAD_BYTES:
        raise ForeignMessage("it is damaged: it ends within its head")
    _, version, kind_number, sender, generation, channel, number, count, hive = HEAD.unpack_from(
        data
    )
    if version != VERSION:
        raise ForeignMessage(
            f"it was written in version {version} of the format, but this program reads version {VERSION}"
        )
    frame = data[HEAD_BYTES:]
    (checksum,) = CRC.unpack_from(data, HEAD.size)
    if checksum != _checksum(data[: HEAD.size], frame):
        raise ForeignMessage("it is damaged: its checksum is wrong")
    if expected_hive not in (None, hive):
        raise ForeignMessage("it belongs to another hive that has the same name on this server")
    try:
        kind = Kind(kind_number)
    except ValueError as error:
        raise ForeignMessage(
            f"it is of kind {kind_number}, which this program does not know"
        ) from error
    is_exact = kind in EXACT_KINDS
    is_numbered_as_its_kind = bool(number) == is_exact and bool(channel) == is_exact
    if sender >= MAX_DRONES or not is_numbered_as_its_kind:
        raise ForeignMessage(
            f"it claims to be number {number} from drone {sender}, which is impossible"
        )
    items = _unpack_items(frame, count)
    return hive, Batch(kind, sender, generation, number, items, channel)


def _checksum(head: bytes, frame: bytes) -> int:
    return crc32_of_many(frame, crc32_of_many(head))


def _unpack_items(frame: bytes, count: int) -> list[Any]:
    """Return the items of a frame. Raise ForeignMessage unless they are a list of so many."""
    try:
        data = zstd_frame.unpack(frame, MAX_ITEMS_BYTES)
        items = msgpack.unpackb(
            data, strict_map_key=False, ext_hook=_refuse_extension, unicode_errors=UNICODE_ERRORS
        )
    except (msgpack.UnpackException, ValueError, TypeError) as error:
        raise ForeignMessage(f"its items cannot be read: {error!r}") from error
    if not isinstance(items, list) or len(items) != count:
        raise ForeignMessage("the number of its items differs from what its head says")
    return items


def _refuse_extension(code: int, _data: bytes) -> Any:
    raise ValueError(f"it has an extension of type {code}")


# -- batches of other drones

INBOX = "hive/inbox"  # in the database
BEGINNING = "0-0"  # the place in a stream before its first batch


def place_number(place: str) -> int:
    """Return a number by which places in a stream compare. Raise ValueError if this is no place."""
    major, _, minor = place.partition("-")
    return int(major) << 64 | int(minor)  # the server's milliseconds and counter have 64 bits each


def read_inbox(saved: bytes | None) -> tuple[str, str, dict[int, tuple[int, int]]]:
    """Return what a checkpoint has as INBOX: the epoch, the place, and the last exact batches.

    For each sender these are the channel and the number of its last exact batch.
    """
    if saved is None:
        return "", BEGINNING, {}
    epoch, place, last = msgpack.unpackb(saved)
    return epoch, place, {sender: (channel, number) for sender, channel, number in last}


class Inbox(Part):
    """Reads the stream of this drone, and has each exact batch of other drones handled once.

    It is a part of the checkpoint, and its follower (`committed`).
    """

    def __init__(self, db: CrawlDB, hive: bytes, handle: Callable[[Batch], None]) -> None:
        """Resume from the checkpoint. `hive` is the hive's key; `handle` books a new batch."""
        self._db = db
        self._hive = hive
        self._handle = handle
        self.epoch, self.place, self._last_exact = read_inbox(db.get(INBOX))
        self.unsaved_senders: set[int] = set()  # of batches that no checkpoint has
        self.committed_place = self.place  # up to which the last checkpoint has all batches
        self._written_position = self.epoch, self.place
        self._saved_position = self._written_position  # by the checkpoint that is being taken
        db.join(self)

    def receive(self, place: str, data: bytes) -> bool:
        """Handle a batch and advance to its place; return whether it was new.

        Raise ForeignMessage if it is not of this hive, and HiveError if an exact batch before it
        is missing. What `handle` raises leaves the place as it was.
        """
        if place_number(place) <= place_number(self.place):
            return False
        batch = unpack_batch(data, self._hive)
        is_exact = batch.kind in EXACT_KINDS
        is_new = not is_exact or self._is_next(batch)
        if is_new:
            self._handle(batch)
            self.unsaved_senders.add(batch.sender)
            if is_exact:
                self._last_exact[batch.sender] = batch.channel, batch.number
        self.place = place
        return is_new

    def skip(self, place: str) -> None:
        """Advance to the place of a message that is not of this hive."""
        self.place = place

    def _is_next(self, batch: Batch) -> bool:
        """Return whether an exact batch is the next of its sender, and not one handled before.

        Raise HiveError if one before it has not arrived.
        """
        channel, number = self._last_exact.get(batch.sender, (0, 0))
        expected = number + 1 if channel == batch.channel else 1
        if batch.number > expected:
            raise HiveError(
                f"drone {batch.sender} sent batch {batch.number}, but batch {expected} has "
                "not arrived: batches were lost"
            )
        return batch.number == expected

    def new_epoch(self, epoch: str) -> None:
        """Read from the beginning of this epoch's stream, unless it is the present epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.place = BEGINNING
            self.committed_place = BEGINNING

    # -- the checkpoint

    def save(self) -> None:
        """Write the place up to which all batches are handled, and the last exact batches.

        Nothing is written while the place stays, for nothing else changes without it.
        """
        self._saved_position = self.epoch, self.place
        self.unsaved_senders = set()
        if self._saved_position != self._written_position:
            last = [
                (sender, channel, number) for sender, (channel, number) in self._last_exact.items()
            ]
            self._db.set(INBOX, msgpack.packb((self.epoch, self.place, last)))
            self._written_position = self._saved_position

    def committed(self) -> None:
        """Let all batches be acknowledged that the checkpoint has; call it after COMMIT."""
        epoch, place = self._saved_position
        if epoch == self.epoch:
            self.committed_place = place
