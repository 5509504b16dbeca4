"""The index of earlier captures in the state folder of a crawl, made once and used by all its runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from webcrawl.record.since.building import OFFSET_BITS, Building, has_captures
from webcrawl.record.since.sources import FILES, FOLDER, NoEarlier, Sign, read_kept, sign, write_kept
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.index_line import LONGEST, BadLine, Line, digest_key, read_line, url_key
from webcrawl.store.regular import regular
from webcrawl.store.runs import Run

logger = logging.getLogger(__name__)

RUN = "captures.run"


def check(files: Sequence[Path]) -> None:
    """NoEarlier if none of the files has a capture: a hive says so once, and not each drone after its start."""
    if not has_captures(files):
        raise NoEarlier(nothing_in(files))


def nothing_in(files: Sequence[Path]) -> str:
    return f"-a since: no capture in {', '.join(map(str, files[:3]))}: nothing to compare with"


class Index:
    """Finds lines of the files. `state` is the folder of the crawl's state; call `open` before anything else."""

    def __init__(self, disk: Disk, state: Path, files: Sequence[Path]) -> None:
        self._disk, self._folder, self._files = disk, state / FOLDER, files
        self._run: Run | None = None
        self.progress = (0, 0)  # bytes read of the files, and of all of them

    def __repr__(self) -> str:
        return f"<Index of {len(self._files)} files: {self._run}>"

    def open(self) -> Iterator[None]:
        """Opens the index; builds it first, in slices, unless a former run has done so from the same files.

        StoreError: it cannot be written. NoEarlier: none of the files has a capture.
        """
        path, now = self._folder / RUN, [sign(file) for file in self._files]
        self._run = self._kept(path, now)
        if self._run is None:
            try:
                yield from self._build(path, now)
            except OSError as error:
                raise StoreError(f"{self._folder}: {error.strerror or error}") from error
            self._run = Run(path)

    def latest(self, url: str) -> tuple[Line, Path] | None:
        """The latest capture of a URL, and the index file that names it. OSError: that file cannot be read."""
        found = self._line(url_key(url))
        return found if found is not None and found[0].url == url else None

    def holder(self, digest: str) -> tuple[Line, Path] | None:
        """A capture that holds this payload."""
        found = self._line(digest_key(digest)) if digest else None
        return found if found is not None and found[0].digest == digest and found[0].has_payload else None

    def close(self) -> None:
        if self._run is not None:
            self._run.close()

    def _line(self, key: int) -> tuple[Line, Path] | None:
        if self._run is None:
            raise ValueError(f"{self._folder}: not open")
        rows = self._run.between(key, key)
        if not rows.shape[1]:
            return None
        place = int(rows[1, 0])
        path = self._files[place >> OFFSET_BITS]
        with regular(path) as file:
            file.seek(place & ((1 << OFFSET_BITS) - 1))
            try:
                line = read_line(file.readline(LONGEST))
            except BadLine:  # the file was changed
                return None
        return None if line is None else (line, path)

    # -- building

    def _build(self, path: Path, signs: list[Sign]) -> Iterator[None]:
        self._folder.mkdir(exist_ok=True)
        self._disk.unlink(self._folder / FILES)
        building = Building(self._disk, self._files, path)
        logger.info("since: reading %d index files, %.1f MB", len(self._files), building.bytes_all / 1e6)
        for _ in building.slices():
            self.progress = building.bytes_read, building.bytes_all
            yield
        for line in building.told:
            logger.warning("since: %s", line)
        if not building.captures:
            raise NoEarlier(nothing_in(self._files))
        logger.info("since: %d captures", building.captures)
        write_kept(self._disk, self._folder, signs)

    def _kept(self, path: Path, signs: list[Sign]) -> Run | None:
        """What a former run has made of the same files; nothing if it is not whole."""
        try:
            return Run(path) if read_kept(self._folder) == signs else None
        except (OSError, DamagedFile):
            return None
