"""The store's errors."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """The state cannot be read or written. On disk it is as of the last checkpoint."""


class DamagedFile(StoreError):  # noqa: N818 - reads as what it is
    """A file of the crawl does not hold what was written to it. It was not changed."""

    def __init__(self, path: Path, offset: int, why: str) -> None:
        super().__init__(f"{path}: damaged at byte {offset}: {why}")
        self.path = path
        self.offset = offset
        self.why = why


class StateLocked(StoreError):  # noqa: N818
    """Another process is using this crawl."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process is using this crawl")


class TakenAway(StoreError):  # noqa: N818
    """A file or folder of the running crawl was moved, removed or replaced."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(f"{path}: {how} while the crawl ran")
        self.path = path


class StateVersion(StoreError):  # noqa: N818
    """The state is sound, but this program does not know its version."""
