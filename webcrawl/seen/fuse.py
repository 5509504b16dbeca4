"""What makes a store refuse everything after its first failure."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from webcrawl.store.errors import StoreError


class Fuse:
    """A context for all that changes a store: once something failed in it, memory may be half changed.

    From then on nothing goes on from it: the last checkpoint counts. OSError comes out as StoreError.
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
