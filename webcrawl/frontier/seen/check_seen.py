"""Checks the seen store's rows and files, for each of the three stores, and links that wait for it (docs/seen.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
import zstandard

from webcrawl.frontier.seen import content, known_keys
from webcrawl.frontier.seen.portions import Portion
from webcrawl.frontier.seen.protocol import KEY_ROWS, STATE, SeenState
from webcrawl.frontier.seen.sorted_keys import SeenFiles
from webcrawl.frontier.seen.waiting_records import COUNT, VERDICTS
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import LARGEST, link_flaw
from webcrawl.store.jobdir.snapshot import Snapshot


def check_seen(snapshot: Snapshot, files: SeenFiles, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads everything once; counts the keys, and the records waiting in U."""
    now = _state(snapshot)
    found["keys"], found["waiting"] = now.new, now.end - now.judged
    yield from files.check()
    yield from _waiting(snapshot, now)
    yield from _verdicts(snapshot, now)
    _check_log(snapshot)
    fresh = np.frombuffer(_sized(snapshot, known_keys.NAME, 8), "<u8")
    if bool((fresh[1:] <= fresh[:-1]).any()):
        yield snapshot.damaged(f"table meta, {known_keys.NAME}: not in ascending order")
    _sized(snapshot, content.NAME, content.SIZE)
    # The log of a Bloom filter is shortened when its bits are written, so it has no count to compare.
    keys = len(fresh) + files.keys if now.store == "disk" else now.new
    if keys != now.new and not files.damages:
        yield snapshot.damaged(f"table meta, {STATE}: {now.new} keys, the store has {keys}")


def _state(snapshot: Snapshot) -> SeenState:
    value = snapshot.get(STATE)
    if value is None:
        return SeenState("")
    try:
        now = SeenState(**json.loads(value))
        store, *numbers = astuple(now)
        sound = store in ("disk", "bloom") and min(numbers) >= 0 and now.begin <= now.end >= now.judged
    except (ValueError, TypeError) as error:
        raise snapshot.damaged(f"table meta, {STATE}: {error}") from error
    if not sound:
        raise snapshot.damaged(f"table meta, {STATE}: {value.decode(errors='replace')}")
    return now


def _sized(snapshot: Snapshot, name: str, unit: int) -> bytes:
    value = snapshot.get(name) or b""
    if len(value) % unit:
        raise snapshot.damaged(f"table meta, {name}: {len(value)} bytes, not a multiple of {unit}")
    return value


def _waiting(snapshot: Snapshot, now: SeenState) -> Iterator[DamagedFile]:
    """U: consecutive rows, each with as many records as keys, up to the end."""
    at, first_of_all = None, now.end
    for first, stored, records, crc in snapshot.rows("SELECT seq, keys, records, crc FROM waiting ORDER BY seq"):
        what = f"table waiting, record {first}"
        if at is None:
            first_of_all = first
        elif at != first:
            yield snapshot.damaged(f"{what}: the previous row ends at {at}")
        if not rowcrc.agrees(rowcrc.waiting, (first, stored, crc)):
            yield snapshot.damaged(f"{what}: checksum of the keys", value=stored)
        keys = stored if isinstance(stored, bytes) else b""
        at = first + len(keys) // 8
        flaw = _row_flaw(len(keys), records)
        if flaw:
            yield snapshot.damaged(f"{what}: {flaw}", value=records)
    if first_of_all > now.begin or (at is not None and at != now.end):
        yield snapshot.damaged(f"table waiting: has {first_of_all} to {at}, expected {now.begin} to {now.end}")


def _row_flaw(size: int, packed: bytes) -> str:
    try:
        data = zstandard.ZstdDecompressor().decompress(packed)
        lengths = np.frombuffer(data, "<u4", size // 8).tolist()
    except (zstandard.ZstdError, ValueError, TypeError) as error:
        return str(error)
    at = 4 * len(lengths)
    for length in lengths:
        flaw = link_flaw(data[at : at + length]) if length else ""
        if flaw:
            return flaw
        at += length
    return "" if at == len(data) and not size % 8 else f"{len(data)} bytes where {at} should be"


def _verdicts(snapshot: Snapshot, now: SeenState) -> Iterator[DamagedFile]:
    """Consecutive pieces, up to the last record judged."""
    head = COUNT.size
    pieces = []
    for first, value in _numbered(snapshot, VERDICTS, f"substr(value, 1, {head}), length(value)"):
        count = COUNT.unpack(value[0])[0] if isinstance(value[0], bytes) and len(value[0]) == head else -1
        if value[1] != head + (count + 7) // 8:
            yield snapshot.damaged(f"table meta, {VERDICTS}{first}: wrong length")
        pieces.append((first, first + count))
    if any(one[1] != two[0] for one, two in pairwise(pieces)):
        yield snapshot.damaged(f"table meta, {VERDICTS}*: pieces are not consecutive")
    if pieces and not pieces[0][0] <= now.begin <= pieces[-1][1] == now.judged:
        yield snapshot.damaged(f"table meta, {VERDICTS}*: {pieces[0][0]} to {pieces[-1][1]}, expected to {now.judged}")


def _check_log(snapshot: Snapshot) -> None:
    """The rows that a Bloom filter logs its new keys in are consecutive."""
    at = None
    for first, (size,) in _numbered(snapshot, KEY_ROWS, "ifnull(length(value), -1)"):
        if size % 8 or at not in (None, first):
            raise snapshot.damaged(f"table meta, {KEY_ROWS}{first}: does not continue the previous row")
        at = first + size // 8


def _numbered(snapshot: Snapshot, prefix: str, columns: str) -> list[tuple[int, tuple[Any, ...]]]:
    rows = snapshot.rows(f"SELECT name, {columns} FROM meta WHERE name GLOB ?", (f"{prefix}*",))
    try:
        return sorted((int(name.removeprefix(prefix)), tuple(rest)) for name, *rest in rows)
    except (ValueError, AttributeError) as error:
        raise snapshot.damaged(f"table meta, {prefix}*: {error}") from error


def check_portions(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads everything once; counts the links among those that are not yet looked up."""
    unpack = zstandard.ZstdDecompressor().decompress
    for number, *row in snapshot.rows("SELECT id, turn, site, count, data, crc FROM portion"):
        what = f"table portion, {number}"
        count, data = row[2], row[3]
        if not rowcrc.agrees(rowcrc.portion, row):
            yield snapshot.damaged(f"{what}: checksum", value=data)
            continue
        if zstandard.frame_content_size(data) > LARGEST:
            yield snapshot.damaged(f"{what}: impossibly large", value=data)
            continue
        try:
            portion = Portion.unpack(unpack(data))
            flaw = link_flaw(portion.page.pack())
        except (zstandard.ZstdError, ValueError, TypeError, AttributeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
            continue
        if flaw or len(portion.links) != count:
            yield snapshot.damaged(f"{what}: {flaw or f'{len(portion.links)} links, not {count}'}", value=data)
        found["waiting"] += len(portion.links)
