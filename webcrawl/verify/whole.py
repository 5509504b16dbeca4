"""All that a crawl left, checked from one read transaction; nothing is written, and nobody is waited for."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgpack

from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.urls.fingerprint import KEY_BYTES
from webcrawl.verify.frontier import check_frontier
from webcrawl.verify.log import check_log
from webcrawl.verify.outputs import check_outputs
from webcrawl.verify.seen import check_seen
from webcrawl.verify.seenfiles import SeenFiles, opened
from webcrawl.verify.snapshot import Changed, Snapshot

TRIES, PAUSE = 3, 1.0  # seconds: a crawl takes less to be opened


class NoCrawl(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds nothing that can be verified."""


def verify(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Each damaged place; `found` has the summary's figures when all are taken. StoreError: nothing can be said."""
    state = jobdir / "state"
    if not jobdir.is_dir():
        raise NoCrawl(f"{jobdir}: there is no such folder")
    if not (state / "crawl.db").exists():
        if (state / "crawl.db-wal").exists():
            yield DamagedFile(state / "crawl.db-wal", 0, "a log without its crawl.db")
            return
        raise NoCrawl(f"{jobdir}: no crawl, there is no state/crawl.db in it")
    for left in reversed(range(TRIES)):
        sound, mine = True, Counter[str]()
        try:
            for damage in _unchanged(jobdir, mine):
                sound = False
                yield damage
        except Changed:
            if not sound or not left:
                raise
            time.sleep(PAUSE)  # until a crawl that has just begun has a log, to be read by
        else:
            found.update(mine)
            return


def _unchanged(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """What is damaged as long as nothing changes: half old and half new looks damaged too."""
    snapshot, files = opened(jobdir / "state")
    try:
        for damage in _all(snapshot, files, jobdir, found):
            snapshot.check_still()
            yield damage
        snapshot.check_still()
    finally:
        files.close()
        snapshot.close()


def _all(snapshot: Snapshot, files: SeenFiles, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    yield from check_log(Path(f"{snapshot.path}-wal"))
    yield from _guarded(snapshot.check)
    yield from _guarded(lambda: _meta_sums(snapshot))
    yield from _guarded(lambda: check_seen(snapshot, files, found))
    yield from _guarded(lambda: check_frontier(snapshot, found))
    yield from _guarded(lambda: _meta(snapshot))
    yield from _guarded(lambda: check_outputs(snapshot, jobdir, found))
    yield from _stats(jobdir / "stats.json")


def _guarded(check: Callable[[], Iterator[DamagedFile]]) -> Iterator[DamagedFile]:
    """What one check cannot go on behind is a damaged place, and no reason to leave out the others."""
    try:
        yield from check()
    except DamagedFile as damage:
        yield damage


def _meta_sums(snapshot: Snapshot) -> Iterator[DamagedFile]:
    for row in snapshot.rows("SELECT name, value, crc FROM meta"):
        if not rowcrc.agrees(rowcrc.meta, row):
            yield snapshot.damaged(f"table meta, {row[0]}: checksum", value=row[1])


def _meta(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """The small values whose forms are known: key, place in the seeds, counters, what filters and pipelines keep."""
    key = snapshot.get("key")
    if key is not None and len(key) != KEY_BYTES:
        yield snapshot.damaged(f"table meta, key: {len(key)} bytes, not {KEY_BYTES}")
    for name, read in (("seeds", json.loads), ("tallies", msgpack.unpackb), ("filters", msgpack.unpackb)):
        value = snapshot.get(name)
        try:
            named = value is None or isinstance(read(value), dict)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")
        else:
            if not named:
                yield snapshot.damaged(f"table meta, {name}: no values by name")
    for name, value in snapshot.rows("SELECT name, value FROM meta WHERE name GLOB 'pipeline.*'"):
        try:
            msgpack.unpackb(value, strict_map_key=False)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")
    archive = (snapshot.get("warc") or b"0 ").decode(errors="replace")
    number, _, path = archive.partition(" ")
    if not number.isdecimal() or (path and not list(snapshot.rows("SELECT 1 FROM output WHERE path = ?", (path,)))):
        yield snapshot.damaged(f"table meta, warc: {archive!r} is no number and noted output")


def _stats(path: Path) -> Iterator[DamagedFile]:
    """It may be missing: nothing reads it back, and it may be removed."""
    try:
        if path.exists() and not isinstance(json.loads(path.read_bytes()), dict):
            yield DamagedFile(path, 0, "no counters by name")
    except ValueError as error:
        yield DamagedFile(path, getattr(error, "pos", 0), str(error))
