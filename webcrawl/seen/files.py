"""The names of all files of the seen stores: made, recognised and cleaned up here."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count
from pathlib import Path

from webcrawl.store.disk import Disk, remove_unnamed


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
