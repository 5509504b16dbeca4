"""Reads opt-outs of site owners from saved states, and finds the records of a site in archives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webcrawl.base.errors import RulesError
from webcrawl.base.url_text import host_of, page_of_view
from webcrawl.crawl.control.command import Answer
from webcrawl.crawl.control.commands import checked, excluded_among
from webcrawl.crawl.control.exclusions import saved_optouts
from webcrawl.crawl.control.in_force import META
from webcrawl.record.warc.archive_files import package_of
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawls import crawls_of, is_crawl
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.wacz.packable_archives import CannotPack, archives_of
from webcrawl.tools.wacz.warc_records import records
from webcrawl.urls.exclusion_rules import ExclusionRules, OptOut, rules_of


def records_of(crawls: Iterable[Path]) -> list[OptOut]:
    """Return the opt-outs in these JOBDIRs as of their last checkpoints, without duplicates.

    Folders without a crawl are skipped. Raise StoreError if a state cannot be read.
    """
    found: dict[OptOut, None] = {}  # a dict keeps the order
    for crawl in crawls:
        if is_crawl(crawl):
            found |= dict.fromkeys(JobDir(crawl).read(records_as_saved))
    return list(found)


def records_as_saved(snapshot: Snapshot) -> list[OptOut]:
    """Return the opt-outs of a checkpoint, those ordered by the command `exclude` included."""
    ordered = meta_row.value(snapshot, META, meta_row.mapping, dict[str, Any]())
    return [*saved_optouts(snapshot, ordered.get("excluded") or [])]


def records_in(jobdir: Path) -> list[OptOut]:
    """Return the opt-outs of a crawl, or of all drones of a hive. Raise StoreError."""
    return records_of(crawls_of(jobdir))


class SavedRecords:
    """The opt-outs of a crawl that is not running. Answers `excluded` as a running crawl does."""

    def __init__(self, jobdir: Path) -> None:
        """Read the states of all crawls in a folder. Raise StoreError if one cannot be read."""
        crawls = [crawl for crawl in crawls_of(jobdir) if is_crawl(crawl)]
        self.has_crawl = bool(crawls)
        self._records = records_of(crawls)

    def ask(self, *words: str) -> Answer:
        """Return the answer to the command `excluded`. Raise CommandError for wrong words."""
        checked("excluded", *words)
        return excluded_among(self._records, *words)


def crawls_with(archives: Sequence[Path]) -> list[Path]:
    """Return the JOBDIRs that contain these archive files, or the packages with the files."""
    found = [path.parent.parent for path in archives if path.parent.name == "warc"]
    packages = dict.fromkeys(filter(None, map(package_of, archives)))
    for package in packages:
        found += crawls_of(package.parent)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of an archive record: a gzip member of `length` bytes at `offset` of a file."""

    file: Path
    offset: int
    length: int
    url: str
    kind: str


class RecordFinder:
    """Finds the archive records of the URLs that an exclusion rule covers, for their deletion.

    Afterwards `unread` has a line for each archive file that is missing or not finished.
    """

    def __init__(self, jobdir: Path, rule: str) -> None:
        """Raise StoreError if the rule is invalid."""
        try:
            self._rules: ExclusionRules = rules_of([OptOut(rule)])
        except RulesError as error:
            raise StoreError(str(error)) from error
        self._jobdir = jobdir
        self.unread: list[str] = []

    def __iter__(self) -> Iterator[RecordPlace]:
        """Yield the places file by file, in the order of each file.

        Raise DamagedFile if a record cannot be read.
        """
        for crawl in crawls_of(self._jobdir):
            try:
                # The last file of a crawl that runs, or was killed, is not finished.
                archives = archives_of(crawl, running=True)
            except CannotPack as error:
                self.unread.append(str(error))
                continue
            self.unread += archives.left_out
            for archive in archives.paths:
                yield from self._places_in(archive)

    def _places_in(self, archive: Path) -> Iterator[RecordPlace]:
        """Read the whole file: records whose bodies were withheld are in no index."""
        sound_bytes = 0
        with regular(archive) as file:
            try:
                for record in records(archive, file):
                    sound_bytes = record.after.offset
                    if self._covers(record.url):
                        yield RecordPlace(
                            archive, record.place.offset, record.length, record.url, record.kind
                        )
            except TornRecord as torn:
                raise DamagedFile(archive, sound_bytes, str(torn)) from torn

    def _covers(self, url: str) -> bool:
        """Return whether the rule covers a URL, or the page of which it is a browser's view."""
        page = page_of_view(url)
        try:
            host_of(page)
        except IndexError:  # a record about the archive itself
            return False
        return self._rules.excludes(page)
