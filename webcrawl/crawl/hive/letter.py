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
    """The kinds of items in a message; the numbers are on the wire and in spools."""

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
class Letter:
    """A batch of items for one drone."""

    kind: Kind
    sender: int
    generation: int  # of the sender's slot map
    number: int  # of an exact letter, ascending from 1 for each sender and receiver; else 0
    items: list[Any]
    # Of an exact letter, a random number; else 0. Numbers begin at 1 in another channel when a
    # drone was lost and another one has its number.
    channel: int = 0


class LetterTooLong(HiveError):  # noqa: N818 - reads as what it is
    """The items are more than a letter may hold."""


@lru_cache(maxsize=16)
def hive_id(hive: bytes) -> bytes:
    """Return the digest of the hive's key that letters carry in place of the secret key."""
    return hashlib.blake2b(hive, digest_size=16, person=b"webcrawl hive").digest()


def pack_letter(letter: Letter, hive: bytes, max_items_bytes: int = MAX_ITEMS_BYTES) -> bytes:
    """Return the letter as it goes over the wire, for the hive with this key.

    Raise LetterTooLong if its items take more than `max_items_bytes` uncompressed.
    """
    items = msgpack.packb(letter.items, unicode_errors=UNICODE_ERRORS)
    if len(items) > max_items_bytes:
        raise LetterTooLong(
            f"{len(letter.items)} items for another drone take {len(items)} bytes, but a letter "
            f"holds at most {max_items_bytes}"
        )
    head = HEAD.pack(
        MAGIC,
        VERSION,
        letter.kind,
        letter.sender,
        letter.generation,
        letter.channel,
        letter.number,
        len(letter.items),
        hive_id(hive),
    )
    frame = zstd_frame.pack(items)
    return b"".join((head, CRC.pack(_checksum(head, frame)), frame))


def unpack_letter(data: bytes, hive: bytes) -> Letter:
    """Return the letter that `pack_letter` made these bytes of, for the same hive.

    Raise ForeignMessage for all other bytes.
    """
    _, letter = read_letter(data, hive_id(hive))
    return letter


def read_letter(data: bytes, expected_hive: bytes | None = None) -> tuple[bytes, Letter]:
    """Return the digest of the letter's hive (see `hive_id`), and the letter.

    Raise ForeignMessage if the bytes are no letter, or one of another hive than the expected one.
    """
    if not data.startswith(MAGIC):
        raise ForeignMessage("it does not begin like a letter of a hive")
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
    return hive, Letter(kind, sender, generation, number, items, channel)


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


# -- letters of other drones

INBOX = "hive/inbox"  # in the database
BEGINNING = "0-0"  # the place in a stream before its first letter


def place_number(place: str) -> int:
    """Return a number by which places in a stream compare. Raise ValueError if this is no place."""
    major, _, minor = place.partition("-")
    return int(major) << 64 | int(minor)  # the server's milliseconds and counter have 64 bits each


def read_inbox(saved: bytes | None) -> tuple[str, str, dict[int, tuple[int, int]]]:
    """Return what a checkpoint has as INBOX: the epoch, the place, and the last exact letters.

    For each sender these are the channel and the number of its last exact letter.
    """
    if saved is None:
        return "", BEGINNING, {}
    epoch, place, last = msgpack.unpackb(saved)
    return epoch, place, {sender: (channel, number) for sender, channel, number in last}


class Inbox(Part):
    """Reads the stream of this drone, and has each exact letter of other drones handled once.

    It is a part of the checkpoint, and its follower (`committed`).
    """

    def __init__(self, db: CrawlDB, hive: bytes, handle: Callable[[Letter], None]) -> None:
        """Resume from the checkpoint. `hive` is the hive's key; `handle` books a new letter."""
        self._db = db
        self._hive = hive
        self._handle = handle
        self.epoch, self.place, self._last_exact = read_inbox(db.get(INBOX))
        self.unsaved_senders: set[int] = set()  # of letters that no checkpoint has
        self.committed_place = self.place  # up to which the last checkpoint has all letters
        self._written_position = self.epoch, self.place
        self._saved_position = self._written_position  # by the checkpoint that is being taken
        db.join(self)

    def receive(self, place: str, data: bytes) -> bool:
        """Handle a letter and advance to its place; return whether it was new.

        Raise ForeignMessage if it is not of this hive, and HiveError if an exact letter before it
        is missing. What `handle` raises leaves the place as it was.
        """
        if place_number(place) <= place_number(self.place):
            return False
        letter = unpack_letter(data, self._hive)
        is_exact = letter.kind in EXACT_KINDS
        is_new = not is_exact or self._is_next(letter)
        if is_new:
            self._handle(letter)
            self.unsaved_senders.add(letter.sender)
            if is_exact:
                self._last_exact[letter.sender] = letter.channel, letter.number
        self.place = place
        return is_new

    def skip(self, place: str) -> None:
        """Advance to the place of a message that is not of this hive."""
        self.place = place

    def _is_next(self, letter: Letter) -> bool:
        """Return whether an exact letter is the next of its sender, and not one handled before.

        Raise HiveError if one before it has not arrived.
        """
        channel, number = self._last_exact.get(letter.sender, (0, 0))
        expected = number + 1 if channel == letter.channel else 1
        if letter.number > expected:
            raise HiveError(
                f"drone {letter.sender} sent letter {letter.number}, but letter {expected} has "
                "not arrived: letters were lost"
            )
        return letter.number == expected

    def new_epoch(self, epoch: str) -> None:
        """Read from the beginning of this epoch's stream, unless it is the present epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.place = BEGINNING
            self.committed_place = BEGINNING

    # -- the checkpoint

    def save(self) -> None:
        """Write the place up to which all letters are handled, and the last exact letters.

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
        """Let all letters be acknowledged that the checkpoint has; call it after COMMIT."""
        epoch, place = self._saved_position
        if epoch == self.epoch:
            self.committed_place = place
