"""Checks tags.tsv: its form, and after a crawl that has ended that it has the counts of the last checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgpack

from webcrawl.store.errors import DamagedFile
from webcrawl.verify.snapshot import Snapshot

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
