"""Which crawls and hives there are: those of the folders that were named, or all below one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from webcrawl.store.errors import StoreError
from webcrawl.store.jobdirs import HIVE, crawls_of, hive_of, is_crawl

DEEPEST = 3  # folders below the one that is searched
MOST_FOLDERS, MOST = 5000, 500  # looked at; shown
SOCKET = "control.sock"


@dataclass(frozen=True, slots=True)
class Known:
    """A crawl, or a hive with its drones. A browser knows it by its id alone, and never by a path."""

    id: str
    name: str
    jobdir: Path
    drones: tuple[Known, ...] = ()

    @property
    def crawls(self) -> tuple[Known, ...]:
        """Itself, or the drones of a hive."""
        return self.drones or (self,)


class Finder:
    """`given` folders are crawls; without any, all crawls below `root`."""

    def __init__(self, given: Sequence[Path], root: Path) -> None:
        self._given, self._root = given, root
        self._by_id: dict[str, Known] = {}

    def __repr__(self) -> str:
        return f"<Finder {self._given or self._root} known={len(self._by_id)}>"

    def look(self) -> list[Known]:
        """All that are there now, by name."""
        if self._given:
            found = [_known(jobdir, jobdir.resolve().name) for jobdir in self._given]
        else:
            found = [_known(jobdir, str(jobdir.relative_to(self._root))) for jobdir in _below(self._root)]
        found.sort(key=lambda one: one.name)
        self._by_id = {one.id: one for crawl in found for one in (crawl, *crawl.drones)}
        return found

    def get(self, name: str) -> Known | None:
        """The one with this id, among those that the last look found."""
        return self._by_id.get(name)


def _known(jobdir: Path, name: str) -> Known:
    try:
        hive = hive_of(jobdir)
        drones = crawls_of(jobdir) if hive is not None else []
    except (StoreError, OSError):  # hive.json cannot be read: what can be, is shown
        drones = []
    return Known(_id(jobdir), name, jobdir, tuple(Known(_id(one), f"{name}/{one.name}", one) for one in drones))


def _id(jobdir: Path) -> str:
    """The same in every run, so that a page can be bookmarked."""
    return blake2b(os.fsencode(jobdir.resolve()), digest_size=6).hexdigest()


def is_jobdir(folder: Path) -> bool:
    """Whether a crawl or a hive lies here, or is just beginning."""
    return is_crawl(folder) or (folder / HIVE).exists() or (folder / SOCKET).exists()


def _below(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder in _walk(root):
        found.append(folder)
        if len(found) == MOST:
            break
    return found


def _walk(root: Path) -> Iterator[Path]:
    """Crawls below this folder, not those within another one; links to folders are not followed."""
    left, looked = [(root, 0)], 0
    while left and looked < MOST_FOLDERS:
        folder, depth = left.pop(0)
        looked += 1
        try:
            if is_jobdir(folder) or (depth and hive_of(folder) is not None):
                yield folder
            elif depth < DEEPEST:
                with os.scandir(folder) as entries:
                    names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
                left += [(folder / name, depth + 1) for name in names]
        except (StoreError, OSError):
            continue
