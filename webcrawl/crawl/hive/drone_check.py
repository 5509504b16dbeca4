"""Checks what the drones of a hive say of each other: identities, batches and owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive import batch, member, outbox, registry
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.outbox import ROWS_BEGIN, ROWS_END, parse_row_name
from webcrawl.crawl.hive.partition import WAYS, SlotMap, partition_of
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.crawls import STATE, number_of
from webcrawl.store.jobdir.meta_row import UNREADABLE, read_terms
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.host_names import RegisteredDomains

Channel = tuple[int, int]
"""Of exact batches from one drone to another: an identifier, and the number of the last batch."""
NO_CHANNEL: Channel = 0, 0


@dataclass(frozen=True, slots=True)
class SavedDrone:
    """One drone, as of its last checkpoint."""

    path: Path  # of its database
    drone: int
    hive: str
    key: bytes
    slots: SlotMap | None
    partition: str  # HIVE_PARTITION of its last run
    sent: Mapping[int, Channel]  # the last exact batch for each drone
    kept: Mapping[int, int]  # how many of these it still has, which are the last ones
    received: Mapping[int, Channel]  # the last exact batch of each drone
    others: Mapping[int, str]  # the state that each drone had, as this one knows


def saved_drone_of(crawl: Path) -> SavedDrone | None:
    """Return what this drone's last checkpoint says.

    Return None if the crawl is no drone, was never let in, or cannot be read, which is reported
    otherwise.
    """
    with Snapshot(crawl / "state") as snapshot:
        try:
            drone = _read_drone(snapshot)
        except UNREADABLE:
            return None
        snapshot.check_still()
    return drone


def _read_drone(snapshot: Snapshot) -> SavedDrone | None:
    """Return what a state says of its drone, or None if it is no drone's, or was never let in."""
    identity = member.unpack_identity(snapshot.get(member.IDENTITY))
    slots = snapshot.get(member.MAP)
    key = snapshot.get(member.KEY)
    was_never_let_in = slots is None and key is None
    if identity is None or was_never_let_in:
        return None
    terms = read_terms(snapshot.get("terms") or b"{}")
    _, _, received = batch.read_inbox(snapshot.get(batch.INBOX))
    names = snapshot.rows(
        "SELECT name FROM meta WHERE name > ? AND name < ?", (ROWS_BEGIN, ROWS_END)
    )
    rows = [parse_row_name(name) for (name,) in names]
    return SavedDrone(
        snapshot.path,
        identity.drone,
        identity.name,
        key or b"",
        SlotMap.unpack(slots) if slots is not None else None,
        str(terms.get("HIVE_PARTITION", "")),
        outbox.channels_of(snapshot.get(outbox.OUTBOX)),
        Counter(row.drone for row in rows if row.exact),
        received,
        registry.other_states(snapshot.get(registry.COMPANIONS)),
    )


def check_identities(crawls: Mapping[Path, SavedDrone]) -> Iterator[DamagedFile]:
    """Check that each drone lies in its own folder, and that all are of one hive."""
    if not crawls:
        return
    first = next(iter(crawls.values()))
    first_name = first.path.parent.parent.name
    for crawl, drone in crawls.items():
        if drone.drone != number_of(crawl):
            why = f"this is the state of drone {drone.drone}"
            yield DamagedFile(drone.path, 0, f"table meta, {member.IDENTITY}: {why}")
        if drone.hive != first.hive:
            why = f"belongs to the hive {drone.hive}, but {first_name} belongs to {first.hive}"
            yield DamagedFile(drone.path, 0, f"table meta, {member.IDENTITY}: {why}")
        elif drone.key != first.key:
            yield DamagedFile(drone.path, 0, f"table meta, key: differs from that of {first_name}")


def check_strangers(crawls: Iterable[Path], drones: Iterable[SavedDrone]) -> Iterator[DamagedFile]:
    """Check drones that were never let in. A state elsewhere may already have their number."""
    states = {number: state for drone in drones for number, state in drone.others.items()}
    for crawl in crawls:
        number = number_of(crawl)
        with Snapshot(crawl / "state") as snapshot:
            state = _state_id(snapshot.get(member.IDENTITY))
        if number in states and state not in (states[number], None):
            why = f"the state of drone {number}, {states[number]}, is in another folder"
            yield DamagedFile(crawl / STATE, 0, f"this drone was never let in: {why}")


def _state_id(saved_identity: bytes | None) -> str | None:
    """Return the id of a drone's state, or None if it has none, or a damaged one, as reported."""
    try:
        identity = member.unpack_identity(saved_identity)
    except UNREADABLE:
        return None
    return identity.id if identity is not None else None


def check_channels(
    before: Mapping[int, SavedDrone], after: Mapping[int, SavedDrone]
) -> Iterator[DamagedFile]:
    """Check that no exact batch between two drones is lost, and that none was received unsent.

    `before` and `after` are the same drones, read twice. In a running hive they differ: a sender
    has forgotten only what a receiver that is read later has, and a receiver has only what a sender
    that is read later has sent.
    """
    both = before.keys() & after.keys()
    for number in sorted(both):
        sender = before[number]
        for other, (channel, last_sent) in sender.sent.items():
            later_channel, last_sent_later = after[number].sent.get(other, NO_CHANNEL)
            if other not in both or later_channel != channel:  # lost, or begun anew
                continue
            receiver = after[other]
            first_kept = last_sent - sender.kept.get(other, 0) + 1
            last_received = _last_received(receiver, number, channel)
            if last_received < first_kept - 1:
                why = (
                    f"batches {last_received + 1} to {first_kept - 1} of drone {number} are lost: neither sender "
                    "nor receiver has them"
                )
                yield DamagedFile(receiver.path, 0, f"table meta, {batch.INBOX}: {why}")
            received_before = _last_received(before[other], number, channel)
            if received_before > last_sent_later:
                why = (
                    f"batch {received_before} of drone {number} has arrived, but it has sent only "
                    f"{last_sent_later}: one of the two is an older copy"
                )
                yield DamagedFile(receiver.path, 0, f"table meta, {batch.INBOX}: {why}")


def _last_received(receiver: SavedDrone, sender: int, channel: int) -> int:
    """Return the number of the last exact batch that a drone has of this channel; 0 if none."""
    known_channel, number = receiver.received.get(sender, NO_CHANNEL)
    return number if known_channel == channel else 0


MAX_AUTHORITIES = 1 << 16  # whose owners are remembered
Owner = Callable[[bytes], int]
"""Returns the drone that has always owned a URL, or UNKNOWN."""
UNKNOWN = -1  # the owner of what has no host


def owner_of(drones: Iterable[SavedDrone]) -> Owner | None:
    """Return a function that names the drone which has always owned a URL.

    Return None if owners have changed or depend on a file.
    """
    first = next(iter(drones), None)
    if first is None or first.slots is None:
        return None
    partitions = {drone.partition for drone in drones}
    depends_on_file = not partitions <= set(WAYS)
    if len(partitions) > 1 or depends_on_file:
        return None
    if any(drone.slots is None or drone.slots.generation > 1 for drone in drones):
        return None
    try:
        slot = partition_of(first.partition, RegisteredDomains()).with_slots_of(first.slots).slot
    except HiveError:  # a damaged map, or another partition than that of the founding
        return None
    owners = first.slots.owners

    @lru_cache(MAX_AUTHORITIES)
    def owner_of_authority(start: bytes) -> int:
        try:
            return owners[slot(host_of(f"{start.decode()}/"))]
        except (IndexError, UnicodeDecodeError):
            # of a damaged line, which was reported with its drone
            return UNKNOWN

    return lambda url: owner_of_authority(b"/".join(url.split(b"/", 3)[:3]))


def check_owners(
    drone: int, urls: Iterable[tuple[bytes, Path, int]], owner: Owner
) -> Iterator[DamagedFile]:
    """Yield the place of each URL of this drone's log whose host another drone owns by the map."""
    for url, path, offset in urls:
        actual = owner(url)
        if actual not in (drone, UNKNOWN):
            why = f"{url.decode(errors='replace')} belongs to drone {actual}"
            yield DamagedFile(path, offset, why)
