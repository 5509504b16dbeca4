"""Looks for links in saved queues, block by block, and stops after so many bytes: a queue may have millions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import zstandard

from webcrawl.frontier.blocks import LARGEST
from webcrawl.frontier.records import bounds
from webcrawl.frontier.saved import HEAD, ZSTD
from webcrawl.model import Packed, is_link
from webcrawl.verify.snapshot import Snapshot

FEW = 8  # URLs for which a block is searched as a whole first, in a tenth of the time that its records take


@dataclass(slots=True)
class Budget:
    """Bytes of records that may still be looked at; less than none: as many as there are."""

    left: int

    @property
    def spent(self) -> bool:
        return self.left == 0

    def take(self, size: int) -> None:
        if self.left > 0:
            self.left = max(self.left - size, 0)


@dataclass(slots=True)
class Looked:
    """What a look at one queue found: the first place of each URL, and how far it went."""

    found: dict[str, tuple[int, Packed]] = field(default_factory=dict)
    records: int = 0
    of: int = 0

    @property
    def whole(self) -> bool:
        return self.records >= self.of


class Wanted:
    """The URLs that are looked for."""

    def __init__(self, urls: Iterable[str]) -> None:
        self.urls = {url.encode(): url for url in urls}
        self._few = [url + b" " for url in self.urls] if len(self.urls) <= FEW else None

    def may_be_in(self, data: bytes) -> bool:
        return self._few is None or any(url in data for url in self._few)

    def url_of(self, record: Packed) -> str | None:
        """Which of them this link is."""
        url = self.urls.get(record[: record.find(b" ")])
        return url if url is not None and is_link(record) else None


class Queues:
    """The saved queues of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._unpack = zstandard.ZstdDecompressor().decompress

    def __repr__(self) -> str:
        return f"<Queues of {self._snapshot.path}>"

    def look(self, saved: bytes | None, wanted: Wanted, budget: Budget) -> Looked:
        """Goes through a queue from its first record on."""
        looked = Looked()
        if saved is None or len(saved) < HEAD.size:
            return looked
        _, looked.of, _, _ = HEAD.unpack_from(saved)
        for piece in self.pieces(saved):
            if budget.spent:
                break
            budget.take(len(piece))
            if wanted.may_be_in(piece):
                for number, record in enumerate(records(piece)):
                    url = wanted.url_of(record)
                    if url is not None:
                        looked.found.setdefault(url, (looked.records + number, record))
            looked.records += sum(1 for _ in records(piece))
        return looked

    def pieces(self, saved: bytes) -> Iterator[bytes]:
        """The records of a queue, some hundred at a time."""
        packing, _, place, size = HEAD.unpack_from(saved)
        body = saved[HEAD.size :]
        if packing == ZSTD:
            body = self.unpacked(body)
        for number in np.frombuffer(body, "<u8", min(size, len(body) // 8)).tolist():
            yield self.block(number)[place:]
            place = 0
        yield body[size * 8 :]

    def rest(self, saved: bytes) -> Iterator[Packed]:
        """The records of a queue that are in no block."""
        packing, _, _, size = HEAD.unpack_from(saved)
        body = saved[HEAD.size :]
        yield from records((self.unpacked(body) if packing == ZSTD else body)[size * 8 :])

    def block(self, number: int) -> bytes:
        """The records of a block."""
        for (data,) in self._snapshot.rows("SELECT data FROM block WHERE id = ?", (number,)):
            return self.unpacked(data)
        raise self._snapshot.damaged(f"table block, {number}: missing")

    def unpacked(self, data: bytes) -> bytes:
        try:
            if zstandard.frame_content_size(data) > LARGEST:
                raise self._snapshot.damaged("a block is impossibly large")
            return self._unpack(data)
        except (zstandard.ZstdError, TypeError) as error:
            raise self._snapshot.damaged(f"a block: {error}") from error


def records(data: bytes) -> Iterator[Packed]:
    """The records of these bytes; what is cut at their end is none."""
    at, size = 0, len(data)
    while at < size:
        start, at = bounds(data, at)
        if at <= size:
            yield data[start:at]


def count_of(saved: bytes | None) -> int:
    """How many records a queue has."""
    return int(HEAD.unpack_from(saved)[1]) if saved is not None and len(saved) >= HEAD.size else 0
