"""Where in the archives of a crawl everything of a site lies, for whoever redacts them. Nothing is written there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdirs import crawls_of
from webcrawl.store.regular import regular
from webcrawl.urls.filters.exclusion_rules import ExclusionRules, rules_of
from webcrawl.urls.hosts import host_of
from webcrawl.urls.optout import OptOut
from webcrawl.urls.rules_file import RulesError
from webcrawl.verify.members import Torn
from webcrawl.wacz.archives import archives_of
from webcrawl.wacz.errors import CannotPack
from webcrawl.wacz.records import Record, records


@dataclass(frozen=True, slots=True)
class Place:
    """One record, a gzip member by itself: `length` bytes of the file from `offset` on."""

    file: Path
    offset: int
    length: int
    url: str
    kind: str


class Offsets:
    """The places of what a rule names. `unread`: archives that are not here, or not finished, in words."""

    def __init__(self, jobdir: Path, rule: str) -> None:
        """StoreError if it is no rule."""
        try:
            self._rules: ExclusionRules = rules_of([OptOut(rule)])
        except RulesError as error:
            raise StoreError(str(error)) from error
        self._jobdir = jobdir
        self.unread: list[str] = []

    def __repr__(self) -> str:
        return f"<Offsets {self._jobdir}>"

    def __iter__(self) -> Iterator[Place]:
        """File by file, in the order of each. DamagedFile: a record that should be there cannot be read."""
        for crawl in crawls_of(self._jobdir):
            try:
                archives = archives_of(crawl, running=True)  # or killed: then its last file is not finished either
            except CannotPack as error:
                self.unread.append(str(error))
                continue
            self.unread += archives.left_out
            for archive in archives.paths:
                yield from self._of(archive)

    def _of(self, archive: Path) -> Iterator[Place]:
        """The whole file is read: records of answers whose bodies were withheld are in no index."""
        at = 0
        with regular(archive) as file:
            try:
                for record in records(file, 0, archive.stat().st_size):
                    at = record.at + record.length
                    url = _url(record)
                    if self._names(url):
                        yield Place(archive, record.at, record.length, url, record.kind)
            except Torn as torn:
                raise DamagedFile(archive, at, str(torn)) from torn

    def _names(self, url: str) -> bool:
        try:
            host_of(url)
        except IndexError:  # a record about the archive itself
            return False
        return self._rules.excludes(url)


def _url(record: Record) -> str:
    return record.fields.get("WARC-Target-URI", "").strip("<>")
