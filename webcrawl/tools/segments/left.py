"""Opens what a crawl left, as of its last checkpoint, for a segment to be built of. Nothing of it is changed.

A crawl that runs, or was killed, may yet take back what no checkpoint has: that is left for the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webcrawl.base.readable import readable
from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.control.in_force import META as IN_FORCE
from webcrawl.crawl.segments import FOUND, SPIDER
from webcrawl.record.objectstore.storing import stored_in
from webcrawl.record.warc.reader import OPEN
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import PATH, PREREQUISITE, URL, VIA, fields
from webcrawl.store.jobdir.crawls import absent_drones
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.meta_row import FILTERS as LEARNED
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.saved_settings import values_of

logger = logging.getLogger(__name__)

OF_LINKS = ("LINK_SOURCES", "CONTENT_SEEN", "FEED_LINKS", "DOWNLOAD_TRUNCATE")
BATCH = 1 << 22  # bytes of a log that are read at once


@dataclass(frozen=True)
class Left:
    """One crawl. `values`: the settings by which it judges links."""

    jobdir: Path
    values: Mapping[str, Any]
    key: bytes
    learned: Mapping[str, bytes]  # the states of its filters
    outputs: Mapping[str, int]  # lengths by path, of finished files that were taken away, too
    clean: bool  # it was stopped, or has ended

    @property
    def has_found_log(self) -> bool:
        """True if the crawl followed no links, and left them."""
        return FOUND in self.outputs

    @property
    def has_tables(self) -> bool:
        """True if the crawl has written tables of links, be they here or not."""
        gone = (path.name for path, _ in self.gone("tables", ".parquet"))
        return bool(self.tables("links")) or any(name.startswith("links-") for name in gone)

    def tables(self, name: str) -> list[Path]:
        """The finished files of a table."""
        return _nameable(sorted((self.jobdir / "tables").glob(f"{name}-*.parquet")))

    def gone(self, folder: str, *endings: str) -> Iterator[tuple[Path, int]]:
        """Finished files that the crawl has written there and that were taken away since, with their lengths."""
        for name, length in self.outputs.items():
            path = self.jobdir / name
            here = path.exists() or path.with_name(f"{path.name}{OPEN}").exists()
            if not here and name.startswith(f"{folder}/") and name.endswith(endings):
                yield path, length

    def lines(self, path: str, start: int) -> Iterator[tuple[list[bytes], int]]:
        """The lines of a log from this place on, some at a time, and the place after them."""
        end = self.outputs.get(path, 0)
        if start >= end:
            return
        try:
            with regular(self.jobdir / path) as file:
                file.seek(start)
                at, rest = start, b""
                while at + len(rest) < end:
                    data = file.read(min(BATCH, end - at - len(rest)))
                    if not data:
                        raise DamagedFile(self.jobdir / path, at, f"the file ends early, {end} bytes are noted")
                    whole, newline, rest = (rest + data).rpartition(b"\n")
                    if newline:
                        at += len(whole) + 1
                        yield whole.split(b"\n"), at
                if rest:
                    raise DamagedFile(self.jobdir / path, at, "no end of the line")
        except OSError as error:
            raise StoreError(f"{self.jobdir / path}: {error.strerror or error}") from error


def left_by(jobdir: Path, trusted: Collection[str] = ()) -> list[Left]:
    """The crawl, or all drones of the hive, in this folder. `trusted`: code that its settings may name."""
    for crawl in absent_drones(jobdir):
        logger.warning("%s: nothing of this drone is here: left out", crawl)
    return [_read(crawl, trusted) for crawl in JobDir.all(jobdir)]


def _read(jobdir: JobDir, trusted: Collection[str]) -> Left:
    _nameable([jobdir.path.resolve()])

    def left(snapshot: Snapshot) -> Left:
        terms = meta_row.terms(snapshot)
        in_force, learned = (
            meta_row.value(snapshot, name, meta_row.mapping, dict[str, Any]()) for name in (IN_FORCE, LEARNED)
        )
        if terms.get("spider") == SPIDER:
            raise NoCrawl(f"{jobdir.path}: not a crawl: the index of its segments")
        return Left(
            jobdir.path,
            _values(terms, in_force.get("set") or {}, trusted),
            snapshot.get(meta_row.KEY) or b"",
            learned,
            {name: one.length for name, one in stored_in(snapshot)[0].items()} | lengths(snapshot),
            meta_row.is_clean(snapshot),
        )

    return jobdir.read(left)


def _nameable(paths: list[Path]) -> list[Path]:
    for path in paths:
        if (shown := readable(str(path))) != str(path):
            raise NoCrawl(f"{shown}: strange characters, by which nothing can note how far it was read")
    return paths


def _values(terms: Mapping[str, str], ordered: Mapping[str, Any], trusted: Collection[str]) -> dict[str, Any]:
    values = values_of(terms, ordered, trusted, [])
    for name in OF_LINKS:
        if name in terms:
            try:
                values[name] = read(name, terms[name])
            except SettingError:  # of another version: as it is by default
                continue
    return values


def crawled(lines: Sequence[bytes]) -> tuple[list[str], list[str]]:
    """Of lines of crawl.log the URLs, without robots.txt that was fetched for others; and those that were seeds."""
    urls, seeds = [], []
    for line in lines:
        found = fields(line)
        if found is not None and not found[PATH].endswith(PREREQUISITE):
            urls.append(found[URL].decode("ascii", "replace"))
            if found[PATH] == b"-" == found[VIA]:
                seeds.append(urls[-1])
    return urls, seeds
