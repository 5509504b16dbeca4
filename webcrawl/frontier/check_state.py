"""Checks a checkpoint: the rows of the frontier, which have to agree, and the seen stores'."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from itertools import chain, pairwise
from random import Random
from typing import Any

import msgpack
import numpy as np

from webcrawl.base import zstd_frame
from webcrawl.frontier.deferred_hosts import Entry, unpack
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.frontier.seen import content, known_keys
from webcrawl.frontier.seen.portions import Portion
from webcrawl.frontier.seen.protocol import KEY_ROWS, STATE, SeenState
from webcrawl.frontier.seen.sorted_keys import SeenFiles
from webcrawl.frontier.seen.waiting_records import COUNT, VERDICTS
from webcrawl.frontier.state import open_frontier
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import domain_row, host_row
from webcrawl.store.jobdir.host_row import HostState
from webcrawl.store.jobdir.meta_row import FRONTIER as META
from webcrawl.store.jobdir.meta_row import read_terms
from webcrawl.store.jobdir.queue_row import SavedQueues, link_flaw
from webcrawl.store.jobdir.snapshot import Snapshot

OURS = f"{open_frontier.__module__}.{open_frontier.__qualname__}"
# before a dotted path, among the figures: a frontier whose URLs are not looked at
OTHER = "frontier "


def check_frontier(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read all of a frontier's rows once; yield their damage.

    The numbers of its hosts, domains and queued URLs are added to `found`.
    """
    queues = SavedQueues(snapshot)
    # A count of its own: `found` has figures of other checks, and URLs are compared with this one.
    counts: Counter[str] = Counter()
    places = HostPlaces()
    # Each later check compares with what the earlier ones have counted.
    is_sound = True
    for damage in _hosts(snapshot, queues, counts, places):
        is_sound = False
        yield damage
    for damage in check_domains(snapshot, queues, counts):
        is_sound = False
        yield damage
    for damage in _front(snapshot, queues, counts, places, whole=is_sound):
        is_sound = False
        yield damage
    # Otherwise every block of an unreadable queue would be reported too.
    if is_sound:
        yield from queues.check_blocks(counts)
    found.update(counts)
    other_frontier = _other_frontier(snapshot)
    if other_frontier:
        found[OTHER + other_frontier] = 1


def _other_frontier(snapshot: Snapshot) -> str | None:
    """Return the dotted path of the crawl's FRONTIER; None if it is ours, or cannot be read.

    Another frontier keeps its URLs in a form of its own, so they cannot be counted.
    """
    try:
        path = read_terms(snapshot.get("terms") or b"{}").get("FRONTIER", OURS)
    except (ValueError, AttributeError):
        # Another check reports damaged terms.
        return None
    return str(path) if path != OURS else None


@dataclass
class HostPlaces:
    """Hosts that are parked or deferred by their rows, and so have to be in one queue of names
    each.
    """

    # 1 for each parked host, and 0 for each other one; a Counter, to be compared with the queues
    parked: Counter[str] = field(default_factory=Counter)
    deferred: dict[str, float] = field(default_factory=dict)  # by name: when the host comes back
    urls_deferred: int = 0


def _hosts(
    snapshot: Snapshot, queues: SavedQueues, found: Counter[str], places: HostPlaces
) -> Iterator[DamagedFile]:
    """Check the table `host`; yield its damage.

    The hosts and queued URLs are counted in `found`, parked hosts and deferred hosts in `places`.
    """
    for row in host_row.host_rows(snapshot):
        found["hosts"] += 1
        name, _, data, _ = row
        what = f"table host, {name}"
        try:
            host = host_row.check(row)
            later = [record for _, record in host.later]
            queued = [queues.records(queue, what) for queue in host.queues]
            count = _links(snapshot, chain(later, *queued), what, name)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
            continue
        except DamagedFile as damage:
            # Damage without a place in the file is of this row, whose place is found by its data.
            yield damage if damage.offset else snapshot.damaged(damage.why, value=data)
            continue
        found["queued"] += count
        places.parked[name] += host.state is HostState.PARKED
        if host.state is HostState.DEFERRED:
            places.deferred[name] = host.deferred_until
            places.urls_deferred += count
        # A host that moves to another drone may have URLs or none.
        if host.state is HostState.MOVING:
            continue
        should_have_urls = host.state is not HostState.IDLE
        if bool(count) is not should_have_urls:
            yield snapshot.damaged(
                f"{what}: the host is in state {host.state.name}, but has {count} queued URLs",
                value=data,
            )


def _links(snapshot: Snapshot, records: Iterable[bytes], what: str, host: str | None = None) -> int:
    """Return the number of records.

    Raise DamagedFile if one is not a link, or belongs to another host than `host`. `what` names
    their queue in the message.
    """
    count = 0
    for record in records:
        count += 1
        flaw = link_flaw(record, host)
        if flaw:
            raise snapshot.damaged(f"{what}: {flaw}")
    return count


def _without_names(records: Iterable[bytes], names: Counter[str]) -> Iterator[bytes]:
    """Yield the links of a full group's queue; count the names of parked hosts in `names`."""
    for record in records:
        # A packed link has spaces, and the name of a host has none.
        if b" " in record:
            yield record
        else:
            names[record.decode()] += 1


def _front(
    snapshot: Snapshot, queues: SavedQueues, found: Counter[str], places: HostPlaces, *, whole: bool
) -> Iterator[DamagedFile]:
    """Check the frontier's own state in the table `meta`; yield its damage.

    Its queues' URLs are counted in `found`. `whole`: nothing else is damaged, so the counts and the
    places of hosts are compared, too.
    """
    data = snapshot.get(META)
    if data is None:
        return
    try:
        state = msgpack.unpackb(data)
        for level, saved in enumerate(state["front"]):
            what = f"table meta, {META}: level {level}"
            found["queued"] += _links(snapshot, queues.records(saved, what), what)
        if "revisits" in state:
            what = f"table meta, {META}: revisits"
            found["queued"] += _links(snapshot, queues.records(state["revisits"], what), what)
        # names in the queues in which hosts wait for a place, those of full groups included
        waiting = Counter(
            record.decode()
            for record in queues.records(state["parked"], f"table meta, {META}: parked")
        )
        for group, saved in state["lines"].items():
            what = f"table meta, {META}: line of {group}"
            found["queued"] += _links(
                snapshot, _without_names(queues.records(saved, what), waiting), what
            )
        # Deferred hosts were once called hosts set aside, and the state has the old names.
        entries = _deferred_entries(queues, state["aside"])
        noted = tuple(state["set aside"])  # the numbers of URLs and of hosts
        version, words, gauss = state["random"]
        Random().setstate((version, tuple(words), gauss))  # raises if it is not such a state
        queued = state["queued"]
        # Nothing here compares these, but a frontier has to be able to read them.
        int(state["width"])
        Counter(state["counters"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}")
    except DamagedFile as damage:
        yield damage
    else:
        # After other damage these would differ too, and hide the cause.
        if not whole:
            return
        if queued != found["queued"]:
            yield snapshot.damaged(
                f"table meta, {META}: {queued} URLs should be queued, but the queues hold {found['queued']}"
            )
        yield from _misplaced_hosts(snapshot, waiting, entries, noted, places)


def _deferred_entries(queues: SavedQueues, saved: Iterable[tuple[int, bytes, bytes]]) -> set[Entry]:
    """Return the entries of the queue of deferred hosts.

    Some may be of hosts that came back before.
    """
    entries: set[Entry] = set()
    # Of each length of wait the first entry is saved apart from the queue behind it.
    for length, first, queue in saved:
        records = queues.records(queue, f"table meta, {META}: deferred for {length}")
        entries.update(map(unpack, chain((first,), records)))
    return entries


def _misplaced_hosts(
    snapshot: Snapshot,
    waiting: Counter[str],
    entries: set[Entry],
    noted: tuple[int, ...],
    places: HostPlaces,
) -> Iterator[DamagedFile]:
    """Yield the disagreements between hosts' rows (`places`) and the queues of names.

    `waiting`: the names in queues of parked hosts. `entries`: those of deferred hosts. `noted`:
    the numbers of URLs and of deferred hosts, as the frontier has them.
    """
    parked = places.parked
    deferred = places.deferred
    # `+` leaves out hosts with a count of 0: they are not parked.
    if waiting != +parked:
        odd = next(iter((waiting - parked) | (parked - waiting)))
        yield snapshot.damaged(
            f"table meta, {META}: {odd} is parked but not waiting in line, or the reverse"
        )
    for name, at in deferred.items():
        if (at, name) not in entries:
            yield snapshot.damaged(
                f"table meta, {META}: {name} is deferred, but has no time to come back"
            )
            break
    if noted != (places.urls_deferred, len(deferred)):
        yield snapshot.damaged(
            f"table meta, {META}: {noted} URLs and hosts should be deferred, but the hosts have "
            f"{(places.urls_deferred, len(deferred))}"
        )


def check_domains(
    snapshot: Snapshot, queues: SavedQueues, found: Counter[str]
) -> Iterator[DamagedFile]:
    """Check the tables `domain` and `linked`; yield their damage.

    The numbers of domains, and of URLs that wait for a budget or are folded, are added to `found`.
    """
    for row in snapshot.rows(domain_row.ALL):
        found["domains"] += 1
        name, _, waiting, data, _ = row
        what = f"table domain, {name}"
        try:
            count = _waiting(queues, domain_row.check(row).queue, what)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
            continue
        except DamagedFile as damage:
            yield damage if damage.offset else snapshot.damaged(damage.why, value=data)
            continue
        found["queued"] += count
        reason = "folded" if name.endswith(FAMILIES) else "over budget"
        found[reason] += count
        if count != waiting:
            yield snapshot.damaged(
                f"{what}: {waiting} URLs should be waiting, but its queue holds {count}",
                value=data,
            )
    for number, sources in snapshot.rows("SELECT domain, sources FROM linked"):
        found["linked"] += 1
        if flaw := domain_row.check_sources(sources):
            yield snapshot.damaged(f"table linked, {number}: {flaw}")


def _waiting(queues: SavedQueues, queue: bytes | None, what: str) -> int:
    """Return the number of URLs in a domain's queue.

    Raise ValueError if one is no link, DamagedFile for the queue.
    """
    if queue is None:
        return 0
    count = 0
    for record in queues.records(queue, what):
        count += 1
        flaw = link_flaw(record)
        if flaw:
            raise ValueError(flaw)
    return count


def check_seen(snapshot: Snapshot, files: SeenFiles, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read all that the seen stores have saved once; yield its damage.

    Raise DamagedFile if a value in the table `meta` is unreadable. The numbers of keys, and of
    records in U that wait for a verdict, are noted in `found`.
    """
    state = _state(snapshot)
    found["keys"] = state.new
    found["waiting"] = state.end - state.judged
    yield from files.check()
    yield from _waiting_records(snapshot, state)
    yield from _verdicts(snapshot, state)
    _check_log(snapshot)
    # the keys of F that are in memory and in no file
    fresh = np.frombuffer(_sized(snapshot, known_keys.NAME, 8), "<u8")
    if bool((fresh[1:] <= fresh[:-1]).any()):
        yield snapshot.damaged(
            f"table meta, {known_keys.NAME}: the keys are not in ascending order"
        )
    _sized(snapshot, content.NAME, content.SIZE)
    # The log of a Bloom filter is shortened when its bits are written, so it has no count to
    # compare.
    keys = len(fresh) + files.keys if state.store == "disk" else state.new
    if keys != state.new and not files.damages:
        yield snapshot.damaged(
            f"table meta, {STATE}: there should be {state.new} keys, but the store has {keys}"
        )


def _state(snapshot: Snapshot) -> SeenState:
    """Return the seen store's counts. Raise DamagedFile if they are unreadable or contradictory."""
    value = snapshot.get(STATE)
    if value is None:
        return SeenState("")
    try:
        state = SeenState(**json.loads(value))
        store, *numbers = astuple(state)
        is_known_store = store in ("disk", "bloom")
        is_in_order = state.begin <= state.end >= state.judged
        sound = is_known_store and min(numbers) >= 0 and is_in_order
    except (ValueError, TypeError) as error:
        raise snapshot.damaged(f"table meta, {STATE}: {error}") from error
    if not sound:
        raise snapshot.damaged(
            f"table meta, {STATE}: impossible values: {value.decode(errors='replace')}"
        )
    return state


def _sized(snapshot: Snapshot, name: str, unit: int) -> bytes:
    """Return a value of the table `meta` that consists of items of `unit` bytes.

    Raise DamagedFile if the last item is truncated.
    """
    value = snapshot.get(name) or b""
    if len(value) % unit:
        raise snapshot.damaged(
            f"table meta, {name}: its {len(value)} bytes are not a multiple of {unit}"
        )
    return value


def _waiting_records(snapshot: Snapshot, state: SeenState) -> Iterator[DamagedFile]:
    """Check the table `waiting`, which is U; yield its damage.

    Its rows have to be consecutive, up to the end, each with as many records as keys. `begin` may
    be within the first row, of which a part was taken.
    """
    at = None  # the ordinal behind the last row
    first_of_all = state.end
    for first, stored, records, crc in snapshot.rows(
        "SELECT seq, keys, records, crc FROM waiting ORDER BY seq"
    ):
        what = f"table waiting, record {first}"
        if at is None:
            first_of_all = first
        elif at != first:
            yield snapshot.damaged(
                f"{what}: does not continue the previous row, which ends at {at}"
            )
        if not rowcrc.agrees(rowcrc.waiting, (first, stored, crc)):
            yield snapshot.damaged(f"{what}: wrong checksum of the keys", value=stored)
        keys = stored if isinstance(stored, bytes) else b""
        at = first + len(keys) // 8  # a key has eight bytes
        flaw = _row_flaw(len(keys), records)
        if flaw:
            yield snapshot.damaged(f"{what}: {flaw}", value=records)
    ends_elsewhere = at is not None and at != state.end
    if first_of_all > state.begin or ends_elsewhere:
        yield snapshot.damaged(
            f"table waiting: expected records {state.begin} to {state.end}, found {first_of_all} to {at}"
        )


def _row_flaw(size: int, packed: bytes) -> str:
    """Return the flaw of a row of waiting records, or an empty text.

    `size`: bytes of its keys, eight for each record; `packed`: its records.
    """
    try:
        data = zstd_frame.unpack(packed)
        lengths = np.frombuffer(data, "<u4", size // 8).tolist()
    except (ValueError, TypeError) as error:
        return str(error)
    at = 4 * len(lengths)  # the records are behind their lengths, of four bytes each
    for length in lengths:
        # A record of no bytes only marks its key as seen.
        flaw = link_flaw(data[at : at + length]) if length else ""
        if flaw:
            return flaw
        at += length
    if at != len(data) or size % 8:
        return f"has {len(data)} bytes instead of {at}"
    return ""


def _verdicts(snapshot: Snapshot, state: SeenState) -> Iterator[DamagedFile]:
    """Check the saved verdicts on the records of U; yield their damage.

    They are in consecutive pieces up to the last record judged. A piece begins with the number of
    its verdicts, of which each takes one bit.
    """
    head = COUNT.size
    pieces = []  # of each piece, its first ordinal and the one behind its last
    columns = f"substr(value, 1, {head}), length(value)"
    for first, (beginning, length) in _numbered(snapshot, VERDICTS, columns):
        has_head = isinstance(beginning, bytes) and len(beginning) == head
        count = COUNT.unpack(beginning)[0] if has_head else -1  # -1 fits no length
        if length != head + (count + 7) // 8:
            yield snapshot.damaged(f"table meta, {VERDICTS}{first}: wrong length")
        pieces.append((first, first + count))
    if any(end != begin for (_, end), (begin, _) in pairwise(pieces)):
        yield snapshot.damaged(f"table meta, {VERDICTS}*: pieces are not consecutive")
    if pieces and not pieces[0][0] <= state.begin <= pieces[-1][1] == state.judged:
        yield snapshot.damaged(
            f"table meta, {VERDICTS}*: expected pieces up to {state.judged}, found {pieces[0][0]} "
            f"to {pieces[-1][1]}"
        )


def _check_log(snapshot: Snapshot) -> None:
    """Raise DamagedFile unless the rows are consecutive in which a Bloom filter logs new keys."""
    at = None  # the number of the key behind the last row
    for first, (size,) in _numbered(snapshot, KEY_ROWS, "ifnull(length(value), -1)"):
        continues = at is None or at == first
        if size % 8 or not continues:
            raise snapshot.damaged(
                f"table meta, {KEY_ROWS}{first}: does not continue the previous row"
            )
        at = first + size // 8


def _numbered(snapshot: Snapshot, prefix: str, columns: str) -> list[tuple[int, tuple[Any, ...]]]:
    """Return these columns of the rows of `meta` that are called `prefix` and a number, by number.

    Raise DamagedFile if a name does not end with a number.
    """
    rows = snapshot.rows(f"SELECT name, {columns} FROM meta WHERE name GLOB ?", (f"{prefix}*",))
    try:
        return sorted((int(name.removeprefix(prefix)), tuple(rest)) for name, *rest in rows)
    except (ValueError, AttributeError) as error:
        raise snapshot.damaged(f"table meta, {prefix}*: {error}") from error


def check_portions(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check the table `portion`; yield its damage.

    Its links, which are not looked up yet, are counted in `found` as waiting.
    """
    for number, *row in snapshot.rows("SELECT id, turn, site, count, data, crc FROM portion"):
        what = f"table portion, {number}"
        count = row[2]
        data = row[3]
        if not rowcrc.agrees(rowcrc.portion, row):
            yield snapshot.damaged(f"{what}: wrong checksum", value=data)
            continue
        try:
            portion = Portion.unpack(zstd_frame.unpack(data))
            flaw = link_flaw(portion.page.pack())
        except (ValueError, TypeError, AttributeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
            continue
        if not flaw and len(portion.links) != count:
            flaw = f"has {len(portion.links)} links instead of {count}"
        if flaw:
            yield snapshot.damaged(f"{what}: {flaw}", value=data)
        found["waiting"] += len(portion.links)
