"""The files of the seen stores: their names, and all of them opened at once for reading.

A running crawl removes files that it has replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import BinaryIO

from webcrawl.frontier.seen.layout import BLOOM_FILE
from webcrawl.store.disk import Disk, regular, remove_unnamed
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.runs import Run

COLUMNS = {"url": 1, "content": 2}  # of a store's runs
TRIES = 3  # a running crawl may replace files between the checkpoint that is read and their opening


class Names:
    """Numbered files of one kind in the state's folder `seen`; no number is used twice."""

    def __init__(self, state: Path, disk: Disk, kind: str) -> None:
        self.folder, self.kind, self._disk = state / "seen", kind, disk
        self._pattern = re.compile(rf"{re.escape(kind)}-(\d{{8,}})")
        self.folder.mkdir(exist_ok=True)
        used = [int(match[1]) for path in self.folder.iterdir() if (match := self._pattern.fullmatch(path.name))]
        self._numbers = count(max(used, default=0) + 1)

    def new(self) -> Path:
        """A path that no file of this kind has had since the crawl was opened."""
        return self.path(f"{self.kind}-{next(self._numbers):08}")

    def path(self, name: str) -> Path:
        return self.folder / name

    def clean(self, named: Collection[str]) -> None:
        """Removes files of this kind that no checkpoint names: incomplete, or replaced just before a crash."""
        for path in sorted(self.folder.iterdir()):
            if self._pattern.fullmatch(path.name) and path.name not in named:
                remove_unnamed(self._disk, path)


class SeenFiles:
    """The files named in the tables `run` and `meta`; `damages` are those that cannot be opened."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._folder = snapshot.path.parent / "seen"
        self._closing = ExitStack()
        self._runs: list[Run] = []
        self._bloom: tuple[Path, BinaryIO] | None = None
        self.damages: list[DamagedFile] = []
        self.keys = 0  # in the runs of the URL store
        try:
            for name, store, count in snapshot.rows("SELECT name, store, count FROM run"):
                self._open_run(snapshot, name, store, count)
            name = snapshot.get(BLOOM_FILE)
            if name is not None:
                self._open_bloom(self._folder / name.decode(errors="replace"))
        except DamagedFile as damage:
            self.damages.append(damage)

    def _open_run(self, snapshot: Snapshot, name: str, store: str, count: int) -> None:
        if store not in COLUMNS or not str(name).startswith(f"{store}-") or "/" in name:
            self.damages.append(snapshot.damaged(f"table run: {name}, store {store}"))
            return
        path = self._folder / name
        try:
            run = Run(path)
        except (FileNotFoundError, ValueError):  # a name may be damaged
            self.damages.append(DamagedFile(path, 0, "missing, named by the checkpoint"))
        except DamagedFile as damage:
            self.damages.append(damage)
        else:
            self._closing.callback(run.close)
            self._runs.append(run)
            self.keys += run.count if store == "url" else 0
            if (run.count, run.columns) != (count, COLUMNS[store]):
                why = f"{run.count} keys where the checkpoint says {count}"
                self.damages.append(DamagedFile(path, path.stat().st_size, why))

    def _open_bloom(self, path: Path) -> None:
        try:
            self._bloom = path, self._closing.enter_context(regular(path))
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a name may be damaged
            self.damages.append(DamagedFile(path, 0, "missing, named by the checkpoint"))

    def check(self) -> Iterator[DamagedFile]:
        """Yields each damaged place in these files."""
        yield from self.damages
        for run in self._runs:
            yield from run.check()
        if self._bloom is not None:
            from webcrawl.frontier.seen import bloomfile  # noqa: PLC0415 - and its library, which other seen stores do without

            yield from bloomfile.check_file(*self._bloom)

    def close(self) -> None:
        self._closing.close()


def opened(state: Path) -> tuple[Snapshot, SeenFiles]:
    """A checkpoint and its files; what is missing on the last try is reported missing."""
    for left in reversed(range(TRIES)):
        snapshot = Snapshot(state)
        files = SeenFiles(snapshot)
        if not files.damages or not left:
            break
        files.close()
        snapshot.close()
    return snapshot, files
