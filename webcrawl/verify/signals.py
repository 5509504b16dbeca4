"""Checks what a crawl knows of listings, of the hosts that these speak for, and of hubs: tables that few have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webcrawl.model import is_link
from webcrawl.revisit import announcers, listed
from webcrawl.revisit.announcers import Announcer
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.verify.snapshot import Snapshot
from webcrawl.websub import subscriptions
from webcrawl.websub.subscriptions import FIELDS, State

LISTED = "SELECT listing, count, read, keys, dates, crc FROM listed"
ANNOUNCER = "SELECT host, data, crc FROM announcer"
SUBSCRIPTION = f"SELECT {FIELDS}, crc FROM subscription"


def check_signals(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads each row once; counts listings and subscriptions."""
    if snapshot.has("listed"):
        yield from _listed(snapshot, found)
    if snapshot.has("announcer"):
        yield from _announcers(snapshot)
    if snapshot.has("subscription"):
        yield from _subscriptions(snapshot, found)


def _listed(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    for row in snapshot.rows(LISTED):
        listing, count, _, keys, dates, _ = row
        found["listings"] += 1
        what = f"table listed, {listing}"
        if not rowcrc.agrees(listed.checksum, row):
            yield snapshot.damaged(f"{what}: checksum")
            continue
        try:
            deltas = listed.columns(count, keys, 8).view("<u8")
            listed.columns(count, dates, 4)
        except ValueError as error:
            yield snapshot.damaged(f"{what}: {error}")
            continue
        if not deltas[1:].all() or sum(map(int, deltas)) >= 1 << 64:
            yield snapshot.damaged(f"{what}: keys are not in order")


def _announcers(snapshot: Snapshot) -> Iterator[DamagedFile]:
    for row in snapshot.rows(ANNOUNCER):
        what = f"table announcer, {row[0]}"
        if not rowcrc.agrees(announcers.checksum, row):
            yield snapshot.damaged(f"{what}: checksum")
            continue
        try:
            Announcer.unpack(row[1])
        except Exception:  # noqa: BLE001 - msgpack's and struct's have no common base
            yield snapshot.damaged(f"{what}: not a host's listings")


def _subscriptions(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    for row in snapshot.rows(SUBSCRIPTION):
        token, _, _, page, _, state, *_ = row
        found["subscriptions"] += 1
        if not rowcrc.agrees(subscriptions.checksum, row):
            yield snapshot.damaged(f"table subscription, {token}: checksum")
        elif not is_link(page) or state not in [*State]:
            yield snapshot.damaged(f"table subscription, {token}: not a subscription")
