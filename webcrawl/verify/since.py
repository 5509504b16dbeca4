"""Checks the index of earlier captures, if the crawl has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from webcrawl.since.index import RUN
from webcrawl.since.kept import FOLDER, read_kept
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Run


def check_since(state: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each damaged page of it; one that is being made is not looked at, for it is made anew if need be."""
    path = state / FOLDER / RUN
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
