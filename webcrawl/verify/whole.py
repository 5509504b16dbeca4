"""Checks everything that a crawl left, in one read transaction. It writes nothing and waits for no lock."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import msgpack

from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.regular import regular
from webcrawl.urls.fingerprint import KEY_BYTES
from webcrawl.verify.frontier import check_frontier
from webcrawl.verify.letters import check_letters
from webcrawl.verify.lines import LONGEST, check_lines
from webcrawl.verify.log import check_log
from webcrawl.verify.outputs import check_outputs
from webcrawl.verify.pagefiles import check_pagefiles
from webcrawl.verify.portions import check_portions
from webcrawl.verify.revisits import check_revisits
from webcrawl.verify.seen import check_seen
from webcrawl.verify.seenfiles import SeenFiles, opened
from webcrawl.verify.signals import check_signals
from webcrawl.verify.since import check_since
from webcrawl.verify.snapshot import Changed, Snapshot
from webcrawl.verify.statistics import check_statistics
from webcrawl.verify.tables import check_tables
from webcrawl.verify.tags import check_tags
from webcrawl.verify.walk import check_walk

TRIES, PAUSE = 3, 1.0  # seconds: a crawl takes less to open its files
REQUESTS = "logs/requests.log"
MAPPINGS = {"seeds": json.loads, "terms": json.loads, "tallies": msgpack.unpackb, "filters": msgpack.unpackb}


class NoCrawl(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds nothing to verify."""


def verify(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each damaged place; afterwards `found` has the summary's figures. StoreError: the check is impossible."""
    state = jobdir / "state"
    if not jobdir.is_dir():
        raise NoCrawl(f"{jobdir}: no such folder")
    if not (state / "crawl.db").exists():
        if (state / "crawl.db-wal").exists():
            yield DamagedFile(state / "crawl.db-wal", 0, "the log exists, but crawl.db does not")
            return
        raise NoCrawl(f"{jobdir}: not a crawl: state/crawl.db is missing")
    for left in reversed(range(TRIES)):
        sound, mine = True, Counter[str]()
        try:
            for damage in _unchanged(jobdir, mine):
                sound = False
                yield damage
        except Changed:
            if not sound or not left:
                raise
            time.sleep(PAUSE)  # until the crawl that has just started has a log to read from
        else:
            found.update(mine)
            return


def _unchanged(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """The damage found while nothing changes: a mixture of old and new would look damaged too."""
    log = list(check_log(jobdir / "state/crawl.db-wal"))  # before the snapshot: it opens and closes the log's index
    snapshot, files = opened(jobdir / "state")
    try:
        for damage in chain(log, _all(snapshot, files, jobdir, found)):
            snapshot.check_still()
            yield damage
        snapshot.check_still()
    finally:
        files.close()
        snapshot.close()


def _all(snapshot: Snapshot, files: SeenFiles, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    yield from guarded(snapshot.check)
    yield from guarded(lambda: _meta_sums(snapshot))
    yield from guarded(lambda: check_seen(snapshot, files, found))
    yield from guarded(lambda: check_frontier(snapshot, found))
    yield from guarded(lambda: check_portions(snapshot, found))
    yield from guarded(lambda: check_signals(snapshot, found))
    yield from guarded(lambda: check_letters(snapshot, found))
    yield from guarded(lambda: check_revisits(snapshot, found))
    yield from guarded(lambda: check_walk(snapshot, found))
    yield from guarded(lambda: _meta(snapshot))
    damaged: set[Path] = set()
    for damage in guarded(lambda: check_outputs(snapshot, jobdir, found)):
        damaged.add(damage.path)
        yield damage
    yield from guarded(lambda: check_statistics(snapshot, jobdir, damaged, found))
    yield from guarded(lambda: check_tables(snapshot, jobdir, damaged, found))
    yield from guarded(lambda: _requests(jobdir, found))
    yield from guarded(lambda: check_since(jobdir / "state", found))
    yield from guarded(lambda: check_pagefiles(snapshot, jobdir))
    yield from guarded(lambda: check_tags(snapshot, jobdir / "tags.tsv"))
    yield from check_stats(jobdir / "stats.json")


def guarded(check: Callable[[], Iterator[DamagedFile]]) -> Iterator[DamagedFile]:
    """Reports damage that ends one check, so that the others still run."""
    try:
        yield from check()
    except DamagedFile as damage:
        yield damage


def _meta_sums(snapshot: Snapshot) -> Iterator[DamagedFile]:
    for row in snapshot.rows("SELECT name, value, crc FROM meta"):
        if not rowcrc.agrees(rowcrc.meta, row):
            yield snapshot.damaged(f"table meta, {row[0]}: checksum", value=row[1])


def _meta(snapshot: Snapshot) -> Iterator[DamagedFile]:
    """Checks the small values of known form: key, position in the seeds, counters, state of filters and pipelines."""
    key = snapshot.get("key")
    if key is not None and len(key) != KEY_BYTES:
        yield snapshot.damaged(f"table meta, key: {len(key)} bytes, not {KEY_BYTES}")
    for name, read in (
        ("seeds", json.loads),
        ("terms", json.loads),
        ("tallies", msgpack.unpackb),
        ("filters", msgpack.unpackb),
    ):
        value = snapshot.get(name)
        try:
            named = value is None or isinstance(read(value), dict)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")
        else:
            if not named:
                yield snapshot.damaged(f"table meta, {name}: not a mapping")
    for name, value in snapshot.rows("SELECT name, value FROM meta WHERE name GLOB 'pipeline.*'"):
        try:
            msgpack.unpackb(value, strict_map_key=False)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"table meta, {name}: {error}")
    archive = (snapshot.get("warc") or b"0 ").decode(errors="replace")
    number, _, path = archive.partition(" ")
    if not number.isdecimal() or (path and not list(snapshot.rows("SELECT 1 FROM output WHERE path = ?", (path,)))):
        yield snapshot.damaged(f"table meta, warc: {archive!r} is not a number and a noted output")


def _requests(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """The one log that no checkpoint notes; its last line may be about to be written."""
    path = jobdir / REQUESTS
    if path.is_file():
        with regular(path) as file:
            file.seek(max(0, path.stat().st_size - LONGEST))
            whole = file.tell() + file.read().rfind(b"\n") + 1
            file.seek(0)
            yield from check_lines(path, file, REQUESTS, whole, found)


def check_stats(path: Path) -> Iterator[DamagedFile]:
    """stats.json may be missing: nothing reads it back, so a user may delete it."""
    try:
        with regular(path) as file:
            found = json.load(file)
        if not isinstance(found, dict):
            yield DamagedFile(path, 0, "not a mapping")
    except FileNotFoundError:
        return
    except ValueError as error:
        yield DamagedFile(path, getattr(error, "pos", 0), str(error))
