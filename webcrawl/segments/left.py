"""What a crawl left, as of its last checkpoint, for a segment to be built of. Nothing of it is changed.

A crawl that runs, or was killed, may yet take back what no checkpoint has: that is left for the next time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webcrawl.archives.files import ENDINGS
from webcrawl.checks import SettingError, read
from webcrawl.control.in_force import META as IN_FORCE
from webcrawl.crawl.crawl import CLEAN
from webcrawl.crawl.filter_states import META as LEARNED
from webcrawl.crawl.found_log import FOUND
from webcrawl.crawl.segment_names import SPIDER
from webcrawl.crawl.terms import META as TERMS
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdirs import crawls_of, is_crawl
from webcrawl.store.regular import regular
from webcrawl.verify.snapshot import Snapshot
from webcrawl.verify.stored import stored_in
from webcrawl.warc.reader import OPEN
from webcrawl.why import meta
from webcrawl.why.settings import values_of

LOG = "logs/crawl.log"
OF_LINKS = ("LINK_SOURCES", "CONTENT_SEEN", "PAGE_MAX_LINKS", "FEED_LINKS", "DOWNLOAD_TRUNCATE")
FIELDS, URL, HOPS, VIA = 12, 3, 4, 5  # of a line of crawl.log
BATCH = 1 << 22  # bytes of a log that are read at once


class NoCrawl(StoreError):  # noqa: N818 - reads as what it is
    """The folder holds nothing to read."""


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
        """Whether the crawl followed no links, and left them."""
        return FOUND in self.outputs

    @property
    def has_archives(self) -> bool:
        """Whether the crawl has written any, be they here or not."""
        return bool(any(self.archives()) or any(True for _ in self.gone("warc", *ENDINGS)))

    def archives(self) -> tuple[list[Path], int]:
        """The WARC files, and how many may still be changed."""
        folder = self.jobdir / "warc"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        files = [path for path in found if path.name.removesuffix(OPEN).endswith(ENDINGS)]
        whole = [path for path in files if self.clean or path.suffix != OPEN]
        return whole, len(files) - len(whole)

    def tables(self, name: str) -> list[Path]:
        """The finished files of a table."""
        return sorted((self.jobdir / "tables").glob(f"{name}-*.parquet"))

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
    if not jobdir.is_dir():
        raise NoCrawl(f"{jobdir}: no such folder")
    crawls = [folder for folder in crawls_of(jobdir) if is_crawl(folder)]
    if not crawls:
        raise NoCrawl(f"{jobdir}: not a crawl: state/crawl.db is missing")
    return [_read(folder, trusted) for folder in crawls]


def _read(jobdir: Path, trusted: Collection[str]) -> Left:
    with Snapshot(jobdir / "state") as snapshot:
        terms, in_force, learned = (_mapping(snapshot, name) for name in (TERMS, IN_FORCE, LEARNED))
        if terms.get("spider") == SPIDER:
            raise NoCrawl(f"{jobdir}: not a crawl: the index of its segments")
        left = Left(
            jobdir,
            _values(terms, in_force.get("set") or {}, trusted),
            snapshot.get("key") or b"",
            learned,
            {name: one.length for name, one in stored_in(snapshot)[0].items()}
            | dict(snapshot.rows("SELECT path, length FROM output ORDER BY path")),
            bool(snapshot.get(CLEAN)),
        )
        snapshot.check_still()
        return left


def _mapping(snapshot: Snapshot, name: str) -> dict[str, Any]:
    return meta.value(snapshot, name, meta.mapping, dict[str, Any]())


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
        fields = line.split()
        if len(fields) == FIELDS and not fields[HOPS].endswith(b"P"):
            urls.append(fields[URL].decode("ascii", "replace"))
            if fields[HOPS] == b"-" == fields[VIA]:
                seeds.append(urls[-1])
    return urls, seeds
