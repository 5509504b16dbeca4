"""What differs between two crawls, or between the first and the last visits of one.

Both archives' indexes are sorted by URL, so they are read side by side. What is found lies in a
temporary database: memory does not grow with the crawls. Texts are read only of pages whose
payload differs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import unified_diff
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from webcrawl.base.url_text import host_of
from webcrawl.content.html.trees import markup
from webcrawl.content.page import Page
from webcrawl.crawl.page_reading import read_page
from webcrawl.record.archived_answers import ROBOTS_PATH
from webcrawl.record.archives import Archives, PayloadPlaces, from_the_beginning
from webcrawl.record.warc.archive_files import NoArchive, archive_files, archive_name, package_of
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.index_line import NOT_MODIFIED, RECOGNISED, CaptureLine, read_line
from webcrawl.store.output import OPEN
from webcrawl.tools.wacz.archive_index import index_path, make_index, merged_lines
from webcrawl.urls.canonical import redirect_target

PASSING = frozenset((408, 429, 500, 502, 503, 504))  # of these a page comes back
MOST_LINES = 40  # of a page's difference that are told
CONTEXT = 1  # lines around each difference
LONGEST = 300  # characters of such a line that are told
OTHER_BYTES = ("(the bytes differ)",)  # of a file without a text
TRUNCATE = 64 << 20  # bytes of a body

TABLES = """
CREATE TABLE payload (side INTEGER, digest TEXT, name TEXT, place INTEGER,
    PRIMARY KEY (digest, side)) WITHOUT ROWID;
CREATE TABLE change (number INTEGER PRIMARY KEY, kind TEXT, url TEXT, status INTEGER,
    old TEXT, new TEXT, target TEXT);
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `kind`: added, gone, moved, or changed."""

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
    """An answer of a URL. One that `says_nothing` is a block page, or an error that passes."""

    capture: CaptureLine
    is_page: bool
    says_nothing: bool


class CrawlDiff:
    """The differences of two crawls: iterating yields them by host.

    Afterwards `counts` says how many there are of each kind. `unchanged` counts pages with the same
    payload, `markup` those with another payload and the same text, `unclear` those whose later
    answer says nothing of the page. `unread` names pages whose text cannot be read.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str], scratch: Path) -> None:
        """With the same archives on both sides, first and last visits are compared.

        Raise NoArchive if there are none, TornRecord for a damaged file without an index.
        """
        self.unfinished: list[Path] = []
        # crawls with something left, the number of URLs, and whether it is the later one
        self.incomplete: list[tuple[Path, int, bool]] = []
        self._scratch = scratch
        self._alone = list(before) == list(after)
        self._files: list[dict[str, str]] = []  # by side: names in the index, and whole names
        sides = [before] if self._alone else [before, after]
        if not self._alone:
            self.incomplete += [(*one, False) for one in _incomplete(before)]
            self.incomplete += [(*one, True) for one in _incomplete(after)]
        self._indexes = [self._indexes_of(side, names) for side, names in enumerate(sides)]
        self._later = len(sides) - 1  # the side with the later answers
        self._db = sqlite3.connect(scratch / "diff.db", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")
        self._originals = PayloadPlaces(scratch / "originals.db")
        self._archives = Archives([], from_the_beginning, self._originals, TRUNCATE)
        self.counts = {"added": 0, "gone": 0, "moved": 0, "changed": 0}
        self.unchanged = 0
        self.markup = 0
        self.unclear = 0
        self.unread: list[str] = []

    def close(self) -> None:
        self._db.close()
        self._originals.close()

    def _indexes_of(self, side: int, names: Sequence[str]) -> list[Path]:
        archives, _ = archive_files(names)
        finished = [path for path in archives if path.suffix != OPEN]
        self.unfinished += [path for path in archives if path.suffix == OPEN]
        self._files.append({path.name: archive_name(path) for path in finished})
        return [
            self._index_of(archive, self._scratch / f"{side}-{number}.cdxj")
            for number, archive in enumerate(finished)
        ]

    def _index_of(self, archive: Path, scratch: Path) -> Path:
        """Return the index beside an archive file; if there is none, make it at `scratch`."""
        package = package_of(archive)
        if package:
            raise NoArchive(f"{package}: a package: name the folder into which it is unpacked")
        index = index_path(archive)
        if index.exists():
            return index
        make_index(archive, scratch)
        return scratch

    # -- reading side by side

    def __iter__(self) -> Iterator[Change]:
        self._compare()
        self._find_moved()
        rows = self._db.execute("SELECT kind, url, status, old, new, target FROM change")
        for kind, url, status, old, new, target in rows:
            change = Change(kind, url, status, target or "")
            if kind == "changed":
                text = self._difference(url, old, new)
                if not text:
                    self.markup += 1
                    continue
                change = Change(kind, url, status, text=text)
            self.counts[kind] += 1
            yield change

    def _compare(self) -> None:
        sides = [self._visits(side) for side in range(len(self._indexes))]
        self._db.execute("BEGIN")
        for _, lines in groupby(merge(*sides, key=itemgetter(0)), key=itemgetter(0)):
            self._compare_key(lines)
        self._db.execute("COMMIT")

    def _compare_key(self, lines: Iterable[tuple[bytes, int, Visit]]) -> None:
        """Judge the URLs of one key: a SURT has no scheme and no `www.`, so there may be several."""
        visits: dict[str, tuple[list[Visit], list[Visit]]] = {}
        for _, side, visit in lines:
            visits.setdefault(visit.capture.url, ([], []))[side].append(visit)
        for url, (before, after) in visits.items():
            self._judge(url, before, before if self._alone else after)

    def _visits(self, side: int) -> Iterator[tuple[bytes, int, Visit]]:
        scratch = self._scratch / f"merged-{side}"
        scratch.mkdir()
        for line in merged_lines(self._indexes[side], scratch):
            capture = read_line(line)
            if capture is None or capture.url.endswith(ROBOTS_PATH):
                continue
            if capture.has_payload:
                place = (side, capture.digest, self._whole_name(side, capture), capture.offset)
                self._db.execute("INSERT OR IGNORE INTO payload VALUES (?, ?, ?, ?)", place)
            is_good = 200 <= capture.status < 300 or capture.status == NOT_MODIFIED
            says_nothing = RECOGNISED.encode() in line or capture.status in PASSING
            yield line.partition(b" ")[0], side, Visit(capture, is_good, says_nothing)

    def _whole_name(self, side: int, capture: CaptureLine) -> str:
        try:
            return self._files[side][capture.file]
        except KeyError as error:
            raise NoArchive(f"{capture.file}: named by an index, but not there") from error

    def _judge(self, url: str, before: Sequence[Visit], after: Sequence[Visit]) -> None:
        """Note how a URL differs, if it does; `before` and `after` are the same of one crawl."""
        earlier = _telling(before)
        later = _telling(after)
        is_unclear = len(after) > 0 and not later
        if is_unclear:
            had_page = any(visit.is_page for visit in earlier)
            self.unclear += had_page
            return
        if self._alone:  # the first visit of one crawl is its earlier state
            earlier = earlier[:1]
        old = _page_at_last(earlier)
        new = _page_at_last(later)
        if old is None:
            if new is not None:
                self._note("added", url, new.status, "", new.digest)
        elif new is None:
            self._lost(url, old, _answer_at_last(later))
        else:
            self._compare_pages(url, old, new)

    def _compare_pages(self, url: str, old: CaptureLine, new: CaptureLine) -> None:
        if old.digest == new.digest:
            self.unchanged += 1
        else:
            self._note("changed", url, new.status, old.digest, new.digest)

    def _lost(self, url: str, old: CaptureLine, new: CaptureLine | None) -> None:
        """Note a page that is not there any more: moved if it redirects, else gone."""
        if new is None:
            self._note("gone", url, 0, old.digest, "")
            return
        name = self._whole_name(self._later, new)
        found = self._archives.reread(name, RecordStart(new.offset, 0)).download
        target = redirect_target(found[1]) if found is not None else ""
        kind = "moved" if target else "gone"
        self._note(kind, url, new.status, old.digest, "", target)

    def _note(self, kind: str, url: str, status: int, old: str, new: str, target: str = "") -> None:
        self._db.execute(
            "INSERT INTO change (kind, url, status, old, new, target) VALUES (?, ?, ?, ?, ?, ?)",
            (kind, url, status, old, new, target),
        )

    def _find_moved(self) -> None:
        """Take a page that is gone for moved if a new one has its payload: the first by name."""
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

    def _difference(self, url: str, old: str, new: str) -> tuple[str, ...]:
        """Return the lines that differ; none if only markup does."""
        before = self._page(url, 0, old)
        after = self._page(url, self._later, new)
        if before is None or after is None:
            return ("(the text cannot be read)",)
        if not (_has_text(before) and _has_text(after)):
            return OTHER_BYTES
        old_lines = before.visible_text.splitlines()
        new_lines = after.visible_text.splitlines()
        found = unified_diff(old_lines, new_lines, lineterm="", n=CONTEXT)
        # Without the two names, and the first place.
        told = islice(found, 3, None)
        lines = ["…" if line.startswith("@@") else _shortened(line) for line in told]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES:] = [f"(and {len(lines) - MOST_LINES} more lines)"]
        return tuple(lines)

    def _page(self, url: str, side: int, digest: str) -> Page | None:
        """Return a page with this payload, of the side's archives if they have it."""
        row = self._db.execute(
            "SELECT name, place FROM payload WHERE digest = ? ORDER BY side <> ?", (digest, side)
        ).fetchone()
        answer = self._archives.reread(row[0], RecordStart(row[1], 0)).download if row else None
        if answer is None:
            self.unread.append(url)
            return None
        return read_page(*answer, ())


def _incomplete(names: Sequence[str]) -> Iterator[tuple[Path, int]]:
    """Yield the crawls among these folders that have something left, and how many URLs.

    A crawl may end with URLs of hosts that do not answer, and without one if it had not read its seeds.
    """
    for name in names:
        crawl = Path(name)
        figures = stats_file.read(crawl) if crawl.is_dir() else {}
        left = int(figures.get("queued", 0))
        if left or (figures and figures.get("reason") != stats_file.FINISHED):
            yield crawl, left


def _has_text(page: Page) -> bool:
    """Return whether the page is of a kind that has a visible text, be it empty."""
    if page.content_type.startswith("text/"):
        return True
    return bool(markup(page.header("content-type"), page.body))


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _telling(visits: Sequence[Visit]) -> list[Visit]:
    """Return the visits whose answers say something of the URL."""
    return [visit for visit in visits if not visit.says_nothing]


def _answer_at_last(visits: Sequence[Visit]) -> CaptureLine | None:
    return visits[-1].capture if visits else None


def _page_at_last(visits: Sequence[Visit]) -> CaptureLine | None:
    """Return the page that the last visit found, or None if it found none."""
    found_page = len(visits) > 0 and visits[-1].is_page
    return visits[-1].capture if found_page else None
