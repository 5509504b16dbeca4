"""Reads from states who wants to be left alone, and finds in archives what is of a site."""

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
    """Return all records of these JOBDIRs as of their last checkpoints, each once.

    StoreError if one cannot be read.
    """
    found: dict[OptOut, None] = {}
    for crawl in crawls:
        if is_crawl(crawl):
            found |= dict.fromkeys(JobDir(crawl).read(records_as_saved))
    return list(found)


def records_as_saved(snapshot: Snapshot) -> list[OptOut]:
    ordered = meta_row.value(snapshot, META, meta_row.mapping, dict[str, Any]())
    return [*saved_optouts(snapshot, ordered.get("excluded") or [])]


def records_in(jobdir: Path) -> list[OptOut]:
    """Return all records of a crawl, or of all drones of a hive."""
    return records_of(crawls_of(jobdir))


class SavedRecords:
    """The records of a crawl that does not run, asked as one that runs is.

    StoreError if a state cannot be read.
    """

    def __init__(self, jobdir: Path) -> None:
        crawls = [crawl for crawl in crawls_of(jobdir) if is_crawl(crawl)]
        self.found = bool(crawls)
        self._records = records_of(crawls)

    def ask(self, *words: str) -> Answer:
        """Answer the command `excluded`. Raise CommandError."""
        checked("excluded", *words)
        return excluded_among(self._records, *words)


def crawls_with(archives: Sequence[Path]) -> list[Path]:
    """Return the JOBDIRs in which these archive files lie, or the packages that they are in."""
    found = [path.parent.parent for path in archives if path.parent.name == "warc"]
    packages = dict.fromkeys(filter(None, map(package_of, archives)))
    for package in packages:
        found += crawls_of(package.parent)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """One record, a gzip member by itself: `length` bytes of the file from `offset` on."""

    file: Path
    offset: int
    length: int
    url: str
    kind: str


class RecordFinder:
    """The places of what a rule names.

    `unread`: archives that are not here, or not finished, in words.
    """

    def __init__(self, jobdir: Path, rule: str) -> None:
        """StoreError if it is no rule."""
        try:
            self._rules: ExclusionRules = rules_of([OptOut(rule)])
        except RulesError as error:
            raise StoreError(str(error)) from error
        self._jobdir = jobdir
        self.unread: list[str] = []

    def __iter__(self) -> Iterator[RecordPlace]:
        """File by file, in the order of each.

        DamagedFile: a record that should be there cannot be read.
        """
        for crawl in crawls_of(self._jobdir):
            try:
                # or killed: then its last file is not finished either
                archives = archives_of(crawl, running=True)
            except CannotPack as error:
                self.unread.append(str(error))
                continue
            self.unread += archives.left_out
            for archive in archives.paths:
                yield from self._of(archive)

    def _of(self, archive: Path) -> Iterator[RecordPlace]:
        """Read the whole file: records whose bodies were withheld are in no index."""
        at = 0
        with regular(archive) as file:
            try:
                for record in records(archive, file):
                    at = record.after.offset
                    if self._names(record.url):
                        yield RecordPlace(
                            archive, record.place.offset, record.length, record.url, record.kind
                        )
            except TornRecord as torn:
                raise DamagedFile(archive, at, str(torn)) from torn

    def _names(self, url: str) -> bool:
        page = page_of_view(url)
        try:
            host_of(page)
        except IndexError:  # a record about the archive itself
            return False
        return self._rules.excludes(page)
