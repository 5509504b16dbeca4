"""The table `hosts`: what the last checkpoint has of each host, read beside the crawl, some thousand at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.ended import host_parts
from webcrawl.record.tables.parquet import write_parquet
from webcrawl.store.crawldb import is_damage
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.host_row import COLUMNS, health_of, read
from webcrawl.store.output import Mark

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
    f"SELECT {COLUMNS}, (SELECT max({_STATE}) FROM robots"
    f" WHERE origin IN ('http://' || name, 'https://' || name, 'ftp://' || name) OR {_PORTS}) FROM host ORDER BY name"
)


def write_hosts(disk: Disk, database: Path, most_failures: int, target: Path) -> tuple[Mark, int]:
    """Writes the Parquet file, and returns its mark and its rows; the database is only read.

    `most_failures`: HOST_MAX_FAILURES.
    """
    return write_parquet(disk, target, SCHEMAS["hosts"], _batches(database, most_failures))


def _batches(database: Path, most_failures: int) -> Iterator[pa.RecordBatch]:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute(HOSTS)
            while rows := found.fetchmany(BATCH):
                columns = zip(*[_row(database, most_failures, *row) for row in rows], strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMAS["hosts"], strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["hosts"])
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFile(database, 0, str(error)) from error
        raise OSError(f"{database}: {error}") from error  # a lack of ours: tried again


def _row(database: Path, most_failures: int, *stored: Any) -> tuple[Any, ...]:
    *row, robots = stored
    try:
        host = read(tuple(row))
    except ValueError as error:
        raise DamagedFile(database, 0, f"table host, {row[0]}: {error}") from error
    failed, times = host.failed, host.times
    return (
        host.name,
        *host_parts(host.name),
        host.state.name.lower(),
        health_of(host, most_failures).value,
        host.pages,
        host.waiting,
        host.failures,
        int(failed.at * 1000) if failed is not None else None,
        failed.status if failed is not None else None,
        failed.away if failed is not None else None,
        None if robots is None else ROBOTS[robots],
        host.crawl_delay or None,
        sum(times) / len(times) if times else None,
        int(host.ready_at * 1000) or None,
        host.ip or None,
    )
