"""Where in the archives of a crawl everything of a site lies, for whoever redacts them. Nothing is written there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdirs import crawls_of
from webcrawl.urls.filters.exclusion_rules import ExclusionRules, rules_of
from webcrawl.urls.hosts import host_of
from webcrawl.urls.optout import OptOut
from webcrawl.urls.rules_file import RulesError
from webcrawl.verify.members import Torn
from webcrawl.wacz.records import Record, records
from webcrawl.warc.index import ARCHIVE, INDEX
from webcrawl.warc.reader import OPEN

FOLDER = "warc"


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
            folder = crawl / FOLDER
            names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
            for name in sorted(names):
                archive = folder / name
                if name.endswith(ARCHIVE):
                    yield from self._of(archive)
                elif name.endswith(OPEN) and name.removesuffix(OPEN).endswith(ARCHIVE):
                    self.unread.append(f"{archive}: not finished: look again once the crawl has ended")
                elif name.endswith(INDEX) and names.isdisjoint(_archives(name)):
                    self.unread.append(f"{folder / _archives(name)[0]}: not here: copy it back first")
                elif ".warc" in name and not name.endswith(OPEN):
                    self.unread.append(f"{archive}: its records are not gzip members: not looked at")

    def _of(self, archive: Path) -> Iterator[Place]:
        """The whole file is read: records of answers whose bodies were withheld are in no index."""
        at = 0
        with archive.open("rb") as file:
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


def _archives(index: str) -> tuple[str, str]:
    """The names that the archive file of an index may have."""
    name = ARCHIVE.join(index.rsplit(INDEX, 1))
    return name, f"{name}{OPEN}"


def _url(record: Record) -> str:
    return record.fields.get("WARC-Target-URI", "").strip("<>")
