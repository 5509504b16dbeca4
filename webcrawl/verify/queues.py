"""Checks saved queues against the table of blocks: every record is read, every block named once (docs/files.md)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

import numpy as np
import zstandard

from webcrawl.frontier.blocks import LARGEST
from webcrawl.frontier.records import bounds
from webcrawl.frontier.saved import HEAD, PLAIN, ZSTD
from webcrawl.model import unpack
from webcrawl.store.errors import DamagedFile
from webcrawl.urls.hosts import host_of
from webcrawl.verify.snapshot import Snapshot


class Queues:
    """Reads queues by their descriptors, and remembers in 8 bytes each which blocks they name."""

    def __init__(self, snapshot: Snapshot, table: str = "block") -> None:
        """`table`: where their blocks are."""
        self._snapshot, self._table = snapshot, table
        self._named = array("Q")
        self._unpack = zstandard.ZstdDecompressor().decompress

    def __repr__(self) -> str:
        return f"<Queues of {self._snapshot.path} blocks={len(self._named)}>"

    def records(self, saved: bytes, what: str) -> Iterator[bytes]:
        """All records of a queue. Raises DamagedFile at the first damage, and at the end if their number is wrong."""
        if len(saved) < HEAD.size:
            raise self._snapshot.damaged(f"{what}: a saved queue is cut short")
        packing, count, place, size = HEAD.unpack_from(saved)
        body = saved[HEAD.size :]
        if packing == ZSTD:
            body = self.unpacked(body, f"{what}: a saved queue")
        if packing not in (PLAIN, ZSTD) or len(body) < size * 8 or (place and not size):
            raise self._snapshot.damaged(f"{what}: the sizes of a saved queue do not match its data")
        ids = np.frombuffer(body, "<u8", size).tolist()
        self._named.extend(ids)
        found = 0
        for number in ids:
            for record in self._cut(self._block(number, what), place, f"{what}, block {number}"):
                found += 1
                yield record
            place = 0
        for record in self._cut(body[size * 8 :], 0, what):
            found += 1
            yield record
        if found != count:
            raise self._snapshot.damaged(f"{what}: a queue of {count} records has {found}")

    def _block(self, number: int, what: str) -> bytes:
        rows = list(self._snapshot.rows(f"SELECT data FROM {self._table} WHERE id = ?", (number,)))
        if not rows:
            raise self._snapshot.damaged(f"{what}: block {number} is missing")
        return self.unpacked(rows[0][0], f"{what}, block {number}")

    def unpacked(self, data: bytes, what: str) -> bytes:
        """The bytes of a zstd frame, which has a checksum."""
        try:
            if zstandard.frame_content_size(data) > LARGEST:
                raise self._snapshot.damaged(f"{what}: impossibly large", value=data)
            return self._unpack(data)
        except (zstandard.ZstdError, TypeError) as error:
            raise self._snapshot.damaged(f"{what}: {error}", value=data) from error

    def _cut(self, data: bytes, place: int, what: str) -> Iterator[bytes]:
        """The records from byte `place` on, where one must begin."""
        at = 0
        while at < len(data):
            start, end = bounds(data, at)
            if end > len(data) or at < place < end:
                raise self._snapshot.damaged(f"{what}: a record is cut")
            if at >= place:
                yield data[start:end]
            at = end
        if at < place:
            raise self._snapshot.damaged(f"{what}: the queue continues at byte {place} of {len(data)}")

    def check_blocks(self, found: Counter[str]) -> Iterator[DamagedFile]:
        """Yields blocks that no queue or more than one queue names. Call it after reading all queues."""
        named = np.sort(np.frombuffer(self._named, np.uint64))
        for number in np.unique(named[1:][named[1:] == named[:-1]]).tolist():
            yield self._snapshot.damaged(f"table {self._table}, {number}: two queues name it")
        for (number,) in self._snapshot.rows(f"SELECT id FROM {self._table}"):
            found["blocks"] += 1
            at = np.searchsorted(named, np.uint64(number))
            if at == len(named) or named[at] != number:
                yield self._snapshot.damaged(f"table {self._table}, {number}: no queue names it")


def link_flaw(record: bytes, host: str | None = None) -> str:
    """Why these bytes are not a link (of this host); empty if they are."""
    try:
        link = unpack(record)
        name = host_of(link.url)
    except (ValueError, IndexError):
        return f"not a link: {record[:80]!r}"
    if not (link.url.isascii() and link.url.isprintable()) or (link.path and not link.path.isalpha()):
        return f"not a link: {record[:80]!r}"
    return f"a link of another host: {link.url[:80]!r}" if host not in (None, name) else ""
