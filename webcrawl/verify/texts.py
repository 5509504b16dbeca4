"""Checks text files line by line, and that crawl.log and the index have the same pages (docs/outputs.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from webcrawl.fulltext.files import FOLDER
from webcrawl.fulltext.journal import members, pages
from webcrawl.store.errors import DamagedFile
from webcrawl.text.percent import visible
from webcrawl.verify.indexed import AtOnce, Indexed, Line
from webcrawl.verify.logged import URL, logged

ENDING = ".jsonl.gz"
KEYS = {
    "ordinal": int,
    "url": str,
    "title": str,
    "language": str,
    "fetched_at": str,
    "type": str,
    "digest": str,
    "headings": list,
    "text": str,
}
AROUND = 10_000  # lines of crawl.log among which a page is looked for: both have pages in the order of their ends
LOG = "logs/crawl.log"


class Texts:
    """All text files of a crawl, in the order of their names."""

    def __init__(self, jobdir: Path, log_length: int, found: Counter[str]) -> None:
        self._found, self._jobdir = found, jobdir
        self._next: int | None = 0  # the number of the next page, if the file before is here
        self._log = _urls(jobdir / LOG, log_length)
        self._around: dict[str, None] = {}
        self._indexed: Indexed | None = None
        self._lines: AtOnce = {}

    def holds(self, name: str) -> bool:
        """Whether this output is one of them."""
        return name.startswith(f"{FOLDER}/") and name.endswith(ENDING)

    def absent(self) -> None:
        """The next file was taken away."""
        self._next = None

    def check(self, path: Path, file: BinaryIO, length: int) -> Iterator[DamagedFile]:
        """Yields each member that is damaged, and each line that is not as it should be."""
        end = 0
        try:
            for at, packed_end, data in members(path, file, 0, length):
                end = packed_end
                for line in pages(path, at, data):
                    yield from self._page(path, at, line)
        except DamagedFile as damage:
            yield damage
            self._next = None
            return
        if end < length:
            yield DamagedFile(path, end, "the last member is cut")
            self._next = None

    def rest(self) -> Iterator[DamagedFile]:
        """What the index says of the last pages."""
        yield from self._compare()

    def _page(self, path: Path, at: int, line: dict[str, Any]) -> Iterator[DamagedFile]:
        self._found["texts"] += 1
        flaw = _flaw(line)
        if flaw:
            yield DamagedFile(path, at, f"a page's line: {flaw}")
            self._next = None
            return
        ordinal, url = line["ordinal"], line["url"]
        if self._next is not None and ordinal != self._next:
            yield DamagedFile(path, at, f"page {ordinal} where {self._next} should be")
        self._next = ordinal + 1
        if not self._is_logged(visible(url)):
            yield DamagedFile(path, at, f"page {ordinal}, {url}: not in {LOG}")
        self._lines[ordinal] = Line(path, at, url, "change" in line)
        if len(self._lines) >= AROUND:
            yield from self._compare()

    def _is_logged(self, url: str) -> bool:
        around = self._around
        while url not in around:
            line = next(self._log, None)
            if line is None:
                return False
            around[line] = None
            if len(around) > AROUND:
                del around[next(iter(around))]
        del around[url]
        return True

    def _compare(self) -> Iterator[DamagedFile]:
        if self._indexed is None:
            self._indexed = Indexed(self._jobdir, self._found)
        yield from self._indexed.compare(self._lines)
        self._lines = {}


def _flaw(line: Any) -> str:
    if not isinstance(line, dict):
        return "no object"
    wrong = [name for name, kind in KEYS.items() if not isinstance(line.get(name), kind)]
    return f"{', '.join(wrong)}" if wrong else "no number" if line["ordinal"] < 0 else ""


def _urls(path: Path, length: int) -> Iterator[str]:
    """The URLs of crawl.log, up to this length."""
    try:
        for _, fields in logged(path, 0, length):
            if len(fields) > URL:
                yield fields[URL].decode(errors="replace")
    except OSError:
        return  # reported elsewhere
