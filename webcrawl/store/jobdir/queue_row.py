"""The bytes of a disk FIFO in a checkpoint, and its blocks beside it (docs/on-disk.md).

Each record is preceded by its length in one byte; after 255 the length follows in four bytes,
little-endian. Most records are URLs with a short history: four bytes for every length would cost 4
% more memory and 12 % more time.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from webcrawl.base.model import unpack as unpack_link
from webcrawl.base.url_text import host_of
from webcrawl.base.zstd_frame import BadFrame, pack_checked
from webcrawl.base.zstd_frame import unpack as unpack_frame
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot

LONG = 255  # in the place of a short length: the length follows in four bytes
SHORTS = tuple(bytes((size,)) for size in range(LONG))  # each short length as its byte
LENGTH = struct.Struct("<BI")  # LONG, and the length of a long record


def frame(record: bytes) -> bytes:
    """Return the record with its length in front."""
    size = len(record)
    return (SHORTS[size] if size < LONG else LENGTH.pack(LONG, size)) + record


def bounds(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Return where the record begins and ends whose length is at offset `at`.

    The end is beyond the data if the record is truncated.
    """
    size = data[at]
    if size < LONG:
        return at + 1, at + 1 + size
    begin = at + LENGTH.size
    # The length itself is truncated
    if begin > len(data):
        return begin, begin
    return begin, begin + LENGTH.unpack_from(data, at)[1]


def piece_end(data: bytes, start: int, share: int) -> int:
    """Return the end of a piece of `share` bytes or somewhat more from `start`, after a whole record."""
    if len(data) - start <= share:
        return len(data)
    end, enough = start, start + share
    while end < enough:
        _, end = bounds(data, end)
    return end


def some(data: bytes | bytearray, at: int, most: int) -> list[bytes]:
    """Return the records from `at` on, up to the number given."""
    found: list[bytes] = []
    while at < len(data) and len(found) < most:
        start, at = bounds(data, at)
        found.append(bytes(data[start:at]))
    return found


def count_records(data: bytes | bytearray) -> int:
    """Return the number of records in these bytes; ValueError if they end inside one."""
    count = at = 0
    while at < len(data):
        _, at = bounds(data, at)
        count += 1
    if at != len(data):
        raise ValueError(f"{len(data)} bytes end inside a record")
    return count


# packing, count, place, number of ids; the ids and the records follow
HEAD = struct.Struct("<BQQI")
PLAIN, ZSTD = 0, 1
WORTH_PACKING = 512  # bytes; for fewer, compression saves less than its header and checksum take
# bytes; a block has 32 KiB and a record, a saved queue 8 bytes per block: enough for 8 million
LARGEST = 64 << 20


class QueueBlocks(Protocol):
    """Where saved queues and their blocks lie: it unpacks them, and names what is damaged."""

    def unpack(self, data: bytes, what: str, /) -> bytes: ...

    def damaged(self, why: str, /) -> DamagedFile: ...


@dataclass(slots=True)
class SavedFifo:
    """`count` records: those in the blocks `ids`, from byte `place` of the first one, then those in
    `rest`.
    """

    count: int
    place: int
    ids: array[int]
    rest: bytes

    def pack(self) -> bytes:
        packing = PLAIN
        body = self.ids.tobytes() + self.rest
        if len(body) > WORTH_PACKING:
            packing = ZSTD
            body = pack_checked(body)
        return HEAD.pack(packing, self.count, self.place, len(self.ids)) + body


def unpack(saved: bytes, blocks: QueueBlocks, what: str = "a saved queue") -> SavedFifo:
    """Return the queue that `SavedFifo.pack` has packed; its blocks are not read.

    Raise DamagedFile, in which `what` names the queue, if it is truncated or its sizes are wrong.
    """
    if len(saved) < HEAD.size:
        raise blocks.damaged(f"{what} is truncated")
    packing, count, place, id_count = HEAD.unpack_from(saved)
    body = saved[HEAD.size :]
    if packing == ZSTD:
        body = blocks.unpack(body, what)
    lacks_ids = len(body) < id_count * 8
    lacks_its_block = place > 0 and id_count == 0  # the place is one in the first block
    if packing > ZSTD or lacks_ids or lacks_its_block:
        raise blocks.damaged(f"{what}: its sizes do not match its data")
    return SavedFifo(count, place, array("Q", body[: id_count * 8]), body[id_count * 8 :])


def count_of(saved: bytes | None) -> int:
    """Return the number of records in a queue."""
    if saved is None or len(saved) < HEAD.size:
        return 0
    return int(HEAD.unpack_from(saved)[1])


class SavedQueues:
    """Reads the queues of a snapshot, and remembers in 8 bytes each which blocks they name."""

    def __init__(self, snapshot: Snapshot, table: str = "block") -> None:
        """`table`: where their blocks are."""
        self._snapshot = snapshot
        self._table = table
        self._named = array("Q")  # the ids of the blocks of all queues that were read

    def records(self, saved: bytes, what: str) -> Iterator[bytes]:
        """Yield all records of a queue.

        Raise DamagedFile at the first damage, and at the end if their number is wrong.
        """
        count = 0
        queue = unpack(saved, self, f"{what}: a saved queue")
        self._named.extend(queue.ids)
        # A block is not rewritten when records are popped: the first one has some that are gone
        first_place = queue.place
        for number in queue.ids:
            for record in self.split(
                self.block(number, what), first_place, f"{what}, block {number}"
            ):
                count += 1
                yield record
            first_place = 0
        for record in self.split(queue.rest, 0, what):
            count += 1
            yield record
        if count != queue.count:
            raise self.damaged(
                f"{what}: the queue should hold {queue.count} records, but has {count}"
            )

    def block(self, number: int, what: str) -> bytes:
        """Return the records of a block with their lengths."""
        for (data,) in self._snapshot.rows(
            f"SELECT data FROM {self._table} WHERE id = ?", (number,)
        ):
            return self.unpack(data, f"{what}, block {number}")
        raise self.damaged(f"{what}: block {number} is missing")

    def unpack(self, data: bytes, what: str) -> bytes:
        """Return the bytes of a zstd frame, which has a checksum."""
        try:
            return unpack_frame(data, LARGEST)
        except BadFrame as error:
            raise self._snapshot.damaged(f"{what}: {error}", value=data) from error

    def damaged(self, why: str) -> DamagedFile:
        return self._snapshot.damaged(why)

    def split(self, data: bytes, place: int, what: str) -> Iterator[bytes]:
        """Yield the records that begin at byte `place` or behind it.

        Raise DamagedFile, in which `what` names the queue, if no record begins there, or one is
        truncated.
        """
        offset = 0
        while offset < len(data):
            start, end = bounds(data, offset)
            is_within_record = offset < place < end
            if end > len(data) or is_within_record:
                raise self.damaged(f"{what}: a record is truncated")
            if offset >= place:
                yield data[start:end]
            offset = end
        if offset < place:
            raise self.damaged(
                f"{what}: the queue should continue at byte {place}, but has only {len(data)} bytes"
            )

    def check_blocks(self, found: Counter[str]) -> Iterator[DamagedFile]:
        """Yield the blocks that no queue or more than one queue names, and count all in `found`.

        Call it after reading all queues.
        """
        # Nothing but the queues says whose a block is, so each must be named by one of them
        named = np.sort(np.frombuffer(self._named, np.uint64))
        named_again = named[1:][named[1:] == named[:-1]]  # equal to the one before it
        for number in np.unique(named_again).tolist():
            yield self.damaged(
                f"table {self._table}, block {number}: more than one queue refers to it"
            )
        for (number,) in self._snapshot.rows(f"SELECT id FROM {self._table}"):
            found["blocks"] += 1
            position = np.searchsorted(named, np.uint64(number))
            if position == len(named) or named[position] != number:
                yield self.damaged(f"table {self._table}, block {number}: no queue refers to it")


def link_flaw(record: bytes, host: str | None = None) -> str:
    """Return in words why these bytes are not a link (of this host, if one is given); empty if they
    are.
    """
    try:
        link = unpack_link(record)
        name = host_of(link.url)
    except (ValueError, IndexError):
        return f"not a link: {record[:80]!r}"
    is_canonical = link.url.isascii() and link.url.isprintable()
    is_path = not link.path or link.path.isalpha()
    if not (is_canonical and is_path):
        return f"not a link: {record[:80]!r}"
    if host not in (None, name):
        return f"a link of another host: {link.url[:80]!r}"
    return ""
