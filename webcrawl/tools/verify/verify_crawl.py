"""Checks everything that a crawl left, in one read transaction. It writes nothing and waits for no lock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from webcrawl.base.loading import load
from webcrawl.crawl.hive.check_letters import check_letters
from webcrawl.crawl.revisit.check_revisits import check_host_tables, check_revisits, check_signals
from webcrawl.frontier.check_frontier import check_frontier
from webcrawl.frontier.seen.check_seen import check_portions, check_seen
from webcrawl.frontier.seen.files import SeenFiles, opened
from webcrawl.net.robots_entry import check_robots
from webcrawl.record.fulltext.check_texts import check_fulltext
from webcrawl.record.pagefiles import check_pagefiles
from webcrawl.record.since.index import check_since
from webcrawl.record.tables.check_tables import check_tables
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.crawl_line import LONGEST
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.request_line import LOG as REQUESTS
from webcrawl.store.jobdir.snapshot import Changed, Snapshot
from webcrawl.store.write_ahead_log import check_log
from webcrawl.tools.verify.check_outputs import check_lines, check_outputs, check_statistics, check_tags

# What only some crawls have, by its row in the table meta: the dotted path of a check that is loaded for those alone.
CHECKS_BY_ROW = {"walk": "webcrawl.lab.walks.check_walk.check_walk"}
TRIES, PAUSE = 3, 1.0  # seconds: a crawl takes less to open its files


def verify(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each damaged place; afterwards `found` has the summary's figures. StoreError: the check is impossible."""
    state = jobdir / "state"
    if not is_crawl(jobdir) and (state / "crawl.db-wal").exists():
        yield DamagedFile(state / "crawl.db-wal", 0, "the log exists, but crawl.db does not")
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
    yield from guarded(lambda: meta_row.check_sums(snapshot))
    yield from guarded(lambda: check_seen(snapshot, files, found))
    yield from guarded(lambda: check_frontier(snapshot, found))
    yield from guarded(lambda: check_robots(snapshot, found))
    yield from guarded(lambda: check_portions(snapshot, found))
    yield from guarded(lambda: check_signals(snapshot, found))
    yield from guarded(lambda: check_host_tables(snapshot))
    yield from guarded(lambda: check_letters(snapshot, found))
    yield from guarded(lambda: check_revisits(snapshot, found))
    for row, path in CHECKS_BY_ROW.items():
        if snapshot.get(row) is not None:
            yield from guarded(partial(load(path), snapshot, found))
    yield from guarded(lambda: meta_row.check(snapshot))
    damaged: set[Path] = set()
    for damage in guarded(lambda: check_outputs(snapshot, jobdir, found)):
        damaged.add(damage.path)
        yield damage
    yield from guarded(lambda: check_statistics(snapshot, jobdir, damaged, found))
    yield from guarded(lambda: check_tables(snapshot, jobdir, damaged, found))
    yield from guarded(lambda: _requests(jobdir, found))
    yield from guarded(lambda: check_fulltext(jobdir / "index"))
    yield from guarded(lambda: check_since(jobdir / "state", found))
    yield from guarded(lambda: check_pagefiles(snapshot, jobdir))
    yield from guarded(lambda: check_tags(snapshot, jobdir / "tags.tsv"))
    yield from stats_file.check(jobdir)


def guarded(check: Callable[[], Iterator[DamagedFile]]) -> Iterator[DamagedFile]:
    """Reports damage that ends one check, so that the others still run."""
    try:
        yield from check()
    except DamagedFile as damage:
        yield damage


def _requests(jobdir: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """The one log that no checkpoint notes; its last line may be about to be written."""
    path = jobdir / REQUESTS
    if path.is_file():
        with regular(path) as file:
            file.seek(max(0, path.stat().st_size - LONGEST))
            whole = file.tell() + file.read().rfind(b"\n") + 1
            file.seek(0)
            yield from check_lines(path, file, REQUESTS, whole, found)
