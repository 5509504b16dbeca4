"""Checks all files that a crawl left, in one read transaction. Writes nothing, waits for no lock."""

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
from webcrawl.crawl.archived_pages import check_originals
from webcrawl.crawl.hive.batch_check import check_batches
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
ABSENT = "absent "  # begins the figure of a finished file that is not here any more
# Checks of rows in the table meta that only some crawls have. They are loaded for those alone.
CHECKS_BY_ROW = {
    "seeds/more": "webcrawl.crawl.added_seeds_check.check_added_seeds",
    "walk": "webcrawl.lab.walks.walkers.check_walk",
}
# A crawl that starts meanwhile changes its files. It has opened them within a second.
MAX_TRIES = 3
RETRY_SECONDS = 1.0


def verify(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damaged place of a crawl. Afterwards `found` has the figures of the summary.

    Raise StoreError if the check is impossible.
    """
    state = jobdir / "state"
    if not is_crawl(jobdir) and (state / "crawl.db-wal").exists():
        yield DamagedFile(state / "crawl.db-wal", 0, "the log exists, but crawl.db is missing")
        return
    JobDir.open(jobdir)
    for tries_left in reversed(range(MAX_TRIES)):
        is_sound = True
        figures = Counter[str]()
        try:
            for damage in _check_once(jobdir, figures):
                is_sound = False
                yield damage
        except Changed:
            # Damage that was yielded cannot be taken back.
            if not is_sound or not tries_left:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            found.update(figures)
            return


def _check_once(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield the damage in one snapshot.

    Raise Changed if a crawl has written since: a mixture of two states would look damaged, too.
    """
    # This comes before the snapshot, because it opens and closes the log's index.
    log = list(check_log(jobdir / "state/crawl.db-wal"))
    snapshot, files = opened(jobdir / "state")
    try:
        for damage in chain(log, _check_all(snapshot, files, jobdir, found)):
            snapshot.check_still()
            yield damage
        snapshot.check_still()
    finally:
        files.close()
        snapshot.close()


def _check_all(
    snapshot: Snapshot, files: SeenFiles, jobdir: Path, found: Counter[str]
) -> Iterator[DamagedFile]:
    """Run all checks, of the state first and then of the files that it names."""
    yield from guarded(snapshot.check)
    yield from guarded(meta_row.check_sums, snapshot)
    yield from guarded(check_seen, snapshot, files, found)
    yield from guarded(check_frontier, snapshot, found)
    yield from guarded(check_robots, snapshot, found)
    yield from guarded(check_portions, snapshot, found)
    yield from guarded(check_signals, snapshot, found)
    yield from guarded(check_host_tables, snapshot)
    yield from guarded(check_batches, snapshot, found)
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
    yield from guarded(check_originals, snapshot, jobdir / "state")
    yield from guarded(check_pagefiles, snapshot, jobdir)
    yield from guarded(check_tags, snapshot, jobdir / "tags.tsv")
    yield from stats_file.check(jobdir)


def guarded(
    check: Callable[P, Iterator[DamagedFile]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[DamagedFile]:
    """Yield the damage that a check finds, and that which ends it, so that others still run."""
    try:
        yield from check(*args, **kwargs)
    except DamagedFile as damage:
        yield damage


def check_outputs(snapshot: Snapshot, jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Check the contents of all output files.

    Count files, records, lines and absent files, the bytes that the checkpoint counts, and the
    bytes behind those.
    """
    texts = TextFileCheck(jobdir, lengths(snapshot).get(LOG, 0), found)
    stored, store = stored_files_at_checkpoint(snapshot)

    def absent(name: str, length: int) -> Iterator[DamagedFile]:
        """Count a file that its owner has moved away or the crawl has uploaded, or report it."""
        if texts.holds(name):
            texts.absent()
        copy = stored.get(name)
        if copy is None and store:  # the upload may have ended after the checkpoint
            copy = stored_files_of_crawl(jobdir)[0].get(name)
        if copy is not None and not copy.is_taken:
            found[f"{IN_STORE}{copy.address}"] += 1
            return
        store_without_copy = store if copy is None else ""
        damage = _damage_of_absence(jobdir, name, store_without_copy)
        if damage:
            yield DamagedFile(jobdir / name, 0, f"missing, {length} bytes expected: {damage}")
        else:
            found[f"{ABSENT}{name}"] += 1

    yield from each_noted(snapshot, jobdir, _FileCheck(snapshot, found, texts), absent)
    yield from texts.remaining_damage()
    found["behind"] += sum(_sizes_of_new_files(jobdir, lengths(snapshot)))
    if is_locked(jobdir):  # the crawl runs, and will save them
        found["unsaved"] = found.pop("behind")
    elif is_clean(snapshot):  # the run had saved all of its own
        found["foreign"] = found.pop("behind")


def _damage_of_absence(jobdir: Path, name: str, store: str) -> str:
    """Return why the absence of a finished file is damage; empty if its owner may have moved it.

    `store` is the store that should have a copy and has none; empty if there need not be one.
    """
    if store and belongs_in_store(name):
        return f"it is neither here nor in {store}"
    # Both may be taken away together, and an archive alone; an index without its archive is lost.
    if name.endswith(INDEX) and (jobdir / archive_of(name)).exists():
        return "its archive is here"
    return ""


def _sizes_of_new_files(jobdir: Path, noted: Mapping[str, int]) -> Iterator[int]:
    """Yield the bytes of each file that the crawl has begun since the last checkpoint."""
    for path in jobdir.glob(f"*/*{OPEN}"):
        name = path.relative_to(jobdir).as_posix()
        if length_of(name, noted) is None:
            with suppress(FileNotFoundError):  # a running crawl has renamed it
                yield path.stat().st_size


@dataclass(slots=True)
class _FileCheck:
    """Checks each output file by its kind: an index, an archive, a log or texts."""

    snapshot: Snapshot
    found: Counter[str]
    texts: TextFileCheck
    # Sound indexes by the names of their archives, which come next in the order of names.
    indexes: dict[str, IndexLines] = field(default_factory=dict)

    def __call__(self, path: Path, file: BinaryIO, name: str, mark: Mark) -> Iterator[DamagedFile]:
        """Yield the damage in a file, of which the checkpoint counts the bytes that `mark` has."""
        length, expected_crc = mark
        size = os.fstat(file.fileno()).st_size
        self.found["files"] += 1
        self.found["bytes"] += length
        self.found["behind"] += max(0, size - length)
        if size < length:
            # The index of a torn archive names records that are gone: the loss is reported once.
            self.indexes.pop(name, None)
        to_read = min(size, length)
        index = self._index(path, file, name, to_read)
        content = index.read() if index else self._check_content(path, file, name, to_read)
        is_sound = True
        for damage in chain(check_length(path, file, name, mark), content):
            is_sound = False
            yield damage
        if not is_sound:  # the places are reported, and the checksum must be wrong
            return
        if index is not None:
            self.indexes[archive_of(name)] = index
        actual_crc = crc_of(file, length) if index is None else index.crc()
        if actual_crc != expected_crc:
            yield DamagedFile(path, 0, f"wrong checksum of the first {length} bytes")

    def _index(self, path: Path, file: BinaryIO, name: str, length: int) -> IndexLines | None:
        """Return the lines of an index, or None for another file."""
        if not name.removesuffix(OPEN).endswith(INDEX):
            return None
        is_finished_since = name.endswith(OPEN) and path.suffix != OPEN
        if not is_finished_since:
            return IndexLines(path, file, length)
        # Finishing has sorted it, so that the first bytes are not those of the checkpoint.
        size = os.fstat(file.fileno()).st_size
        return IndexLines(path, file, size, lengths(self.snapshot).get(archive_of(name), 0))

    def _check_content(
        self, path: Path, file: BinaryIO, name: str, length: int
    ) -> Iterator[DamagedFile]:
        """Yield the damage in texts, in a log or in an archive; nothing of a file of another kind."""
        if self.texts.holds(name.removesuffix(OPEN)):
            yield from self.texts.check(path, file, length)
        elif name in SHAPES:
            yield from check_lines(path, file, name, length, self.found)
        elif name.startswith("warc/") and name.removesuffix(OPEN).endswith(".warc.gz"):
            yield from check_archive(path, file, length, self.found, self.indexes.pop(name, None))


def check_statistics(
    snapshot: Snapshot, jobdir: Path, damaged: AbstractSet[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Yield damage if the statistics count other lines than crawl.log has.

    Statistics that were not kept from the crawl's start, and a damaged log, are not compared.
    """
    value = snapshot.get(STATISTICS)
    if value is None or jobdir / LOG in damaged:
        return
    try:
        saved = msgpack.unpackb(value, strict_map_key=False)
        lines = int(saved["lines"])
        since = int(saved["since"])
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {STATISTICS}: {error!r}")
        return
    if not since and lines != found[LOG]:
        yield snapshot.damaged(
            f"table meta, {STATISTICS}: they count {lines} URLs, but {LOG} has {found[LOG]} lines"
        )
