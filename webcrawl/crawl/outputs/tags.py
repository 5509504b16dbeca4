"""tags.tsv: how often each HTML element occurs in the crawl (Mercator's tag counter)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from lxml.html.defs import tags as _defined  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.trip import when_finished
from webcrawl.store.disk import rewrite
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import TAGS_POSITION

_TAG = re.compile(rb"<([a-z][^\s/>\0]*)")
_RAW = re.compile(
    rb"<(?:!--|(script|style|textarea|title|xmp|iframe|noembed|noframes|plaintext)(?=[\s/>]))"
)


def start_tags(html: bytes) -> list[bytes]:
    """Return the names of all start tags, in lower case, in order; in linear time."""
    found: list[bytes] = []
    for piece in _markup(html.lower()):
        found += _TAG.findall(piece)
    return found


def _markup(html: bytes) -> Iterator[bytes]:
    """Yield the markup without comments, and without the contents of elements that cannot contain
    tags.
    """
    begin = 0
    while raw := _RAW.search(html, begin):
        yield html[begin : raw.end()]  # with its start tag, which counts
        # Its end tag, or the end of a comment, which has no name.
        begin = html.find(b"</" + raw[1] if raw[1] else b"-->", raw.end())
        if begin < 0:
            return
    yield html[begin:]


# names of HTML, SVG and MathML that lxml's list does not have
_MORE = "dialog main picture search slot template svg g path rect circle use defs math"
KNOWN = frozenset(_defined) | frozenset(_MORE.split())
OTHERS = 2000  # names beside these that are counted one by one: pages may invent any number of them
OTHER = "(other)"  # what all further names are counted as
NAME = re.compile(r"[a-z][a-z0-9._:-]{0,31}")

Row = tuple[str, int, int]  # name, elements, pages


class TagCounts:
    """Counts by name, in bounded memory: HTML's own names always have a place, others as they come."""

    def __init__(self, rows: Iterable[Sequence[str | int]] = (), *, others: int = OTHERS) -> None:
        """`rows`: what `rows` returned at the checkpoint to go on from."""
        self._elements: Counter[str] = Counter()  # by name
        self._pages: Counter[str] = Counter()  # by name: pages that have such an element
        self._others = others  # places that are left for names beside KNOWN
        for name, elements, pages in rows:
            self._elements[str(name)] = int(elements)
            self._pages[str(name)] = int(pages)
            self._others -= name not in KNOWN and name != OTHER

    def add(self, names: Iterable[bytes]) -> None:
        """Count the start tags of one more page."""
        counts: Counter[str] = Counter()
        for name, count in Counter(names).items():
            counts[self._known_as(name.decode("latin-1"))] += count
        self._elements.update(counts)
        self._pages.update(counts.keys())

    def _known_as(self, name: str) -> str:
        """Return the name under which an element is counted; a new one takes a place if it can."""
        if name in self._elements or name in KNOWN:
            return name
        if self._others <= 0 or not NAME.fullmatch(name):
            return OTHER
        self._others -= 1
        self._elements[name] = 0  # it has its place
        return name

    def rows(self) -> list[Row]:
        """Return of each name how many elements and pages, the most frequent first."""
        rows = [(name, count, self._pages[name]) for name, count in self._elements.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


# In which a `<` may be half of a character
FOREIGN = frozenset(("utf-16le", "utf-16be", "iso-2022-jp"))


class Tags(Output):
    """Counts start tags.

    The counts are its position in the checkpoint; the file is a copy of them for people.
    """

    output = "tags"
    state_name = TAGS_POSITION.removeprefix("pipeline.")
    content_types = ("text/html", "application/xhtml+xml")

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._counts = TagCounts()

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            body = page.text.encode() if page.find_encoding() in FOREIGN else page.body
            when_finished(partial(self._counts.add, start_tags(body)))

    def restore(self, position: Sequence[Sequence[str | int]] | None) -> None:
        self._counts = TagCounts(position or ())

    def checkpoint(self) -> list[tuple[str, int, int]]:
        """Rewrite tags.tsv, and return the same counts to be kept with the checkpoint."""
        rows = self._counts.rows()
        if self.run.crawl.parts.db.presence.taken_away() is None:  # the checkpoint is about to fail
            lines = "".join(f"{name}\t{elements}\t{pages}\n" for name, elements, pages in rows)
            path = self.folder / "tags.tsv"
            try:
                rewrite(path, lines.encode())
            except OSError as error:
                raise StoreError(f"{path}: {error}") from error
        return rows
