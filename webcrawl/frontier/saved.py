"""What a checkpoint stores of a disk FIFO beside its blocks; docs/files.md describes the layout."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

from webcrawl.frontier.blocks import Blocks

HEAD = struct.Struct("<BQQI")  # packing, count, place, number of ids; the ids and the records follow
PLAIN, ZSTD = 0, 1
WORTH_PACKING = 512  # bytes; for fewer, compression saves less than its header and checksum take


@dataclass(slots=True)
class SavedFifo:
    """`count` records: those in the blocks `ids`, from byte `place` of the first one, then those in `rest`."""

    count: int
    place: int
    ids: array[int]
    rest: bytes

    def pack(self, blocks: Blocks) -> bytes:
        body, packing = self.ids.tobytes() + self.rest, PLAIN
        if len(body) > WORTH_PACKING:
            body, packing = blocks.pack(body), ZSTD
        return HEAD.pack(packing, self.count, self.place, len(self.ids)) + body


def unpack(saved: bytes, blocks: Blocks) -> SavedFifo:
    """The inverse of `SavedFifo.pack`."""
    if len(saved) < HEAD.size:
        raise blocks.damaged("a saved queue is truncated")
    packing, count, place, size = HEAD.unpack_from(saved)
    body = saved[HEAD.size :]
    if packing == ZSTD:
        body = blocks.unpack(body, "a saved queue")
    if packing > ZSTD or len(body) < size * 8:
        raise blocks.damaged("a saved queue is shorter than its header says")
    return SavedFifo(count, place, array("Q", body[: size * 8]), body[size * 8 :])
