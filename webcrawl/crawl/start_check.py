"""Finds damage within a second, before a crawl starts and SQLite or recovery changes a file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.outputs import check_lengths
from webcrawl.store.jobdir.snapshot import needs_copy
from webcrawl.store.write_ahead_log import check_log


def check_start(jobdir: Path) -> Iterator[DamagedFile]:
    """Check the log's frames, the database's header, and for missing or short files.

    A folder without a crawl has no damage.

    A log that SQLite would silently truncate is refused here: it would set the crawl back to a
    checkpoint whose files are gone. Damaged blocks and records are found when they are read.
    """
    state = jobdir / "state"
    if not (state / "crawl.db").exists():
        return
    yield from check_log(state / "crawl.db-wal")
    if needs_copy(state):
        return
    snapshot, files = opened(state)
    try:
        yield from chain(snapshot.check_head(), files.damages, check_lengths(snapshot, jobdir))
    finally:
        files.close()
        snapshot.close()
