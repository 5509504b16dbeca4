"""Checks everything that a crawl left, in one read transaction.

It writes nothing and waits for no lock.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, ParamSpec

import msgpack

from webcrawl.base.loading import load
from webcrawl.crawl.hive.letter_check import check_letters
from webcrawl.crawl.revisit.check_revisits import check_host_tables, check_revisits, check_signals
from webcrawl.frontier.check_state import check_frontier, check_portions, check_seen
from webcrawl.frontier.seen.sorted_keys import SeenFiles, opened
from webcrawl.net.robots_entry import check_robots
from webcrawl.record.fulltext.check_texts import TextFileCheck, check_fulltext
from webcrawl.record.objectstore.storing import (
    IN_STORE,
    belongs_in_store,
    stored_files_at_checkpoint,
    stored_files_of_crawl,
)
from webcrawl.record.pagefiles import check_pagefiles
from webcrawl.record.since.index import check_since
from webcrawl.record.tables.check_tables import check_tables
from webcrawl.record.warc.check_archive import IndexLines, check_archive
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.index_line import INDEX, archive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.log_lines import SHAPES, check_lines, check_requests, check_tags
from webcrawl.store.jobdir.meta_row import STATISTICS, is_clean
from webcrawl.store.jobdir.outputs import check_length, crc_of, each_noted, length_of, lengths
from webcrawl.store.jobdir.snapshot import Changed, Snapshot
from webcrawl.store.output import OPEN, Mark
from webcrawl.store.write_ahead_log import check_log

P = ParamSpec("P")
# before a name, among the figures: a finished file that its owner has taken away
ABSENT = "absent "
# What only some crawls have, by its row in the table meta: the dotted path of a check that is
# loaded for those alone.
CHECKS_BY_ROW = {"walk": "webcrawl.lab.walks.walkers.check_walk"}
TRIES, PAUSE = 3, 1.0  # seconds: a crawl takes less to open its files


def verify(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damaged place; afterwards `found` has the summary's figures.

    StoreError: the check is impossible.
    """
    state = jobdir / "state"
    if not is_crawl(jobdir) and (state / "crawl.db-wal").exists():
        yield DamagedFile(state / "crawl.db-wal", 0, "the log exists, but crawl.db is missing")
        return
    JobDir.open(jobdir)
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
    """Yield the damage found while nothing changes: a mixture would look damaged, too."""
    # before the snapshot: it opens and closes the log's index
    log = list(check_log(jobdir / "state/crawl.db-wal"))
    snapshot, files = opened(jobdir / "state")
    try:
        for damage in chain(log, _all(snapshot, files, jobdir, found)):
            snapshot.check_still()
            yield damage
        snapshot.check_still()
    finally:
        files.close()
        snapshot.close()


def _all(
    snapshot: Snapshot, files: SeenFiles, jobdir: Path, found: Counter[str]
) -> Iterator[DamagedFile]:
    yield from guarded(snapshot.check)
    yield from guarded(meta_row.check_sums, snapshot)
    yield from guarded(check_seen, snapshot, files, found)
    yield from guarded(check_frontier, snapshot, found)
    yield from guarded(check_robots, snapshot, found)
    yield from guarded(check_portions, snapshot, found)
    yield from guarded(check_signals, snapshot, found)
    yield from guarded(check_host_tables, snapshot)
    yield from guarded(check_letters, snapshot, found)
    yield from guarded(check_revisits, snapshot, found)
    for row, path in CHECKS_BY_ROW.items():
        if snapshot.get(row) is not None:
            yield from guarded(load(path), snapshot, found)
    yield from guarded(meta_row.check, snapshot)
    damaged: set[Path] = set()
    for damage in guarded(check_outputs, snapshot, jobdir, found):
        damaged.add(damage.path)
        yield damage
    yield from guarded(check_statistics, snapshot, jobdir, damaged, found)
    yield from guarded(check_tables, snapshot, jobdir, damaged, found)
    yield from guarded(check_requests, jobdir, found)
    yield from guarded(check_fulltext, jobdir / "index")
    yield from guarded(check_since, jobdir / "state", found)
    yield from guarded(check_pagefiles, snapshot, jobdir)
    yield from guarded(check_tags, snapshot, jobdir / "tags.tsv")
    yield from stats_file.check(jobdir)


def guarded(
    check: Callable[P, Iterator[DamagedFile]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[DamagedFile]:
    """Report damage that ends one check, so that the others still run."""
    try:
        yield from check(*args, **kwargs)
    except DamagedFile as damage:
        yield damage


def check_outputs(snapshot: Snapshot, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Read all outputs.

    Count files, bytes noted, bytes after those, records and lines, and absent files.
    """
    texts = TextFileCheck(jobdir, lengths(snapshot).get(LOG, 0), found)
    stored, store = stored_files_at_checkpoint(snapshot)

    def absent(name: str, length: int) -> Iterator[DamagedFile]:
        """Count a file that was taken away by its owner or the crawl, or report the damage."""
        if texts.holds(name):
            texts.absent()
        copy = stored.get(name)
        if copy is None and store:  # it may have been stored since the checkpoint
            copy = stored_files_of_crawl(jobdir)[0].get(name)
        is_in_store = copy is not None and not copy.is_taken
        if copy is not None and is_in_store:
            found[f"{IN_STORE}{copy.address}"] += 1
            return
        damage = _damage_of_absence(jobdir, name, store if copy is None else "")
        if damage:
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: {damage}")
        else:
            found[f"{ABSENT}{name}"] += 1

    yield from each_noted(snapshot, jobdir, _Check(snapshot, found, texts), absent)
    yield from texts.rest()
    found["behind"] += sum(_unnoted(jobdir, lengths(snapshot)))
    if is_locked(jobdir):
        found["unsaved"] = found.pop("behind")
    elif is_clean(snapshot):
        found["foreign"] = found.pop("behind")


def _damage_of_absence(jobdir: Path, name: str, store: str) -> str:
    """Return why the absence of a finished file is damage; empty if its owner may have taken it.

    `store`: where a copy of it should lie, and does not; empty if none should.
    """
    if store and belongs_in_store(name):
        return f"it is neither here nor in {store}"
    # Both may be taken away together, and an archive alone; an index without its archive is lost.
    if name.endswith(INDEX) and (jobdir / archive_of(name)).exists():
        return "its archive is here"
    return ""


def _unnoted(jobdir: Path, noted: Mapping[str, int]) -> Iterator[int]:
    """Yield the sizes of files begun since the last checkpoint; a crawl may rename them."""
    for path in jobdir.glob(f"*/*{OPEN}"):
        name = path.relative_to(jobdir).as_posix()
        if length_of(name, noted) is None:
            with suppress(FileNotFoundError):
                yield path.stat().st_size


@dataclass(slots=True)
class _Check:
    """Checks each file as what it is."""

    snapshot: Snapshot
    found: Counter[str]
    texts: TextFileCheck
    # until their archives follow, which come next by name
    indexes: dict[str, IndexLines] = field(default_factory=dict)

    def __call__(self, path: Path, file: BinaryIO, name: str, mark: Mark) -> Iterator[DamagedFile]:
        length, bytes_crc = mark
        size = os.fstat(file.fileno()).st_size
        self.found["files"] += 1
        self.found["bytes"] += length
        self.found["behind"] += max(0, size - length)
        sound = True
        if size < length:
            # what its lines are about may be gone: the loss is reported once
            self.indexes.pop(name, None)
        index = self._index(path, file, name, min(size, length))
        form = index.read() if index else self._form(path, file, name, min(size, length))
        for damage in chain(check_length(path, file, name, mark), form):
            sound = False
            yield damage
        if index is not None and sound:
            self.indexes[archive_of(name)] = index
        # else the places were reported
        if sound and (index.crc() if index else crc_of(file, length)) != bytes_crc:
            yield DamagedFile(path, 0, f"wrong checksum of the first {length} bytes")

    def _index(self, path: Path, file: BinaryIO, name: str, length: int) -> IndexLines | None:
        if not name.removesuffix(OPEN).endswith(INDEX):
            return None
        if name.endswith(OPEN) and path.suffix != OPEN:  # finished since the checkpoint, so sorted
            return IndexLines(
                path,
                file,
                os.fstat(file.fileno()).st_size,
                lengths(self.snapshot).get(archive_of(name), 0),
            )
        return IndexLines(path, file, length)

    def _form(self, path: Path, file: BinaryIO, name: str, length: int) -> Iterator[DamagedFile]:
        if self.texts.holds(name.removesuffix(OPEN)):
            yield from self.texts.check(path, file, length)
        elif name in SHAPES:
            yield from check_lines(path, file, name, length, self.found)
        elif name.startswith("warc/") and name.removesuffix(OPEN).endswith(".warc.gz"):
            yield from check_archive(path, file, length, self.found, self.indexes.pop(name, None))


def check_statistics(
    snapshot: Snapshot, jobdir: Path, damaged: AbstractSet[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Check the statistics kept from the crawl's beginning, unless the log is `damaged`."""
    value = snapshot.get(STATISTICS)
    if value is None or jobdir / LOG in damaged:
        return
    try:
        saved = msgpack.unpackb(value, strict_map_key=False)
        lines, since = int(saved["lines"]), int(saved["since"])
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {STATISTICS}: {error!r}")
        return
    if not since and lines != found[LOG]:
        yield snapshot.damaged(
            f"table meta, {STATISTICS}: they count {lines} URLs, but {LOG} has {found[LOG]} lines"
        )
