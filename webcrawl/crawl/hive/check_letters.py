"""Checks what a drone of a hive keeps: letters that others have not acknowledged, and how far it has read its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack

from webcrawl.crawl.hive import inbox, outbox
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.crawl.hive.keys import order
from webcrawl.crawl.hive.letter import EXACT, LINKS, Letter, read
from webcrawl.crawl.hive.outgoing_letters import END, NAME, RowName, read_name
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import link_flaw
from webcrawl.store.jobdir.snapshot import Snapshot

ROWS = "SELECT name, value FROM meta WHERE name > ? AND name < ? ORDER BY name"


def check_letters(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads every letter once; counts letters and their items. A crawl that is in no hive has none."""
    yield from _inbox(snapshot)
    numbers = _Numbers(_channels(snapshot))
    for name, value in snapshot.rows(ROWS, (NAME, END)):
        found["letters"] += 1
        try:
            row = read_name(name)
            gap = numbers.gap(row)
            hive, message = read(value)
            flaw = gap or numbers.flaw(row, hive, message) or _links_flaw(message)
            found["items"] += len(message.items)
        except (ForeignMessage, ValueError, TypeError, AttributeError) as error:
            flaw = str(error)
        if flaw:
            yield snapshot.damaged(f"table meta, {name}: {flaw}", value=value)
    for drone, last in numbers.ends():
        yield snapshot.damaged(f"table meta, {outbox.META}: drone {drone} has exact letters, but not up to {last}")


def _links_flaw(message: Letter) -> str:
    return next(filter(None, map(link_flaw, message.items)), "") if message.kind in LINKS else ""


@dataclass(slots=True)
class _Numbers:
    """The numbers of letters, and what all must have in common."""

    channels: dict[int, tuple[int, int]]
    seen: dict[tuple[int, bool], int] = field(default_factory=dict)  # the last number of each lane
    author: tuple[bytes, int] | None = None  # the hive and the sender of all

    def gap(self, row: RowName) -> str:
        """What is wrong if the number does not follow the previous one of its lane."""
        before = self.seen.get((row.drone, row.exact), row.number - 1)
        self.seen[row.drone, row.exact] = row.number
        return "" if row.number == before + 1 else f"follows letter {before}"

    def flaw(self, row: RowName, hive: bytes, message: Letter) -> str:
        """The reason why this letter does not belong here; empty if it does."""
        self.author = self.author or (hive, message.sender)
        if self.author != (hive, message.sender):
            return "another drone's"
        if row.exact != (message.kind in EXACT):
            return f"a letter of kind {message.kind.name} in the other lane"
        channel, _ = self.channels.get(row.drone, (0, 0))
        if row.exact and (message.number, message.channel) != (row.number, channel):
            return f"has number {message.number} of channel {message.channel}, not of {channel}"
        return ""

    def ends(self) -> Iterator[tuple[int, int]]:
        """Drones whose last exact letter is not the last that was numbered."""
        for drone, (_, last) in self.channels.items():
            if self.seen.get((drone, True), last) != last:
                yield drone, last


def _channels(snapshot: Snapshot) -> dict[int, tuple[int, int]]:
    value = snapshot.get(outbox.META)
    try:
        return outbox.channels_of(value)
    except (ValueError, TypeError) as error:
        raise snapshot.damaged(f"table meta, {outbox.META}: {error!r}", value=value) from error


def _inbox(snapshot: Snapshot) -> Iterator[DamagedFile]:
    value = snapshot.get(inbox.META)
    if value is None:
        return
    try:
        epoch, place, last = msgpack.unpackb(value)
        sound: Any = isinstance(epoch, str) and order(place) >= 0 and all(number > 0 for _, _, number in last)
    except (ValueError, TypeError, AttributeError) as error:
        yield snapshot.damaged(f"table meta, {inbox.META}: {error!r}", value=value)
    else:
        if not sound:
            yield snapshot.damaged(f"table meta, {inbox.META}: not an epoch, a place and numbers", value=value)
