"""Checks records of revisits: pages that wait, fetches ahead, listings, and hosts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgpack

from webcrawl.base.model import is_link
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.revisit import listings
from webcrawl.crawl.revisit.buckets import BUCKET, COUNT, DIVIDED, HELD, SORTED, TIME, WIDTHS
from webcrawl.crawl.revisit.record import record_in, unpack
from webcrawl.crawl.revisit.signals import Announcer
from webcrawl.net import websub as subscriptions
from webcrawl.net.websub import FIELDS, SubscriptionState
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import SavedQueues, count_records, some
from webcrawl.store.jobdir.snapshot import Snapshot

NUMBER = re.compile(rf"[0-9a-f]{{{2 * TIME}}}")
ERRORS = (ValueError, TypeError, IndexError)
QUEUES = "", HELD  # those by due time, and those put aside


def check_revisits(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damage of what is kept for revisits; `found` counts records, and pages ahead.

    A crawl without revisits has none of it.
    """
    if snapshot.has("revisit"):
        yield from _records(snapshot, found)
    if snapshot.has("ahead"):
        yield from _ahead(snapshot, found)


def _records(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damage of the queues of revisits, and count the records that are sound."""
    queues, blocks = SavedQueues(snapshot, "revisit"), Counter[str]()
    whole = True  # whether all records could be read
    for place, records in places(snapshot, queues):
        try:
            for record in records:
                record_in(record)
                found["revisits"] += 1
        except ERRORS as error:
            whole = False
            yield snapshot.damaged(f"table meta, {place}: {error}")
        except DamagedFile as damage:
            whole = False
            yield damage
    if whole:  # otherwise every block of an unreadable queue would be reported too
        yield from queues.check_blocks(blocks)
        noted = number_of_records(snapshot)
        if noted != found["revisits"]:
            yield snapshot.damaged(
                f"table meta, {SORTED}: there should be {noted} records, but the buckets have "
                f"{found['revisits']}"
            )
    for which in QUEUES:
        for (name, _, end, _), (_, next_start, _, _) in pairwise(_buckets(snapshot, which)):
            if end > next_start:
                yield snapshot.damaged(f"table meta, {name}: this bucket overlaps the next one")


def _buckets(snapshot: Snapshot, which: str) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield name, start and end in ticks, and saved queue of each bucket, in the order of time.

    Raise DamagedFile for a row that is no bucket.
    """
    prefix = which + BUCKET
    for name, value in snapshot.rows(
        "SELECT name, value FROM meta WHERE name GLOB ? ORDER BY name", (f"{prefix}*",)
    ):
        found = NUMBER.fullmatch(str(name).removeprefix(prefix))
        width = value[0] if value else len(WIDTHS)  # an empty row has an invalid one
        if found is None or width not in range(len(WIDTHS)):
            raise snapshot.damaged(f"table meta, {name}: not a valid bucket", value=value)
        start = int(found[0], 16)
        size = 1 << WIDTHS[width]
        # Buckets begin at a multiple of their width.
        if start % size:
            raise snapshot.damaged(f"table meta, {name}: not a valid bucket", value=value)
        yield name, start, start + size, value[1:]


def number_of_records(snapshot: Snapshot) -> int:
    """Return the number of records, as the last checkpoint has noted it."""
    heads = (snapshot.get(which + SORTED) or b"" for which in QUEUES)
    return sum(int.from_bytes(head[TIME : TIME + COUNT], "big") for head in heads)


def places(snapshot: Snapshot, queues: SavedQueues) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the name and the records of all places where records are."""
    for which in QUEUES:
        yield from _places(snapshot, queues, which)


def _places(
    snapshot: Snapshot, queues: SavedQueues, which: str
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield each place of a queue with its records: the buckets, divided ones, sorted records."""
    for name, _, _, saved in _buckets(snapshot, which):
        yield name, queues.records(saved, f"table meta, {name}")
    divided_name = which + DIVIDED
    sorted_name = which + SORTED
    packed = snapshot.get(divided_name) or msgpack.packb([])
    try:
        divided = [(width, saved) for _, width, saved in msgpack.unpackb(packed)]
    except ERRORS as error:
        raise snapshot.damaged(f"table meta, {divided_name}: {error!r}") from error
    for width, saved in divided:
        yield (
            f"{divided_name} of width {width}",
            queues.records(saved, f"table meta, {divided_name}"),
        )
    data = snapshot.get(sorted_name)
    if data is not None:
        yield (
            sorted_name,
            _framed(queues.unpack(data[TIME + COUNT :], f"table meta, {sorted_name}")),
        )


def _framed(data: bytes) -> Iterator[bytes]:
    yield from some(data, 0, count_records(data))


def _ahead(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damage of the table of pages fetched ahead, and count its rows."""
    for row in snapshot.rows("SELECT key, since, data, crc FROM ahead"):
        key, since, data, _ = row
        found["ahead"] += 1
        place = f"table ahead, {key}"
        if not rowcrc.agrees(rowcrc.ahead, row):
            yield snapshot.damaged(f"{place}: wrong checksum", value=data)
            continue
        try:
            if data:
                unpack(data)
            elif since > 0:  # the time of a fetch; see `QUEUED` in fetched_ahead.py
                yield snapshot.damaged(f"{place}: was fetched, but has no outcome")
        except ERRORS as error:
            yield snapshot.damaged(f"{place}: {error}", value=data)


LISTED = "SELECT listing, count, read, keys, dates, crc FROM listed"
SUBSCRIPTION = f"SELECT {FIELDS}, crc FROM subscription"


def check_signals(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damage of the tables of signals; `found` counts listings and subscriptions."""
    if snapshot.has("listed"):
        yield from _listed(snapshot, found)
    if snapshot.has("subscription"):
        yield from _subscriptions(snapshot, found)


def _listed(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damage of the table of what listings link to, and count its rows."""
    for row in snapshot.rows(LISTED):
        listing, count, _, keys, dates, _ = row
        found["listings"] += 1
        place = f"table listed, {listing}"
        if not rowcrc.agrees(listings.checksum, row):
            yield snapshot.damaged(f"{place}: wrong checksum")
            continue
        try:
            deltas = listings.columns(count, keys, 8).view("<u8")
            listings.columns(count, dates, 4)
        except ValueError as error:
            yield snapshot.damaged(f"{place}: {error}")
            continue
        # Python's own integers: numpy's sum would wrap around.
        is_ascending = deltas[1:].all() and sum(map(int, deltas)) < 1 << 64
        if not is_ascending:
            yield snapshot.damaged(f"{place}: the keys are not in order")


def _subscriptions(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    for row in snapshot.rows(SUBSCRIPTION):
        token, _, _, page, _, state, *_ = row
        found["subscriptions"] += 1
        if not rowcrc.agrees(subscriptions.checksum, row):
            yield snapshot.damaged(f"table subscription, {token}: wrong checksum")
        elif not is_link(page) or state not in [*SubscriptionState]:
            yield snapshot.damaged(f"table subscription, {token}: not a valid subscription")


TABLES: dict[str, tuple[Callable[[bytes], Any], str]] = {  # how a value is read, and what it is
    "announcer": (Announcer.unpack, "a host's listings"),
    "rendering": (Need.unpack, "what rendering has shown of a host"),
}


def check_host_tables(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Yield each damage of the tables that have a row per host."""
    for table, (unpacked, what) in TABLES.items():
        if not snapshot.has(table):
            continue
        for row in snapshot.rows(f"SELECT host, data, crc FROM {table}"):
            if not rowcrc.agrees(rowcrc.of_host, row):
                yield snapshot.damaged(f"table {table}, {row[0]}: wrong checksum")
                continue
            try:
                unpacked(row[1])
            except Exception:  # noqa: BLE001 - msgpack's and struct's have no common base
                yield snapshot.damaged(f"table {table}, {row[0]}: cannot be read as {what}")
