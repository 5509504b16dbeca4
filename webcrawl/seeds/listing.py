"""One list of seeds, read line by line from any place."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from webcrawl.seeds.address import seed_url
from webcrawl.seeds.errors import BadLineError, SeedError
from webcrawl.seeds.lines import LONGEST, lines
from webcrawl.seeds.position import Place, digest
from webcrawl.seeds.rows import Found, rows
from webcrawl.text.quantities import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.seeds.source import Lone, Source

LOGGED = 5  # bad lines per list that are logged; all are counted

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Seed:
    """A starting point of the crawl: a canonical URL, and its line in the list.

    A segment says how each URL was found (`found`); that of a seed is empty.
    """

    url: str
    line: int
    found: Found | None = None


class SeedList:
    """A list and the place up to which it was read. A fresh one opens its file at the first call of `next`."""

    def __init__(self, source: Source | Lone, place: Place, max_length: int, *, changes: bool = False) -> None:
        """`changes`: that it is another list now needs no warning."""
        self.source = source
        self._max_length = max_length
        self._rows = rows(source.kind, source.first)
        if not self._start(place):
            level = logging.INFO if changes else logging.WARNING
            logger.log(level, "%s: changed since it was last read; reading it again from the beginning", source.path)
            self.close()
            self._start(Place())

    def next(self) -> Seed | None:
        """Returns the next seed, or None at the end of the list."""
        at = self.at
        for line, dropped in self._lines:
            at.line += 1
            at.offset += dropped + len(line)
            self._last = line
            try:
                seed = self._seed(line, dropped)
            except BadLineError as why:
                self._count_bad(line, why)
                continue
            if seed is not None:
                at.good += 1
                return seed
        return None

    def place(self) -> Place:
        """The place after the seed that was returned last."""
        head = digest(self.source.first[: self.at.offset])
        return replace(self.at, head=head, last=digest(self._last), held=len(self._last))

    def check_end(self) -> None:
        """Call at the end of the list. Raises SeedError if it contained no seed."""
        at = self.at
        if not at.good:
            why = f"bad lines: {at.bad}" if at.bad else "only blank lines, comments and headers"
            raise SeedError(f"{self.source.path}: contains no seed ({why})")
        logger.info("%s: %s, %s", self.source.path, count(at.good, "seed"), count(at.bad, "bad line"))

    def close(self) -> None:
        self._blocks.close()

    def _seed(self, line: bytes, dropped: int) -> Seed | None:
        if dropped:
            raise BadLineError(f"is longer than {LONGEST} bytes")
        try:
            written = line.decode().strip()
        except UnicodeDecodeError as error:
            raise BadLineError("is not UTF-8") from error
        text = self._rows.seed(written)
        if text is None:
            return None
        return Seed(seed_url(text, self._max_length), self.at.line, self._rows.found(written))

    def _count_bad(self, line: bytes, why: BadLineError) -> None:
        at = self.at
        at.bad += 1
        if at.bad <= LOGGED:
            logger.warning("%s: line %d %s: %.80r", self.source.path, at.line, why, line)
        if at.bad == LOGGED:
            logger.warning("%s: further bad lines are counted but not logged", self.source.path)

    def _start(self, place: Place) -> bool:
        """Go to this place. Returns False if the list no longer is what it was when the place was saved."""
        self.at = replace(place)
        self._blocks = self.source.blocks(place.offset - place.held)
        begun = b""
        while place.offset and len(begun) <= place.held and (block := next(self._blocks, b"")):
            begun += block
        self._last, rest = begun[: place.held], begun[place.held :]
        self._lines: Iterator[tuple[bytes, int]] = lines(chain((rest,) if rest else (), self._blocks), LONGEST)
        # a last line without a line end may have been continued since
        ended = not (place.offset and rest) or self._last.endswith((b"\n", b"\r"))
        return not place.offset or (ended and self.place() == place)
