"""Reads the seeds of a crawl one at a time, from lists at any place, in bounded memory."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from typing import Self

from webcrawl.base.readable import count
from webcrawl.urls.canonical import MAX_LENGTH
from webcrawl.urls.seeds.seed_source import (
    BadLineError,
    Lone,
    SeedError,
    SeedFile,
    UrlDiscovery,
    is_url,
    list_paths,
    rows,
    seed_url,
)

logger = logging.getLogger(__name__)

LONGEST_LINE = 131_072  # bytes per line: twice the longest URL that URL_MAX_LENGTH can allow


def lines(blocks: Iterable[bytes], max_bytes: int = LONGEST_LINE) -> Iterator[tuple[bytes, int]]:
    r"""Yield each line with its end, and the number of bytes dropped from its start.

    The end is `\n`, `\r\n` or `\r`. A line over `max_bytes` is not held: only its end is
    yielded, with the count of the bytes before it. The lengths and the counts add up to the length
    of all blocks.
    """
    held, dropped = b"", 0
    for block in blocks:
        pieces = (held + block).splitlines(keepends=True)
        # hold back a last "\r" too: its "\n" may start the next block
        held = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
        for piece in pieces:
            if dropped or len(piece) > max_bytes:
                end = piece[-2:]
                yield end, dropped + len(piece) - len(end)
                dropped = 0
            else:
                yield piece, 0
        if len(held) > max_bytes:
            keep = held[-1:] if held.endswith(b"\r") else b""
            dropped += len(held) - len(keep)
            held = keep
    if held or dropped:
        yield held, dropped


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class ListPosition:
    """The place up to which one list was read.

    The digests tell a list that only grew from one that changed.
    """

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
    place: ListPosition = field(default_factory=ListPosition)
    ended: bool = False  # nothing was left to read

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def unpack(packed: bytes) -> Position:
    """Return the inverse of `Position.pack`. Raises SeedError."""
    try:
        fields = json.loads(packed)
        return Position(**fields | {"place": ListPosition(**fields["place"])})
    except (ValueError, TypeError, KeyError) as error:
        raise SeedError(f"the position in the seeds is unreadable: {error}") from error


LOGGED = 5  # bad lines per list that are logged; all are counted


@dataclass(slots=True)
class Seed:
    """A starting point of the crawl: a canonical URL, and its line in the list.

    A segment says how each URL was found (`found`); that of a seed is empty.
    """

    url: str
    line: int
    found: UrlDiscovery | None = None


class SeedList:
    """A list and the place up to which it was read.

    A fresh one opens its file at the first call of `next`.
    """

    def __init__(
        self,
        source: SeedFile | Lone,
        place: ListPosition,
        max_length: int,
        *,
        changes: bool = False,
    ) -> None:
        """`changes`: that it is another list now needs no warning."""
        self.source = source
        self._max_length = max_length
        self._rows = rows(source.kind, source.first)
        self._first_bad_line = ""  # of this run
        if not self._go_to(place):
            level = logging.INFO if changes else logging.WARNING
            logger.log(
                level,
                "%s: changed since it was last read; reading it again from the beginning",
                source.path,
            )
            self.close()
            self._go_to(ListPosition())

    def next(self) -> Seed | None:
        """Return the next seed, or None at the end of the list; bad lines are counted."""
        position = self.at
        for line, dropped in self._lines:
            position.line += 1
            position.offset += dropped + len(line)
            self._last = line
            try:
                seed = self._seed_in(line, dropped)
            except BadLineError as why:
                self._count_bad(why)
                continue
            if seed is not None:
                position.good += 1
                return seed
        return None

    def place(self) -> ListPosition:
        """Return the place after the seed that was returned last."""
        # Not the date of the file: a copied or touched list has not changed
        head = digest(self.source.first[: self.at.offset])
        return replace(self.at, head=head, last=digest(self._last), held=len(self._last))

    def check_end(self) -> None:
        """Call at the end of the list. Raises SeedError if it contained no seed."""
        at = self.at
        seeds, bad = count(at.good, "seed"), count(at.bad, "bad line")
        if at.good:
            logger.info("%s: %s, %s", self.source.path, seeds, bad)
            return
        why = "only blank lines, comments and headers"
        if at.bad:
            why = f"bad lines: {at.bad}{self._first_bad_line}"
        raise SeedError(f"{self.source.path}: contains no seed ({why})")

    def close(self) -> None:
        self._blocks.close()

    def _seed_in(self, line: bytes, dropped: int) -> Seed | None:
        """Return the seed in a line, or None if it has none: a blank line, a comment or a header.

        `dropped`: bytes that are missing at its start. Raise BadLineError.
        """
        if dropped:
            raise BadLineError(f"is longer than {LONGEST_LINE} bytes")
        try:
            written = line.decode().strip()
        except UnicodeDecodeError as error:
            raise BadLineError("is not UTF-8") from error
        text = self._rows.seed(written)
        if text is None:
            return None
        return Seed(seed_url(text, self._max_length), self.at.line, self._rows.found(written))

    def _count_bad(self, why: BadLineError) -> None:
        """Count the present line as bad, and log its number if it is one of the first."""
        # Without the line itself: `seeds add` may name any file, and others see the log
        at = self.at
        at.bad += 1
        self._first_bad_line = self._first_bad_line or f"; line {at.line} {why}"
        if at.bad <= LOGGED:
            logger.warning("%s: line %d %s", self.source.path, at.line, why)
        if at.bad == LOGGED:
            logger.warning("%s: further bad lines are counted but not logged", self.source.path)

    def _go_to(self, place: ListPosition) -> bool:
        """Go to the place up to which the list was read.

        Return False if the list no longer is what it was when the place was saved: the line before
        must be the same, and the first block too.
        """
        self.at = replace(place)
        # From the last line on that was read: its digest shows whether the list has changed
        self._blocks = self.source.blocks(place.offset - place.held)
        read_again = b""
        while place.offset and len(read_again) <= place.held:
            block = next(self._blocks, b"")
            if not block:
                break
            read_again += block
        self._last = read_again[: place.held]
        rest_of_block = read_again[place.held :]
        blocks = chain((rest_of_block,), self._blocks) if rest_of_block else self._blocks
        self._lines: Iterator[tuple[bytes, int]] = lines(blocks, LONGEST_LINE)
        if not place.offset:
            return True
        # A last line without a line end may have been continued since
        was_continued = rest_of_block and not self._last.endswith((b"\n", b"\r"))
        return not was_continued and self.place() == place


class Seeds:
    """The seeds of SRC, paths and URLs. Every list is opened at once, and read when its turn comes.

    A list that turns out to be unreadable later raises SeedError at that point; iteration can
    continue with the next list. The next run goes back to that point.
    When this machine lacks a descriptor or memory to read one, that is an OSError, and iteration
    can continue with the same list.
    """

    def __init__(self, src: str, limit: int | None = None, max_length: int = MAX_LENGTH) -> None:
        """Open all lists that SRC names. Raise SeedError if one is unusable.

        `limit`: seeds to take at most. `max_length`: that of a URL.
        """
        paths = list_paths(src)
        if not paths:
            raise SeedError(f"{src!r} does not name a list of seeds")
        if limit is not None and limit < 1:
            raise SeedError(f"limit {limit}: must be a whole number from 1")
        self._sources = [
            Lone(path, max_length) if is_url(path) else SeedFile(path) for path in paths
        ]
        self._limit = math.inf if limit is None else limit
        self._max_length = max_length
        self.former = ""  # the SRC of the run before, if that was another
        self.unread = 0  # lists of which a part could not be read in this run
        # where the first list failed
        self._retry_position: Position | None = None
        self._list: SeedList
        self._list_begin: Position
        self._ended = False
        self._must_reopen = False
        self._open_list(Position(src))

    @property
    def taken(self) -> int:
        """Return the number of seeds returned so far, including those of earlier runs."""
        return self._list_begin.good + self._list.at.good

    @property
    def bad(self) -> int:
        """Return the number of lines that should have given a seed and did not."""
        return self._list_begin.bad + self._list.at.bad

    @property
    def position(self) -> bytes:
        """Return the place after the last returned seed, for `resume` in this process or another."""
        # A list that cannot be read now: the next run goes back to it
        if self._retry_position is not None:
            return self._retry_position.pack()
        is_ended = self._ended or self.taken >= self._limit
        return replace(self._list_begin, place=self._list.place(), ended=is_ended).pack()

    def resume(self, position: bytes, *, in_turns: bool = False) -> None:
        """Continue after this position.

        If SRC names other lists now, or the part of a list that was read has changed, reading
        starts again from the beginning: the seen store recognises the seeds that were taken.

        `in_turns`: the lists are segments, of which one follows the other. It is no change that
        they are others now. A warning says if the last ones were not read to their end.
        """
        saved = unpack(position)
        src = self._list_begin.src
        is_expected = in_turns and saved.ended
        taken_before = saved.good + saved.place.good
        is_same_src = saved.src == src
        has_list = 0 <= saved.file < len(self._sources)
        self.former = "" if is_same_src or in_turns else saved.src
        self.close()
        begin = saved if is_same_src and has_list else Position(src)
        try:
            self._open_list(begin, expected=is_expected)
        except SeedError as error:  # the list still cannot be read there
            logger.error("%s", error)  # noqa: TRY400 - one line, no traceback
            good, bad = begin.good + begin.place.good, begin.bad + begin.place.bad
            self._list_begin = replace(begin, good=good, bad=bad)
            self._leave_unread(begin)
        begins_anew = self.taken < taken_before
        if in_turns and not is_expected and begins_anew:
            unread = (
                "the previous segment was not read to its end, so its URLs after the first %d are "
                "not crawled: %s"
            )
            logger.warning(unread, taken_before, saved.src)

    def restart(self) -> None:
        self.close()
        self.unread = 0
        self._retry_position = None
        self._open_list(Position(self._list_begin.src))

    def close(self) -> None:
        self._list.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Seed:
        """Return the next seed of all lists, going from list to list.

        Raise SeedError for a list that cannot be read (to its end): the next call goes on with the
        next list. Raise OSError for a lack of this machine: the next call opens the same list
        again.
        """
        while not self._ended and self.taken < self._limit:
            try:
                if self._must_reopen:
                    self._list = SeedList(self._list.source, self._list.place(), self._max_length)
                    self._must_reopen = False
                if (seed := self._list.next()) is not None:
                    return seed
            except SeedError:
                self._leave_unread(replace(self._list_begin, place=self._list.place()))
                raise
            except OSError:
                self._must_reopen = True
                raise
            try:
                self._list.check_end()
            finally:
                self._go_to_next_list()
        self.close()
        raise StopIteration

    def _open_list(self, before: Position, *, expected: bool = False) -> None:
        """Open the list at this position. `expected`: that it has changed is no surprise."""
        self._ended = False
        self._must_reopen = False
        self._list_begin = before
        self._list = SeedList(
            self._sources[before.file], before.place, self._max_length, changes=expected
        )

    def _leave_unread(self, place: Position) -> None:
        """Go on with the next list; the next run comes back to this place."""
        self.unread += 1
        # The first such place is kept: seeds behind it are known to the seen store
        if self._retry_position is None:
            self._retry_position = place
        self._go_to_next_list()

    def _go_to_next_list(self) -> None:
        """Close this list and open the next one.

        After the last one the place stays at its end, so that lines added later are found.
        """
        before = self._list_begin
        if before.file + 1 < len(self._sources):
            self.close()
            self._open_list(Position(before.src, before.file + 1, self.taken, self.bad))
        else:
            self._ended = True
