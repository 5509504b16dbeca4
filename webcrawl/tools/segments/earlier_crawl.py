"""Reads what a crawl left, as of its last checkpoint, for a segment; changes nothing of it.

A crawl that runs, or was killed, may yet take back what no checkpoint has: that is left for the
next time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webcrawl.base.readable import readable
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.crawl.checks import SettingError, read
from webcrawl.crawl.control.in_force import META as IN_FORCE
from webcrawl.crawl.segments import FOUND, SPIDER
from webcrawl.record.objectstore.storing import stored_files_at_checkpoint
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import PATH, PREREQUISITE, URL, VIA, fields
from webcrawl.store.jobdir.crawls import absent_drones
from webcrawl.store.jobdir.job_dir import JobDir, NoCrawl
from webcrawl.store.jobdir.meta_row import FILTERS as FILTER_STATES
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import pieces_between
from webcrawl.store.output import OPEN
from webcrawl.tools.why.saved_settings import values_of

logger = logging.getLogger(__name__)

# settings that decide which links a page has, beside those that decide which of them are followed
LINK_SETTINGS = (
    "LINK_SOURCES",
    "CONTENT_SEEN",
    "FEED_LINKS",
    "MARKDOWN_LINKS",
    "DOWNLOAD_TRUNCATE",
)


@dataclass(frozen=True)
class EarlierCrawl:
    """One crawl, as of its last checkpoint. `values`: the settings by which it judges links."""

    jobdir: Path
    values: CheckedSettings
    key: bytes
    filter_states: Mapping[str, bytes]  # what its filters have learnt, by name
    outputs: Mapping[str, int]  # lengths by path, of finished files that were taken away, too
    is_clean: bool  # it was stopped, or has ended

    @property
    def has_found_log(self) -> bool:
        """Return whether the crawl followed no links, and left them."""
        return FOUND in self.outputs

    @property
    def has_tables(self) -> bool:
        """Return whether the crawl has written tables of links, be they here or not."""
        removed = (path.name for path in self.removed_tables())
        return bool(self.tables("links")) or any(name.startswith("links-") for name in removed)

    def tables(self, name: str) -> list[Path]:
        """Return the finished files of this table. Raise NoCrawl for one that cannot be noted."""
        paths = sorted((self.jobdir / "tables").glob(f"{name}-*.parquet"))
        _check_paths(paths)
        return paths

    def removed_tables(self) -> Iterator[Path]:
        """Yield the finished files of the crawl's tables that were taken away."""
        for name in self.outputs:
            if not name.startswith("tables/") or not name.endswith(".parquet"):
                continue
            path = self.jobdir / name
            is_here = path.exists() or path.with_name(f"{path.name}{OPEN}").exists()
            if not is_here:
                yield path

    def read_lines(self, path: str, start: int) -> Iterator[tuple[list[bytes], int]]:
        """Yield the lines of a log from byte `start` on, some at a time, and the byte after them.

        Raise DamagedFile if the log has not all lines that the last checkpoint noted, or StoreError
        if it cannot be read.
        """
        end = self.outputs.get(path, 0)
        if start >= end:
            return
        try:
            with regular(self.jobdir / path) as file:
                after = start
                for at, piece in pieces_between(file, start, end):
                    after = at + len(piece) + 1
                    yield piece.split(b"\n"), after
                if os.fstat(file.fileno()).st_size < end:
                    raise DamagedFile(
                        self.jobdir / path, after, f"the file ends early: {end} bytes are expected"
                    )
                if after < end:
                    raise DamagedFile(self.jobdir / path, after, "the line has no end")
        except OSError as error:
            raise StoreError(f"{self.jobdir / path}: {error.strerror or error}") from error


def earlier_crawls(jobdir: Path, trusted: Collection[str] = ()) -> list[EarlierCrawl]:
    """Return the crawl in this folder, or all drones of the hive there.

    `trusted`: code that its settings may name. Raise NoCrawl or StoreError if one cannot be read.
    """
    for crawl in absent_drones(jobdir):
        logger.warning("%s: left out, because this drone's folder is missing", crawl)
    return [_earlier_crawl(crawl, trusted) for crawl in JobDir.all(jobdir)]


def _earlier_crawl(jobdir: JobDir, trusted: Collection[str]) -> EarlierCrawl:
    """Read one crawl. Raise NoCrawl for the index of segments, which is a crawl's state too."""
    _check_paths([jobdir.path.resolve()])

    def read_snapshot(snapshot: Snapshot) -> EarlierCrawl:
        terms = meta_row.terms(snapshot)
        in_force, filter_states = (
            meta_row.value(snapshot, name, meta_row.mapping, dict[str, Any]())
            for name in (IN_FORCE, FILTER_STATES)
        )
        if terms.get("spider") == SPIDER:
            raise NoCrawl(f"{jobdir.path}: is not a crawl, but the index of segments")
        stored_files, _ = stored_files_at_checkpoint(snapshot)
        stored_lengths = {name: stored.length for name, stored in stored_files.items()}
        return EarlierCrawl(
            jobdir.path,
            _link_values(terms, in_force.get("set") or {}, trusted),
            snapshot.get(meta_row.KEY) or b"",
            filter_states,
            stored_lengths | lengths(snapshot),
            meta_row.is_clean(snapshot),
        )

    return jobdir.read(read_snapshot)


def _check_paths(paths: Sequence[Path]) -> None:
    """Raise NoCrawl for a path under which the index cannot note how far a file was read."""
    for path in paths:
        shown = readable(str(path))
        if shown != str(path):
            raise NoCrawl(
                f"{shown}: the path has control or invalid characters, so progress cannot be "
                "recorded under it: rename it"
            )


def _link_values(
    terms: Mapping[str, str], ordered: Mapping[str, Any], trusted: Collection[str]
) -> CheckedSettings:
    """Return the settings by which the crawl judges links. `ordered`: those set by command."""
    own: dict[str, Any] = {}
    for name in LINK_SETTINGS:
        if name in terms:
            try:
                own[name] = read(name, terms[name])
            except SettingError:  # of another version: as it is by default
                continue
    return with_values(values_of(terms, ordered, trusted, []), own)


def requested_urls(lines: Sequence[bytes]) -> tuple[list[str], list[str]]:
    """Return the URLs of these lines of crawl.log, without robots.txt, and the seeds among them."""
    urls = []
    seeds = []
    for line in lines:
        parts = fields(line)
        if parts is None or parts[PATH].endswith(PREREQUISITE):
            continue
        url = parts[URL].decode("ascii", "replace")
        urls.append(url)
        is_seed = parts[PATH] == b"-" and parts[VIA] == b"-"
        if is_seed:
            seeds.append(url)
    return urls, seeds
