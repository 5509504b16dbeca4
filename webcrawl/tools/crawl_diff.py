"""Finds the differences of two crawls, or of the first and the last visits of one.

The indexes of both archives are sorted by URL, so they are read side by side. Changes are kept in a
temporary database, so that memory does not grow with the crawls. Texts are read of those pages
alone whose payloads differ.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import unified_diff
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from webcrawl.base.digest import algorithm
from webcrawl.base.url_text import host_of
from webcrawl.content.html.trees import markup
from webcrawl.content.page import Page
from webcrawl.crawl.page_reading import read_page
from webcrawl.record.archived_answers import ROBOTS_PATH
from webcrawl.record.archives import (
    Archives,
    PayloadPlaces,
    from_the_beginning,
    lacking_bytes,
)
from webcrawl.record.warc.archive_files import NoArchive, archive_files, archive_name, package_of
from webcrawl.record.warc.unpacked_stream import RecordStart, TornRecord
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.crawls import crawls_of, is_crawl
from webcrawl.store.jobdir.index_line import (
    NOT_MODIFIED,
    RECOGNISED,
    BadLine,
    CaptureLine,
    read_line,
)
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN
from webcrawl.tools.wacz.archive_index import index_path, make_index, merged_lines
from webcrawl.urls.canonical import redirect_target

# Errors that soon pass: a page that answers so is not gone.
PASSING_STATUS = frozenset((408, 429, 500, 502, 503, 504))
# Recognised kinds of answers that show what is there now, so that their texts are compared
SHOWN_KINDS = frozenset((b"shell", b"soft404", b"parked", b"default"))
_KIND = re.compile(rf'{RECOGNISED}"([^"]*)"'.encode())
MAX_LINES = 40  # of the difference of a page
CONTEXT_LINES = 1  # around each difference
MAX_LINE_CHARS = 300
UNREADABLE = ("(the text cannot be read)",)
OTHER_BYTES = ("(the bytes differ)",)  # of a file that has no text
MAX_BODY_BYTES = 64 << 20

TABLES = """
CREATE TABLE payload (side INTEGER, digest TEXT, name TEXT, place INTEGER,
    PRIMARY KEY (digest, side)) WITHOUT ROWID;
CREATE TABLE change (number INTEGER PRIMARY KEY, kind TEXT, url TEXT, status INTEGER,
    old TEXT, new TEXT, target TEXT);
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A page that differs. Its `kind` is added, gone, moved or changed."""

    kind: str
    url: str
    status: int = 0  # of the later answer; 0 if there was none
    target: str = ""  # where a moved page is now
    text: tuple[str, ...] = ()  # the lines that differ, after - and +, and their neighbours

    @property
    def host(self) -> str:
        return host_of(self.url)

    def as_dict(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value or name == "status"}


@dataclass(frozen=True, slots=True)
class Visit:
    """An archived answer of a URL."""

    capture: CaptureLine
    is_page: bool
    # A block page, a login, or an error that soon passes: it does not tell whether the page is
    # still there.
    says_nothing: bool


class CrawlDiff:
    """The differences of two crawls. Iterating yields the pages that differ, host by host.

    The figures are complete after the iteration.
    """

    def __init__(
        self, before: Sequence[str], after: Sequence[str], scratch: Path, host: str | None = None
    ) -> None:
        """Find the archives and their indexes; missing indexes are made in `scratch`.

        With the same archives on both sides, the first and the last visits are compared. Only pages
        of this `host` are yielded and counted; None stands for all hosts. Raise NoArchive if there
        are no archives, TornRecord for a damaged file without an index.
        """
        self.unfinished: list[Path] = []  # archive files that are left out
        # crawls with URLs left, the number of URLs, and whether it is the later crawl
        self.incomplete: list[tuple[Path, int, bool]] = []
        self._scratch = scratch
        self._host = host
        self._is_one_crawl = list(before) == list(after)
        # The full names of archive files by the names in the index, for each side.
        self._archive_names: list[dict[str, str]] = []
        sides = [before] if self._is_one_crawl else [before, after]
        if not self._is_one_crawl:
            self.incomplete += [(*crawl, False) for crawl in _incomplete(before)]
            self.incomplete += [(*crawl, True) for crawl in _incomplete(after)]
        self._indexes = [self._indexes_of(side, names) for side, names in enumerate(sides)]
        self._later = len(sides) - 1  # the side with the later answers
        self._db = sqlite3.connect(scratch / "diff.db", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")
        self._originals = PayloadPlaces(scratch / "originals.db")
        self._archives = Archives([], from_the_beginning, self._originals, MAX_BODY_BYTES)
        self.counts = {"added": 0, "gone": 0, "moved": 0, "changed": 0}  # pages by kind
        self.unchanged = 0  # pages with the same payload, or body
        self.markup = 0  # pages with another payload, but the same text
        self.unclear = 0  # pages of which the later answer says nothing
        self.unread: list[str] = []  # URLs of pages whose text cannot be read

    def close(self) -> None:
        self._db.close()
        self._originals.close()

    def _indexes_of(self, side: int, names: Sequence[str]) -> list[Path]:
        """Return the indexes of the finished archive files of a side."""
        archives, _ = archive_files(names)
        finished = [path for path in archives if path.suffix != OPEN]
        self.unfinished += [path for path in archives if path.suffix == OPEN]
        self._archive_names.append({path.name: archive_name(path) for path in finished})
        return [
            self._index_of(archive, self._scratch / f"{side}-{number}.cdxj")
            for number, archive in enumerate(finished)
        ]

    def _index_of(self, archive: Path, scratch: Path) -> Path:
        """Return the index beside an archive file.

        If there is none, or if it lacks lines, make one at `scratch`.
        """
        package = package_of(archive)
        if package:
            raise NoArchive(f"{package}: a package: name the folder into which it is unpacked")
        index = index_path(archive)
        if index.exists() and not lacking_bytes(index):
            return index
        try:
            make_index(archive, scratch)
        except TornRecord as torn:
            raise TornRecord(f"{archive}: {torn}") from torn
        return scratch

    # -- reading side by side

    def __iter__(self) -> Iterator[Change]:
        """Compare the indexes, then the texts of pages whose payloads differ."""
        self._compare()
        self._find_moved()
        rows = self._db.execute("SELECT kind, url, status, old, new, target FROM change")
        for kind, url, status, old, new, target in rows:
            change = Change(kind, url, status, target or "")
            if not self._is_wanted(url):
                continue
            if kind == "changed":
                text = self._difference(url, old, new)
                if text is None:
                    self.unchanged += 1
                    continue
                if not text:  # the markup alone differs
                    self.markup += 1
                    continue
                change = Change(kind, url, status, text=text)
            self.counts[kind] += 1
            yield change

    def _is_wanted(self, url: str) -> bool:
        return self._host is None or host_of(url) == self._host

    def _compare(self) -> None:
        """Compare all visits, and write the changes into the database."""
        sides = [self._visits(side) for side in range(len(self._indexes))]
        self._db.execute("BEGIN")
        for _, visits in groupby(merge(*sides, key=itemgetter(0)), key=itemgetter(0)):
            self._compare_key(visits)
        self._db.execute("COMMIT")

    def _compare_key(self, visits: Iterable[tuple[bytes, int, Visit]]) -> None:
        """Compare the URLs of one key.

        There may be several: a key (SURT) has no scheme and no `www.`.
        """
        sides_by_url: dict[str, tuple[list[Visit], list[Visit]]] = {}
        for _, side, visit in visits:
            sides_by_url.setdefault(visit.capture.url, ([], []))[side].append(visit)
        for url, (before, after) in sides_by_url.items():
            self._compare_url(url, before, before if self._is_one_crawl else after)

    def _visits(self, side: int) -> Iterator[tuple[bytes, int, Visit]]:
        """Yield key, side and visit of all answers of a side, sorted by key.

        The places of payloads are written into the database on the way.
        """
        scratch = self._scratch / f"merged-{side}"
        scratch.mkdir()
        for line in merged_lines(self._indexes[side], scratch):
            try:
                capture = read_line(line)
            except BadLine as error:
                raise BadLine(f"not a line of an index: {line[:60]!r}") from error
            if capture is None or capture.url.endswith(ROBOTS_PATH):
                continue
            is_without_digest = not capture.digest and not capture.is_revisit
            if is_without_digest:
                # A name in its place, so that the body is read and compared
                capture = capture.with_digest(f"{side} {capture.file} {capture.offset}")
            if capture.has_payload:
                place = (side, capture.digest, self._archive_name(side, capture), capture.offset)
                self._db.execute("INSERT OR IGNORE INTO payload VALUES (?, ?, ?, ?)", place)
            is_page = 200 <= capture.status < 300 or capture.status == NOT_MODIFIED
            kind = _KIND.search(line)
            is_instead = kind is not None and kind[1] not in SHOWN_KINDS
            says_nothing = is_instead or capture.status in PASSING_STATUS
            yield line.partition(b" ")[0], side, Visit(capture, is_page, says_nothing)

    def _archive_name(self, side: int, capture: CaptureLine) -> str:
        """Return the full name of the archive file. Raise NoArchive if the side does not have it."""
        try:
            return self._archive_names[side][capture.file]
        except KeyError as error:
            raise NoArchive(f"{capture.file}: named by an index, but not there") from error

    def _compare_url(self, url: str, before: Sequence[Visit], after: Sequence[Visit]) -> None:
        """Note how a URL differs, if it does. Of one crawl, `before` and `after` are the same."""
        earlier = _without_silent(before)
        later = _without_silent(after)
        is_unclear = len(after) > 0 and not later
        if is_unclear:
            had_page = any(visit.is_page for visit in earlier)
            self.unclear += had_page and self._is_wanted(url)
            return
        if self._is_one_crawl:  # its first visit is its earlier state
            earlier = earlier[:1]
        old = _page_at_last(earlier)
        new = _page_at_last(later)
        if old is None:
            if new is not None:
                self._note("added", url, new.status, "", new.digest)
        elif new is None:
            self._note_lost(url, old, _answer_at_last(later))
        else:
            self._compare_pages(url, old, new)

    def _compare_pages(self, url: str, old: CaptureLine, new: CaptureLine) -> None:
        if old.digest == new.digest:
            self.unchanged += self._is_wanted(url)
        else:
            self._note("changed", url, new.status, old.digest, new.digest)

    def _note_lost(self, url: str, old: CaptureLine, new: CaptureLine | None) -> None:
        """Note a page that is not there any more: moved if it redirects now, else gone."""
        if new is None:
            self._note("gone", url, 0, old.digest, "")
            return
        name = self._archive_name(self._later, new)
        found = self._archives.reread(name, RecordStart(new.offset, 0)).download
        target = ""
        if found is not None:
            _, exchange = found
            target = redirect_target(exchange)
        kind = "moved" if target else "gone"
        self._note(kind, url, new.status, old.digest, "", target)

    def _note(self, kind: str, url: str, status: int, old: str, new: str, target: str = "") -> None:
        self._db.execute(
            "INSERT INTO change (kind, url, status, old, new, target) VALUES (?, ?, ?, ?, ?, ?)",
            (kind, url, status, old, new, target),
        )

    def _find_moved(self) -> None:
        """Turn `gone` into `moved` for each page whose payload a new page has.

        If several new pages have it, the first by name counts.
        """
        self._db.executescript("""
            CREATE INDEX by_new ON change (new) WHERE kind = 'added';
            UPDATE change SET target = (SELECT min(other.url) FROM change AS other
                WHERE other.kind = 'added' AND other.new = change.old)
            WHERE kind = 'gone' AND old <> '';
            UPDATE change SET kind = 'moved' WHERE kind = 'gone' AND target <> '';
            DELETE FROM change WHERE kind = 'added'
                AND url IN (SELECT target FROM change WHERE kind = 'moved');
        """)

    # -- texts

    def _difference(self, url: str, old: str, new: str) -> tuple[str, ...] | None:
        """Return the lines of the texts that differ; none if the texts are the same.

        Return None if the digests cannot be compared, and the bodies are the same.
        """
        before = self._page(url, 0, old)
        after = self._page(url, self._later, new)
        if before is None or after is None:
            return UNREADABLE
        if algorithm(old) != algorithm(new) and before.body == after.body:
            return None
        have_texts = _has_text(before) and _has_text(after)
        if not have_texts:
            return OTHER_BYTES
        old_lines = before.visible_text.splitlines()
        new_lines = after.visible_text.splitlines()
        difference = unified_diff(old_lines, new_lines, lineterm="", n=CONTEXT_LINES)
        # The first three lines are two names of files, and the place of the first difference.
        shown = islice(difference, 3, None)
        lines = ["…" if line.startswith("@@") else _shortened(line) for line in shown]
        if len(lines) > MAX_LINES:
            lines[MAX_LINES:] = [f"(and {len(lines) - MAX_LINES} more lines)"]
        return tuple(lines)

    def _page(self, url: str, side: int, digest: str) -> Page | None:
        """Return a page with this payload, from the side's archives if they have it.

        Return None if it cannot be read, and note the URL in `unread`.
        """
        row = self._db.execute(
            "SELECT name, place FROM payload WHERE digest = ? ORDER BY side <> ?", (digest, side)
        ).fetchone()
        answer = None
        if row is not None:
            name, offset = row
            answer = self._archives.reread(name, RecordStart(offset, 0)).download
        if answer is None:
            self.unread.append(url)
            return None
        return read_page(*answer, ())


def _incomplete(names: Sequence[str]) -> Iterator[tuple[Path, int]]:
    """Yield the crawls among these folders that are not complete, and how many URLs are left.

    A finished crawl may have URLs left, of hosts that do not answer. A crawl that failed may have
    none, because it had not read its seeds.
    """
    for name in names:
        crawl = Path(name)
        figures = stats_file.read(crawl) if crawl.is_dir() else {}
        queued, was_killed = _last_checkpoint(crawl)
        # In stats.json, URLs in flight are not queued: after a kill they are, in the checkpoint
        left = max(queued, int(figures.get("queued", 0)))
        has_figures = len(figures) > 0
        is_finished = figures.get("reason") == stats_file.FINISHED
        if left or was_killed or (has_figures and not is_finished):
            yield crawl, left


def _last_checkpoint(folder: Path) -> tuple[int, bool]:
    """Return how many URLs the crawls of a folder have queued, and whether one runs or was killed.

    Return 0 and False for a folder without a crawl, and if a state cannot be read.
    """
    queued = 0
    was_killed = False
    with suppress(StoreError):
        for crawl in filter(is_crawl, crawls_of(folder)):
            frontier, has_not_ended = JobDir(crawl).read(_frontier_and_mark)
            queued += int(frontier.get("queued", 0))
            was_killed = was_killed or has_not_ended
    return queued, was_killed


def _frontier_and_mark(snapshot: Snapshot) -> tuple[dict[str, Any], bool]:
    frontier = meta_row.value(snapshot, meta_row.FRONTIER, meta_row.mapping, dict[str, Any]())
    return frontier, snapshot.get(meta_row.CLEAN) == b""


def _has_text(page: Page) -> bool:
    """Return whether a page has a visible text, even an empty one. Images for instance have none."""
    if page.content_type.startswith("text/"):
        return True
    return bool(markup(page.header("content-type"), page.body))


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"


def _without_silent(visits: Sequence[Visit]) -> list[Visit]:
    """Return the visits whose answers tell whether the page is there."""
    return [visit for visit in visits if not visit.says_nothing]


def _answer_at_last(visits: Sequence[Visit]) -> CaptureLine | None:
    return visits[-1].capture if visits else None


def _page_at_last(visits: Sequence[Visit]) -> CaptureLine | None:
    """Return the page that the last visit found, or None if it found none."""
    has_page = len(visits) > 0 and visits[-1].is_page
    return visits[-1].capture if has_page else None
