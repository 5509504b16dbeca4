"""Checks what the drones of a hive say of each other: identities, letters and owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive import letter, member, outbox, registry
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.outbox import ROWS_BEGIN, ROWS_END, parse_row_name
from webcrawl.crawl.hive.partition import WAYS, SlotMap, partition_of
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.crawls import STATE, number_of
from webcrawl.store.jobdir.meta_row import UNREADABLE, read_terms
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.host_names import RegisteredDomains

# of exact letters from one drone to another: an identifier, and the last number
Channel = tuple[int, int]
NEVER: Channel = 0, 0


@dataclass(frozen=True, slots=True)
class SavedDrone:
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
    others: Mapping[int, str]  # the state that each drone had, as this one knows


def saved_drone_of(crawl: Path) -> SavedDrone | None:
    """Return what this drone's last checkpoint says.

    Return None if the crawl is no drone, was never let in, or cannot be read, which is reported
    otherwise.
    """
    with Snapshot(crawl / "state") as snapshot:
        try:
            standing = _standing(snapshot)
        except UNREADABLE:
            return None
        snapshot.check_still()
    return standing


def _standing(snapshot: Snapshot) -> SavedDrone | None:
    identity = member.unpack_identity(snapshot.get(member.IDENTITY))
    slots, key = snapshot.get(member.MAP), snapshot.get(member.KEY)
    # it was refused when it came, and has done nothing
    if identity is None or (slots is None and key is None):
        return None
    terms = read_terms(snapshot.get("terms") or b"{}")
    _, _, received = letter.read_inbox(snapshot.get(letter.INBOX))
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
    first = next(iter(crawls.values()), None)
    for crawl, one in crawls.items():
        if one.drone != number_of(crawl):
            yield DamagedFile(
                one.path,
                0,
                f"table meta, {member.IDENTITY}: this is the state of drone {one.drone}",
            )
        if first is not None and one.hive != first.hive:
            why = f"belongs to the hive {one.hive}, but {first.path.parent.parent.name} belongs to {first.hive}"
            yield DamagedFile(one.path, 0, f"table meta, {member.IDENTITY}: {why}")
        elif first is not None and one.key != first.key:
            yield DamagedFile(
                one.path,
                0,
                f"table meta, key: differs from that of {first.path.parent.parent.name}",
            )


def check_strangers(crawls: Iterable[Path], drones: Iterable[SavedDrone]) -> Iterator[DamagedFile]:
    """Check drones that were never let in. A state elsewhere may already have their number."""
    known = {number: state for one in drones for number, state in one.others.items()}
    for crawl in crawls:
        number = number_of(crawl)
        with Snapshot(crawl / "state") as snapshot:
            who = snapshot.get(member.IDENTITY)
        if number in known and who is not None and _state(who) not in (known[number], None):
            yield DamagedFile(
                crawl / STATE,
                0,
                f"this drone was never let in: the state of drone {number}, {known[number]}, is "
                "in another folder",
            )


def _state(who: bytes) -> str | None:
    """Return the id of a drone's state, or None if its row is damaged, as reported."""
    try:
        identity = member.unpack_identity(who)
    except UNREADABLE:
        return None
    return identity.id if identity is not None else None


def check_channels(
    before: Mapping[int, SavedDrone], after: Mapping[int, SavedDrone]
) -> Iterator[DamagedFile]:
    """Check that a sender still has each exact letter that its receiver lacks.

    And that each letter that a receiver has was sent.

    What was read `before` and `after` differs in a running hive. A sender has forgotten only what a
    receiver that is read later has, and a receiver has only what a sender that is read later has
    sent.
    """
    both = before.keys() & after.keys()
    for number in sorted(both):
        sender = before[number]
        for other, (channel, last) in sender.sent.items():
            now = after[number].sent.get(other, NEVER)
            if other not in both or now[0] != channel:  # lost, or begun anew
                continue
            receiver = after[other]
            first, has = (
                last - sender.kept.get(other, 0) + 1,
                _number(receiver.received, number, channel),
            )
            if has < first - 1:
                why = (
                    f"letters {has + 1} to {first - 1} of drone {number} are lost: neither sender nor "
                    "receiver has them"
                )
                yield DamagedFile(receiver.path, 0, f"table meta, {letter.INBOX}: {why}")
            had = _number(before[other].received, number, channel)
            if had > now[1]:
                why = (
                    f"letter {had} of drone {number} has arrived, but it has sent only {now[1]}: one of "
                    "the two is an older copy"
                )
                yield DamagedFile(receiver.path, 0, f"table meta, {letter.INBOX}: {why}")


def _number(received: Mapping[int, Channel], sender: int, channel: int) -> int:
    known, number = received.get(sender, NEVER)
    return number if known == channel else 0


KNOWN = 1 << 16  # authorities whose owners are remembered
Owner = Callable[[bytes], int]
UNKNOWN = -1  # the owner of what has no host


def owner_of(drones: Iterable[SavedDrone]) -> Owner | None:
    """Return a function that tells which drone has always owned a URL.

    Return None if owners have changed or depend on a file.
    """
    first = next(iter(drones), None)
    ways = {one.partition for one in drones}
    if first is None or first.slots is None or len(ways) > 1 or not ways <= set(WAYS):
        return None
    if any(one.slots is None or one.slots.generation > 1 for one in drones):
        return None
    try:
        slot = partition_of(first.partition, RegisteredDomains()).dividing(first.slots).slot
    except HiveError:  # a damaged map, or another partition than that of the founding
        return None
    owners = first.slots.owners

    @lru_cache(KNOWN)
    def of_authority(start: bytes) -> int:
        try:
            return owners[slot(host_of(f"{start.decode()}/"))]
        except (IndexError, UnicodeDecodeError):
            # of a damaged line, which was reported with its drone
            return UNKNOWN

    return lambda url: of_authority(b"/".join(url.split(b"/", 3)[:3]))


def check_owners(
    drone: int, urls: Iterable[tuple[bytes, Path, int]], owner: Owner
) -> Iterator[DamagedFile]:
    """Yield each URL of this drone's log that is another's."""
    for url, path, at in urls:
        theirs = owner(url)
        if theirs not in (drone, UNKNOWN):
            yield DamagedFile(path, at, f"{url.decode(errors='replace')} belongs to drone {theirs}")
