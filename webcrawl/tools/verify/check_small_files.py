"""Checks small files beside the state: page files, tags.tsv, the index of earlier captures; and the statistics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing
from pathlib import Path

import msgpack

from webcrawl.record.pagefiles import FOLDER, LOG, name_of
from webcrawl.record.since.index import RUN
from webcrawl.record.since.sources import FOLDER as SINCE
from webcrawl.record.since.sources import read_kept
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import LONGEST
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.runs import Run

NOTED = "SELECT path, length FROM output WHERE path = ? OR path GLOB ?"


def check_pagefiles(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Rows lie one behind the other, and end where their files end; a damaged row is reported with the other logs."""
    noted = {path.removesuffix(".open"): length for path, length in snapshot.rows(NOTED, (LOG, f"{FOLDER}/*"))}
    log, length = jobdir / LOG, noted.pop(LOG, 0)
    if not log.exists():  # reported, if it was noted
        return
    number, end, at = 0, 0, 0
    with regular(log) as file:
        while at < length:
            row = file.readline(min(LONGEST, length - at)).split(b"\t")
            if len(row) != 10 or not all(row[place].strip().isdigit() for place in (6, 8, 9)):
                return
            size, of, offset = (int(row[place]) for place in (6, 8, 9))
            if of == number + 1 and offset == 0 and noted.pop(name_of(number), 0) == end:
                number, end = of, 0
            if (of, offset) != (number, end):
                yield DamagedFile(log, at, f"page file {of}, offset {offset}: not where the page before ends")
                return
            end, at = end + size, at + sum(map(len, row)) + 9
    if noted.pop(name_of(number), 0) != end:
        yield DamagedFile(jobdir / name_of(number), end, "another length than logs/store.log says")
    for name in sorted(noted):
        yield DamagedFile(jobdir / name, 0, "no page of it is in logs/store.log")


POSITION = "pipeline.webcrawl.pipelines.tags.TagsPipeline"
ROW = re.compile(r"[!-~]+\t\d+\t\d+")


def check_tags(snapshot: Snapshot, path: Path) -> Iterator[DamagedFile]:
    """The file may be missing: nothing reads it back, so a user may delete it."""
    if not path.is_file():
        return
    lines = path.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if not ROW.fullmatch(line):
            yield DamagedFile(path, 0, f"line {number} is no row of counts: {line[:60]!r}")
            return
    position = snapshot.get(POSITION)
    if position is None or snapshot.get("clean") != b"1":  # it is written ahead of each COMMIT
        return
    try:
        noted = ["\t".join(map(str, row)) for row in msgpack.unpackb(position)]
    except (ValueError, TypeError):  # reported with the other positions
        return
    if lines != noted:
        yield DamagedFile(path, 0, "not the counts of the last checkpoint")


def check_since(state: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each damaged page of it; one that is being made is not looked at, for it is made anew if need be."""
    path = state / SINCE / RUN
    if read_kept(path.parent) is None:
        return
    try:
        run = Run(path)
    except FileNotFoundError:
        yield DamagedFile(path, 0, "missing, though it was made")
        return
    with closing(run):
        found["earlier captures"] += run.count
        yield from run.check()


META = "statistics"


def check_statistics(
    snapshot: Snapshot, jobdir: Path, damaged: AbstractSet[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Those that were kept from the crawl's beginning on, unless the log itself is `damaged`."""
    value = snapshot.get(META)
    if value is None or jobdir / CRAWL_LOG in damaged:
        return
    try:
        saved = msgpack.unpackb(value, strict_map_key=False)
        lines, since = int(saved["lines"]), int(saved["since"])
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}")
        return
    if not since and lines != found[CRAWL_LOG]:
        yield snapshot.damaged(f"table meta, {META}: of {lines} URLs, {CRAWL_LOG} has {found[CRAWL_LOG]} lines")
