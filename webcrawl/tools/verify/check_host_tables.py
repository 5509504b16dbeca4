"""Checks the tables that have one small value per host (docs/files.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from webcrawl.crawl.rendering.host_need import Need
from webcrawl.crawl.revisit.announcers import Announcer
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot

TABLES: dict[str, tuple[Callable[[bytes], Any], str]] = {  # how a value is read, and what it is
    "announcer": (Announcer.unpack, "a host's listings"),
    "rendering": (Need.unpack, "what rendering has shown of a host"),
}


def check_host_tables(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Reads each row of those that are there."""
    for table, (unpack, what) in TABLES.items():
        if not snapshot.has(table):
            continue
        for row in snapshot.rows(f"SELECT host, data, crc FROM {table}"):
            if not rowcrc.agrees(rowcrc.of_host, row):
                yield snapshot.damaged(f"table {table}, {row[0]}: checksum")
                continue
            try:
                unpack(row[1])
            except Exception:  # noqa: BLE001 - msgpack's and struct's have no common base
                yield snapshot.damaged(f"table {table}, {row[0]}: not {what}")
