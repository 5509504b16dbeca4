"""The waits that hosts have asked for by Retry-After since the last checkpoint, so that it outlives even a kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import regular

NAME = "told."
LONG = 60.0  # seconds: a shorter wait of a host that has not failed is not worth a line


def is_worth_a_line(wait: float, *, failed: bool) -> bool:
    """True if a kill must not forget that a host asked for this wait; `failed`: it gave no answer."""
    return wait >= LONG or (failed and wait > 0)


class Told:
    """A file `told.N` in the state folder, to which each such answer adds a line before anything else is done.

    Host records have it from the next checkpoint on, which removes the file. A kill loses nothing that was written,
    and the loss of power only what the kernel had not yet written out.
    """

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        files = sorted(db.folder.glob(f"{NAME}*"))
        self.until = _read(files)  # what a former run was told after its last checkpoint
        self._number = max((int(path.suffix[1:]) for path in files if path.suffix[1:].isdecimal()), default=0) + 1
        self._files = files  # that the next checkpoint makes needless
        db.join(self)

    def note(self, host: str, until: float) -> None:
        """Notes that this host is not to be asked before then."""
        path = self._db.folder / f"{NAME}{self._number}"
        if not self._files or self._files[-1] != path:
            self._files.append(path)
        descriptor = self._db.disk.append(path)
        try:
            self._db.disk.write(descriptor, f"{until:.3f} {host}\n".encode())
        finally:
            os.close(descriptor)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        for path in self._files:
            self._db.discard(path)
        self._files.clear()
        self._number += 1


def _read(files: list[Path]) -> dict[str, float]:
    """The latest time for each host; of a line that was cut off nothing counts."""
    until: dict[str, float] = {}
    for path in files:
        lines: list[bytes] = []
        with suppress(FileNotFoundError), regular(path) as file:  # of a crawl that runs, and has just removed it
            lines = file.readlines()
        for line in lines:
            with suppress(ValueError):
                at, host = line.decode().split(" ")
                if host.endswith("\n"):
                    until[host[:-1]] = max(until.get(host[:-1], 0.0), float(at))
    return until
