"""Compares what the drones of a hive say of it and of each other: who they are, and what is on its way between them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgpack

from webcrawl.hive import identity, inbox, outbox
from webcrawl.hive.slots import SlotMap
from webcrawl.hive.spool import END, NAME, read_name
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdirs import number_of
from webcrawl.verify.snapshot import Snapshot

Channel = tuple[int, int]  # of exact letters from one drone to another: an identifier, and the last number
NEVER: Channel = 0, 0


@dataclass(frozen=True, slots=True)
class Standing:
    """One drone, as of its last checkpoint."""

    path: Path  # of its database
    drone: int
    hive: str
    key: bytes
    slots: SlotMap | None
    partition: str  # HIVE_PARTITION of its last run
    sent: Mapping[int, Channel]  # the last exact letter for each drone
    kept: Mapping[int, int]  # how many of these it still has, which are the last ones
    received: Mapping[int, Channel]  # the last exact letter of each drone


def standing_of(crawl: Path) -> Standing | None:
    """None: this crawl is no drone, or was never let in, or cannot be read, which is reported otherwise."""
    with Snapshot(crawl / "state") as snapshot:
        try:
            standing = _standing(snapshot)
        except (ValueError, TypeError):
            return None
        snapshot.check_still()
    return standing


def _standing(snapshot: Snapshot) -> Standing | None:
    who, slots, key = (snapshot.get(name) for name in (identity.IDENTITY, identity.MAP, identity.KEY))
    if who is None or (slots is None and key is None):  # it was refused when it came, and has done nothing
        return None
    _, hive, drone, _ = msgpack.unpackb(who)
    terms = json.loads(snapshot.get("terms") or b"{}")
    _, _, received = msgpack.unpackb(snapshot.get(inbox.META) or msgpack.packb(("", "", ())))
    names = snapshot.rows("SELECT name FROM meta WHERE name > ? AND name < ?", (NAME, END))
    rows = [read_name(name) for (name,) in names]
    return Standing(
        snapshot.path,
        drone,
        hive,
        key or b"",
        SlotMap.unpack(slots) if slots is not None else None,
        str(terms.get("HIVE_PARTITION", "")),
        {other: (channel, last) for other, channel, last in msgpack.unpackb(snapshot.get(outbox.META) or b"\x90")},
        Counter(row.drone for row in rows if row.exact),
        {other: (channel, last) for other, channel, last in received},
    )


def check_identities(crawls: Mapping[Path, Standing]) -> Iterator[DamagedFile]:
    """Each drone lies in its own folder, and all are of one hive."""
    first = next(iter(crawls.values()), None)
    for crawl, one in crawls.items():
        if one.drone != number_of(crawl):
            yield DamagedFile(one.path, 0, f"table meta, {identity.IDENTITY}: this is drone {one.drone}")
        if first is not None and one.hive != first.hive:
            why = f"of the hive {one.hive}, where {first.path.parent.parent.name} is of {first.hive}"
            yield DamagedFile(one.path, 0, f"table meta, {identity.IDENTITY}: {why}")
        elif first is not None and one.key != first.key:
            yield DamagedFile(one.path, 0, f"table meta, key: another one than {first.path.parent.parent.name} has")


def check_post(before: Mapping[int, Standing], after: Mapping[int, Standing]) -> Iterator[DamagedFile]:
    """Each exact letter that a receiver lacks is still with its sender, and each that it has was sent.

    What was read `before` and `after` differs in a running hive. A sender has forgotten only what a receiver that is
    read later has, and a receiver has only what a sender that is read later has sent.
    """
    both = before.keys() & after.keys()
    for number in sorted(both):
        sender = before[number]
        for other, (channel, last) in sender.sent.items():
            now = after[number].sent.get(other, NEVER)
            if other not in both or now[0] != channel:  # lost, or begun anew
                continue
            receiver = after[other]
            first, has = last - sender.kept.get(other, 0) + 1, _number(receiver.received, number, channel)
            if has < first - 1:
                why = f"letters {has + 1} to {first - 1} of drone {number} are lost: neither drone has them"
                yield DamagedFile(receiver.path, 0, f"table meta, {inbox.META}: {why}")
            had = _number(before[other].received, number, channel)
            if had > now[1]:
                why = f"letter {had} of drone {number} has come, which has sent {now[1]}: one of them is an older copy"
                yield DamagedFile(receiver.path, 0, f"table meta, {inbox.META}: {why}")


def _number(received: Mapping[int, Channel], sender: int, channel: int) -> int:
    known, number = received.get(sender, NEVER)
    return number if known == channel else 0
