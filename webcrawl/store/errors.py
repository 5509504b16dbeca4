"""What the store says when it cannot go on."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """The state cannot be read or written; on disk it is as it was at the last checkpoint."""


class DamagedFile(StoreError):  # noqa: N818 - reads as what it is
    """A file of the crawl is not what was written there. Nothing was changed."""

    def __init__(self, path: Path, offset: int, why: str) -> None:
        super().__init__(f"{path}: damaged at byte {offset}: {why}")
        self.path, self.offset, self.why = path, offset, why


class StateLocked(StoreError):  # noqa: N818
    """Another process works on this crawl."""


class StateVersion(StoreError):  # noqa: N818
    """The state is sound, but of a version this program does not know."""
