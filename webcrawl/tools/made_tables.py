"""The files of one table that crawls have finished, and in words what of it is in none that is here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from webcrawl.base.readable import count
from webcrawl.record.objectstore.storing import addresses, elsewhere
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.jobdir.table_progress import ALONE, FOLDER, STATE, Progress, where
from webcrawl.store.output import PARQUET


@dataclass(slots=True)
class Made:
    """A table that crawls have made, named after its rows. `left_out`: what of it is in no file that is here."""

    table: str
    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    is_cut: bool = False  # a crawl that does not run has rows in no finished file

    def add(self, crawl: Path) -> None:
        """What one crawl has made, as of its last checkpoint if it has one."""
        if not crawl.is_dir():
            self.left_out.append(f"{crawl}: this drone's folder is missing: left out")
        noted, rows = self._noted(crawl)
        names = {path.relative_to(crawl).as_posix() for path in (crawl / FOLDER).glob(f"{self.table}-*{PARQUET}")}
        paths = {name: where(crawl, name) for name in sorted(names.union(noted))}
        self.files += [path for path in paths.values() if path is not None]
        if rows:
            runs = is_locked(crawl)
            self.is_cut = self.is_cut or not runs
            why = "the crawl runs" if runs else "resume the crawl, which finishes them"
            number = count(rows, self.table.removesuffix("s"))
            self.left_out.append(f"{crawl}: {number} not in a finished file: left out: {why}")
        if gone := [name for name, path in paths.items() if path is None]:
            stored = elsewhere(crawl)
            places = addresses(stored[name] for name in gone if name in stored)
            why = f"in the store ({places})" if places else "no longer here"
            self.left_out.append(f"{crawl}: {count(len(gone), 'file')} of {self.table} {why}: left out")

    def _noted(self, crawl: Path) -> tuple[list[str], int]:
        """The names of the files that are finished, and how many rows are in none of them."""
        with suppress(StoreError, ValueError, TypeError, KeyError):  # of a damaged state: `scrapy verify` says more
            if is_crawl(crawl):
                return JobDir(crawl).read(self._of_checkpoint)
        return [], 0

    def _of_checkpoint(self, snapshot: Snapshot) -> tuple[list[str], int]:
        start = f"{FOLDER}/{self.table}-"
        names = [name for name in lengths(snapshot) if name.startswith(start) and name.endswith(PARQUET)]
        progress = (Progress.of(snapshot.get(state)) for state in (STATE, *ALONE))
        return names, sum(stream.rows for one in progress for stream in one.streams if stream.name.startswith(start))
