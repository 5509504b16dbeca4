"""The table `hosts`: what the last checkpoint has of each host, read beside the crawl, some thousand at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa

from webcrawl.frontier.hosts import STATES, State, saved_queues
from webcrawl.frontier.saved import HEAD
from webcrawl.model import Status
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import is_damage
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.output import Mark
from webcrawl.tables.columns import SCHEMAS
from webcrawl.tables.ended import host_parts
from webcrawl.tables.parquet import write_parquet

BATCH = 4096
# What is known of a host's robots.txt files, of whatever scheme and port: the worst that one of them says. The rows are
# those of net/robots_packed.py.
ROBOTS = ("open", "rules", "unreachable", "given up")
_STATE = (
    f"CASE WHEN rules = x'' OR substr(rules, 1, 1) = x'3F' THEN {ROBOTS.index('open')}"
    f" WHEN substr(rules, 1, 1) <> x'21' THEN {ROBOTS.index('rules')}"
    f" WHEN substr(rules, 1, 2) <> x'2130' THEN {ROBOTS.index('unreachable')} ELSE {ROBOTS.index('given up')} END"
)
_PORTS = " OR ".join(
    f"(origin > '{scheme}://' || name || ':' AND origin < '{scheme}://' || name || ';')"
    for scheme in ("http", "https", "ftp")
)
HOSTS = (
    f"SELECT name, state, data, crc, (SELECT max({_STATE}) FROM robots"
    f" WHERE origin IN ('http://' || name, 'https://' || name, 'ftp://' || name) OR {_PORTS}) FROM host ORDER BY name"
)


def write_hosts(disk: Disk, database: Path, target: Path) -> tuple[Mark, int]:
    """Writes the Parquet file, and returns its mark and its rows; the database is only read."""
    return write_parquet(disk, target, SCHEMAS["hosts"], _batches(database))


def _batches(database: Path) -> Iterator[pa.RecordBatch]:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute(HOSTS)
            while rows := found.fetchmany(BATCH):
                columns = zip(*[_row(database, *row) for row in rows], strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMAS["hosts"], strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["hosts"])
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFile(database, 0, str(error)) from error
        raise OSError(f"{database}: {error}") from error  # a lack of ours: tried again


def _row(database: Path, name: str, number: int, data: bytes, crc: int, robots: int | None) -> tuple[Any, ...]:
    if not rowcrc.agrees(rowcrc.host, (name, number, data, crc)):
        raise DamagedFile(database, 0, f"table host, {name}: checksum")
    ready_at, times, crawl_delay, failures, pages, retired, ip, later, failed, _, queue, *ranked = msgpack.unpackb(data)
    queues = [saved for saved in (queue, *(saved for _, saved in saved_queues(*ranked))) if saved is not None]
    at, away, status, *_ = failed or (None, None, None)
    state = STATES[number]
    return (
        name,
        *host_parts(name),
        state.name.lower(),
        _health(state, failures, retired),
        pages,
        len(later) + sum(HEAD.unpack_from(saved)[1] for saved in queues),
        failures,
        at and int(at * 1000),
        status,
        away,
        None if robots is None else ROBOTS[robots],
        crawl_delay or None,
        sum(times) / len(times) if times else None,
        int(ready_at * 1000) or None,
        ip or None,
    )


def _health(state: State, failures: int, retired: int) -> str:
    """The words of frontier/health.py; a host that has given all its pages may still be healthy."""
    if retired not in (0, Status.HOST_BUDGET):
        return "given up"
    if not failures:
        return "healthy"
    return "aside" if state is State.ASIDE else "failing"
