"""Looks a URL up among those known: one binary search in each sorted file, and the keys that wait for their merge."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zstandard

from webcrawl.base.model import Packed
from webcrawl.frontier.seen import journal, known_keys
from webcrawl.frontier.seen.layout import BLOOM_FILE
from webcrawl.frontier.seen.protocol import STATE, State
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.runs import Keys, Run

TRIES = 3  # a running crawl may replace files between the checkpoint that is read and their opening


class Waiting(NamedTuple):
    """A link that was submitted, and has not come out of the seen store."""

    record: Packed  # empty: the link is only to be marked as seen
    judged: bool  # it was looked up: it is on its way into the queues, or was a duplicate


class Known:
    """The seen store as of the last checkpoint. Files are opened at once: a running crawl removes old ones."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._closing = ExitStack()
        self.odd: list[str] = []
        self.missing = False
        state = meta_row.value(snapshot, STATE, lambda data: State(**json.loads(data)), State("disk"))
        self.store, self._begin, self._judged = state.store, state.begin, state.judged
        self._fresh: Keys = np.frombuffer(meta_row.value(snapshot, known_keys.NAME, meta_row.eights, b""), "<u8")
        self._runs: list[Run] = []
        for name, store in snapshot.rows("SELECT name, store FROM run"):
            if store == "url":
                self._open(snapshot.path.parent / "seen" / Path(name).name)
        self._bloom = self._open_bloom()

    def _open(self, path: Path) -> None:
        try:
            run = Run(path)
        except FileNotFoundError:
            self.missing = True
            self.odd.append(f"{path}: missing, though the checkpoint names it")
        except DamagedFile as damage:
            self.odd.append(str(damage))
        else:
            self._closing.callback(run.close)
            self._runs.append(run)

    def _open_bloom(self) -> Container[int] | None:
        name = self._snapshot.get(BLOOM_FILE)
        if name is None:
            return None
        from webcrawl.frontier.seen import bloomfile  # noqa: PLC0415 - and its library, which other seen stores do without

        path = self._snapshot.path.parent / "seen" / Path(name.decode(errors="replace")).name
        try:
            bits: Container[int] = bloomfile.read(path)
        except DamagedFile as damage:
            self.missing = not path.exists()
            self.odd.append(str(damage))
            return None
        return bits

    def close(self) -> None:
        self._closing.close()

    def among(self, keys: Collection[int]) -> dict[int, str]:
        """Those of these keys that are known, and where each was found."""
        found: dict[int, str] = {}
        wanted: Keys = np.sort(np.fromiter(set(keys), np.uint64, len(set(keys))))
        for run in self._runs:
            _note(found, wanted, run.contains(wanted), f"state/seen/{run.path.name}")
        _note(found, wanted, np.isin(wanted, self._fresh), "the last merge")
        if self.store != "disk":
            for (logged,) in self._snapshot.rows("SELECT value FROM meta WHERE name GLOB ?", (f"{journal.NAME}*",)):
                _note(found, wanted, np.isin(wanted, np.frombuffer(_whole(logged), "<u8")), "the set in memory")
        if self._bloom is not None:
            for key in wanted.tolist():
                if key not in found and key in self._bloom:
                    found[key] = "the Bloom filter, which takes a few URLs for known that are not"
        return found

    def waiting(self, keys: Collection[int]) -> dict[int, Waiting]:
        """Those of these keys that wait to be looked up, or to be queued; the last link of each."""
        found: dict[int, Waiting] = {}
        wanted: Keys = np.fromiter(keys, np.uint64, len(keys))
        for first, stored in self._rows():
            if first + len(stored) <= self._begin:
                continue
            places = np.flatnonzero(np.isin(stored, wanted))
            places = places[places + first >= self._begin]
            if not len(places):
                continue
            records = self._records(first, len(stored), places.tolist())
            for place, record in zip(places.tolist(), records, strict=True):
                found[int(stored[place])] = Waiting(record, first + place < self._judged)
        return found

    def _rows(self) -> Iterator[tuple[int, Keys]]:
        for first, keys in self._snapshot.rows("SELECT seq, keys FROM waiting ORDER BY seq"):
            yield first, np.frombuffer(_whole(keys), "<u8")

    def _records(self, first: int, count: int, places: list[int]) -> list[Packed]:
        ((packed,),) = self._snapshot.rows("SELECT records FROM waiting WHERE seq = ?", (first,))
        try:
            data = zstandard.ZstdDecompressor().decompress(packed)
            lengths = np.frombuffer(data, "<u4", count)
        except (zstandard.ZstdError, ValueError, TypeError) as error:
            raise self._snapshot.damaged(f"table waiting, record {first}: {error}") from error
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))) + 4 * count
        return [data[int(ends[place]) : int(ends[place + 1])] for place in places]


def opened(state: Path) -> tuple[Snapshot, Known]:
    """A checkpoint and its files."""
    for left in reversed(range(TRIES)):
        snapshot = Snapshot(state)
        try:
            seen = Known(snapshot)
        except BaseException:
            snapshot.close()
            raise
        if not seen.missing or not left:
            break
        seen.close()
        snapshot.close()
    return snapshot, seen


def _whole(value: bytes | None) -> bytes:
    data = value if isinstance(value, bytes) else b""
    return data[: len(data) & ~7]


def _note(found: dict[int, str], wanted: Keys, mask: np.typing.NDArray[np.bool_], where: str) -> None:
    for key in wanted[mask].tolist():
        found.setdefault(key, where)
