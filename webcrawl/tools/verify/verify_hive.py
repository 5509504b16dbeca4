"""Checks a hive: each drone as a crawl of its own, then what the drones say of each other (docs/operations.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import msgpack

from webcrawl.base.url_text import host_of, visible
from webcrawl.crawl.hive import letter, member, outbox, session
from webcrawl.crawl.hive.outbox import END, NAME, read_name
from webcrawl.crawl.hive.partition import WAYS, SlotMap, partition_of
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import STATE, crawls_of, number_of
from webcrawl.store.jobdir.job_dir import NoCrawl
from webcrawl.store.jobdir.meta_row import UNREADABLE, read_terms
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify.holdings import Line, Named, Shared, archived, hosts, lines, pages, shared, tried_again
from webcrawl.tools.verify.verify_crawl import ABSENT, guarded, verify
from webcrawl.urls.host_names import RegisteredDomains

TOLD = 20  # places of each kind; of the others only how many there are
Crawls = Mapping[int, Path]  # by position
Has = Callable[[Path], Named]  # what a drone has


def verify_hive(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """As `verify` does for one crawl; the figures are sums. StoreError: the check is impossible."""
    crawls: dict[int, Path] = {}
    for number, crawl in enumerate(crawls_of(jobdir)):
        mine = Counter[str]()
        try:
            yield from verify(crawl, mine)
        except NoCrawl:
            yield DamagedFile(crawl / STATE, 0, "missing, a drone of this hive")
            continue
        crawls[number] = crawl
        found.update({_named(name, crawl): many for name, many in mine.items()})
    found["drones"] = len(crawls)
    yield from guarded(_members, [*crawls.values()])
    yield from guarded(_once, crawls, found, "pages", pages, "is in the log of {} too")
    yield from guarded(_archives, crawls, found)
    yield from guarded(_once, crawls, found, "hosts in use", hosts, "has URLs in {} too")
    yield from stats_file.check(jobdir)


def _members(crawls: Collection[Path]) -> Iterator[DamagedFile]:
    """Checks what the drones say of each other, and whether each has kept to its own hosts."""
    before, after = ({crawl: one for crawl in crawls if (one := standing_of(crawl))} for _ in range(2))
    yield from check_identities(after)
    yield from check_strangers([crawl for crawl in crawls if crawl not in after], after.values())
    yield from check_post(*({one.drone: one for one in read.values()} for read in (before, after)))
    owner = owner_of(after.values())
    if owner is not None:
        for crawl, one in after.items():
            urls = lines(crawl, (Line.PAGE, Line.PREREQUISITE, Line.REVISIT, Line.WALLED))
            yield from _first(check_owners(one.drone, urls, owner))


def _first(damages: Iterator[DamagedFile]) -> Iterator[DamagedFile]:
    """Some of them, and how many more there are."""
    path = None
    for damage in islice(damages, TOLD):
        path = damage.path
        yield damage
    more = sum(1 for _ in damages)
    if more and path is not None:
        yield DamagedFile(path, 0, f"{more} more like these")


def _named(figure: str, crawl: Path) -> str:
    """Names of absent files are below the drone's folder."""
    return f"{ABSENT}{crawl.name}/{figure.removeprefix(ABSENT)}" if figure.startswith(ABSENT) else figure


def _once(crawls: Crawls, found: Counter[str], figure: str, has: Has, why: str) -> Iterator[DamagedFile]:
    found[figure], twice = shared({number: partial(has, crawl) for number, crawl in crawls.items()})
    yield from _first(_told(crawls, twice, why))


def _archives(crawls: Crawls, found: Counter[str]) -> Iterator[DamagedFile]:
    """Several drones may ask for a robots.txt, and for what pages await; only the log says which URLs are such.

    A host may change hands between two attempts at a URL, those that a wall answers too, and between two fetches of a
    page.
    """
    found["archived"], twice = shared({number: partial(archived, crawl) for number, crawl in crawls.items()})
    by_log = {visible(one.name.decode()).encode(): one for one in twice}
    if by_log:
        for crawl in crawls.values():
            for name, _, _ in lines(crawl, (Line.PREREQUISITE, Line.AWAITED, Line.REVISIT, Line.WALLED)):
                by_log.pop(name, None)
    final = [one for one in by_log.values() if sum(not tried_again(*place) for place in one.places.values()) > 1]
    yield from _first(_told(crawls, final, "is in the archive of {} too"))


def _told(crawls: Crawls, twice: Iterable[Shared], why: str) -> Iterator[DamagedFile]:
    for one in twice:
        (first, _), *others = one.places.items()
        for _, (path, at) in others:
            yield DamagedFile(path, at, f"{one.name.decode(errors='replace')} {why.format(crawls[first].name)}")


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
    others: Mapping[int, str]  # the state that each drone had, as this one knows


def standing_of(crawl: Path) -> Standing | None:
    """None: this crawl is no drone, or was never let in, or cannot be read, which is reported otherwise."""
    with Snapshot(crawl / "state") as snapshot:
        try:
            standing = _standing(snapshot)
        except UNREADABLE:
            return None
        snapshot.check_still()
    return standing


def _standing(snapshot: Snapshot) -> Standing | None:
    who, slots, key = (snapshot.get(name) for name in (member.IDENTITY, member.MAP, member.KEY))
    if who is None or (slots is None and key is None):  # it was refused when it came, and has done nothing
        return None
    _, hive, drone, _ = msgpack.unpackb(who)
    terms = read_terms(snapshot.get("terms") or b"{}")
    _, _, received = msgpack.unpackb(snapshot.get(letter.INBOX) or msgpack.packb(("", "", ())))
    names = snapshot.rows("SELECT name FROM meta WHERE name > ? AND name < ?", (NAME, END))
    rows = [read_name(name) for (name,) in names]
    return Standing(
        snapshot.path,
        drone,
        hive,
        key or b"",
        SlotMap.unpack(slots) if slots is not None else None,
        str(terms.get("HIVE_PARTITION", "")),
        outbox.channels_of(snapshot.get(outbox.META)),
        Counter(row.drone for row in rows if row.exact),
        {other: (channel, last) for other, channel, last in received},
        _others(snapshot.get(session.META)),
    )


def _others(companions: bytes | None) -> Mapping[int, str]:
    return msgpack.unpackb(companions, strict_map_key=False)[1] if companions is not None else {}


def check_identities(crawls: Mapping[Path, Standing]) -> Iterator[DamagedFile]:
    """Each drone lies in its own folder, and all are of one hive."""
    first = next(iter(crawls.values()), None)
    for crawl, one in crawls.items():
        if one.drone != number_of(crawl):
            yield DamagedFile(one.path, 0, f"table meta, {member.IDENTITY}: this is drone {one.drone}")
        if first is not None and one.hive != first.hive:
            why = f"of the hive {one.hive}, where {first.path.parent.parent.name} is of {first.hive}"
            yield DamagedFile(one.path, 0, f"table meta, {member.IDENTITY}: {why}")
        elif first is not None and one.key != first.key:
            yield DamagedFile(one.path, 0, f"table meta, key: another one than {first.path.parent.parent.name} has")


def check_strangers(crawls: Iterable[Path], drones: Iterable[Standing]) -> Iterator[DamagedFile]:
    """Of drones that were never let in: one of another state has their number, and that is not here."""
    known = {number: state for one in drones for number, state in one.others.items()}
    for crawl in crawls:
        number = number_of(crawl)
        with Snapshot(crawl / "state") as snapshot:
            who = snapshot.get(member.IDENTITY)
        if number in known and who is not None and _state(who) not in (known[number], None):
            yield DamagedFile(crawl / STATE, 0, f"never let in: drone {number} has its state {known[number]} elsewhere")


def _state(who: bytes) -> str | None:
    """The id of a drone's state; None of a damaged row, which was reported with the drone."""
    try:
        return str(msgpack.unpackb(who)[0])
    except UNREADABLE:
        return None


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
                yield DamagedFile(receiver.path, 0, f"table meta, {letter.INBOX}: {why}")
            had = _number(before[other].received, number, channel)
            if had > now[1]:
                why = f"letter {had} of drone {number} has come, which has sent {now[1]}: one of them is an older copy"
                yield DamagedFile(receiver.path, 0, f"table meta, {letter.INBOX}: {why}")


def _number(received: Mapping[int, Channel], sender: int, channel: int) -> int:
    known, number = received.get(sender, NEVER)
    return number if known == channel else 0


KNOWN = 1 << 16  # authorities whose owners are remembered
Owner = Callable[[bytes], int]
UNKNOWN = -1  # the owner of what has no host


def owner_of(drones: Iterable[Standing]) -> Owner | None:
    """Whose a URL has been from the beginning on; None if the owners have changed, or depend on a file."""
    first = next(iter(drones), None)
    ways = {one.partition for one in drones}
    if first is None or first.slots is None or len(ways) > 1 or not ways <= set(WAYS):
        return None
    if any(one.slots is None or one.slots.generation > 1 for one in drones):
        return None
    slot, owners = partition_of(first.partition, RegisteredDomains()).slot, first.slots.owners

    @lru_cache(KNOWN)
    def of_authority(start: bytes) -> int:
        try:
            return owners[slot(host_of(f"{start.decode()}/"))]
        except (IndexError, UnicodeDecodeError):  # of a damaged line, which was reported with its drone
            return UNKNOWN

    return lambda url: of_authority(b"/".join(url.split(b"/", 3)[:3]))


def check_owners(drone: int, urls: Iterable[tuple[bytes, Path, int]], owner: Owner) -> Iterator[DamagedFile]:
    """Yields each URL of this drone's log that is another's."""
    for url, path, at in urls:
        theirs = owner(url)
        if theirs not in (drone, UNKNOWN):
            yield DamagedFile(path, at, f"{url.decode(errors='replace')} belongs to drone {theirs}")
