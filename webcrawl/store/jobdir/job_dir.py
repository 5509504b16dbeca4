"""A JOBDIR, opened: its crawls, whether they run, and their last checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawls import STATE, crawls_of, hive_of, is_crawl
from webcrawl.store.jobdir.snapshot import Changed, Snapshot

TRIES = 3  # to read what a crawl changes that is just being started
T = TypeVar("T")


class NoCrawl(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds no crawl; the message is one line."""


@dataclass(frozen=True, slots=True)
class JobDir:
    """A folder in which a crawl has begun: that of a single crawl, or of a drone."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the crawl in a folder. Raise NoCrawl if none has begun there."""
        if not path.is_dir():
            raise NoCrawl(f"{path}: {'not a folder' if path.exists() else 'no such folder'}")
        if not is_crawl(path):
            raise NoCrawl(f"{path}: not a crawl: {STATE} is missing")
        return cls(path)

    @classmethod
    def all(cls, path: Path) -> list[Self]:
        """Return the single crawl in a folder, or the drones of a hive whose crawls have begun.

        Raise NoCrawl if there is none.
        """
        if hive_of(path) is None:
            return [cls.open(path)]
        found = [cls(crawl) for crawl in crawls_of(path) if is_crawl(crawl)]
        if not found:
            raise NoCrawl(f"{path}: none of its drones has begun a crawl")
        return found

    def snapshot(self) -> Snapshot:
        """Open the last checkpoint, read-only, beside a running crawl."""
        return Snapshot(self.path / "state")

    def read(self, take: Callable[[Snapshot], T]) -> T:
        """Return what `take` makes of the last checkpoint.

        If a crawl is started meanwhile, it may have read a mixture: then it is called again with
        the new checkpoint, TRIES times in all.
        """
        for tries_left in reversed(range(TRIES)):
            try:
                with self.snapshot() as snapshot:
                    found = take(snapshot)
                    snapshot.check_still()
                    return found
            except Changed:
                if not tries_left:
                    raise
        raise AssertionError  # the last try has raised

    def stats(self) -> dict[str, Any]:
        """Return the figures of stats.json."""
        return stats_file.read(self.path)
