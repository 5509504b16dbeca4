"""One list of seeds, read line by line from any place, in bounded memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain

from webcrawl.base.readable import count
from webcrawl.urls.seeds.seed_rows import UNSENT, BadLineError, Found, SeedError, has_credentials, rows, seed_url
from webcrawl.urls.seeds.seed_source import Lone, Source

LONGEST = 131_072  # bytes per line: twice the longest URL that URL_MAX_LENGTH can allow


def lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[tuple[bytes, int]]:
    r"""Yields each line with its end (`\n`, `\r\n` or `\r`), and the number of bytes dropped from its start.

    A line over `longest` is not held: only its end is yielded, with the count of the bytes before it. The lengths
    and the counts add up to the length of all blocks.
    """
    held, dropped = b"", 0
    for block in blocks:
        pieces = (held + block).splitlines(keepends=True)
        # hold back a last "\r" too: its "\n" may start the next block
        held = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
        for piece in pieces:
            if dropped or len(piece) > longest:
                end = piece[-2:]
                yield end, dropped + len(piece) - len(end)
                dropped = 0
            else:
                yield piece, 0
        if len(held) > longest:
            keep = held[-1:] if held.endswith(b"\r") else b""
            dropped += len(held) - len(keep)
            held = keep
    if held or dropped:
        yield held, dropped


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class Place:
    """The place up to which one list was read. The digests tell a list that only grew from one that changed."""

    offset: int = 0  # in the unpacked bytes
    line: int = 0
    good: int = 0
    bad: int = 0
    head: str = ""  # digest of the part of the first block that was read
    last: str = ""  # digest of the last line, or of the end of it that was held
    held: int = 0  # bytes in that digest


@dataclass(slots=True)
class Position:
    """The place up to which all lists were read."""

    src: str
    file: int = 0
    good: int = 0  # seeds in the lists before this one
    bad: int = 0
    place: Place = field(default_factory=Place)
    ended: bool = False  # nothing was left to read

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def unpack(packed: bytes) -> Position:
    """The inverse of `Position.pack`. Raises SeedError."""
    try:
        fields = json.loads(packed)
        return Position(**fields | {"place": Place(**fields["place"])})
    except (ValueError, TypeError, KeyError) as error:
        raise SeedError(f"the position in the seeds is unreadable: {error}") from error


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
        self._first_bad = ""  # of this run
        self._with_credentials = 0  # seeds of this run
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
                self._count_bad(why)
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
            why = f"bad lines: {at.bad}{self._first_bad}" if at.bad else "only blank lines, comments and headers"
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
        if has_credentials(text):
            self._tell_of_credentials()
        return Seed(seed_url(text, self._max_length), self.at.line, self._rows.found(written))

    def _count_bad(self, why: BadLineError) -> None:
        """Who gives `seeds add` may name any list: the log, which others see, gets the line's number, not its text."""
        at = self.at
        at.bad += 1
        self._first_bad = self._first_bad or f"; line {at.line} {why}"
        if at.bad <= LOGGED:
            logger.warning("%s: line %d %s", self.source.path, at.line, why)
        if at.bad == LOGGED:
            logger.warning("%s: further bad lines are counted but not logged", self.source.path)

    def _tell_of_credentials(self) -> None:
        self._with_credentials += 1
        line = "" if isinstance(self.source, Lone) else f" line {self.at.line}:"
        if self._with_credentials <= LOGGED:
            logger.warning("%s:%s %s", self.source.path, line, UNSENT)
        if self._with_credentials == LOGGED:
            logger.warning("%s: further seeds with user and password are not logged", self.source.path)

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
