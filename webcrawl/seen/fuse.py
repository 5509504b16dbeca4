"""Makes a store refuse all calls after its first failure."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from webcrawl.store.errors import StoreError


class Fuse:
    """A context for everything that changes a store. After a failure memory may be inconsistent.

    So every later use raises StoreError, and the last checkpoint stays in force. OSError is raised as StoreError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.failure: BaseException | None = None

    def __enter__(self) -> None:
        if self.failure is not None:
            raise StoreError(f"{self._folder}: unusable since: {self.failure}") from self.failure

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            self.failure = error
        if isinstance(error, OSError):
            raise StoreError(f"{self._folder}: {error}") from error
