"""The seeds of a crawl, one at a time, from lists that are read only as far as needed."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Self

from webcrawl.urls.canonical import MAX_LENGTH
from webcrawl.urls.seeds.seed_list import Position, Seed, SeedList, unpack
from webcrawl.urls.seeds.seed_rows import AwayError, SeedError
from webcrawl.urls.seeds.seed_source import Lone, Source, is_url, list_paths

logger = logging.getLogger(__name__)


class Seeds:
    """The seeds of SRC, paths and URLs. The constructor opens every list; each is read when its turn comes.

    A list that turns out to be unreadable later raises SeedError at that point; iteration can continue with the next
    list. The next run goes back to that point, if the list is not damaged. When this machine lacks a descriptor or
    memory to read one, that is an OSError, and iteration can continue with the same list.
    """

    def __init__(self, src: str, limit: int | None = None, max_length: int = MAX_LENGTH) -> None:
        paths = list_paths(src)
        if not paths:
            raise SeedError(f"{src!r}: names no list of seeds")
        if limit is not None and limit < 1:
            raise SeedError(f"limit {limit}: must be a whole number from 1")
        self._sources = [Lone(path, max_length) if is_url(path) else Source(path) for path in paths]
        self._limit = math.inf if limit is None else limit
        self._max_length = max_length
        self.former = ""  # the SRC of the run before, if that was another
        self.unread = 0  # lists of which a part could not be read in this run
        self._back: Position | None = None  # where the first that may be read later failed
        self._list: SeedList
        self._ended = self._cut_off = False
        self._begin(Position(src))

    @property
    def taken(self) -> int:
        """Seeds returned so far, including those of earlier runs."""
        return self._before.good + self._list.at.good

    @property
    def bad(self) -> int:
        """Lines that should have given a seed and did not."""
        return self._before.bad + self._list.at.bad

    @property
    def position(self) -> bytes:
        """The place after the seed that was returned last, for `resume` in this process or another."""
        if self._back is not None:
            return self._back.pack()
        before, ended = self._before, self._ended or self.taken >= self._limit
        return Position(before.src, before.file, before.good, before.bad, self._list.place(), ended).pack()

    def resume(self, position: bytes, *, in_turns: bool = False) -> None:
        """Continue after this position.

        If SRC names other lists now, or the part of a list that was read has changed, reading starts again from the
        beginning. No seed is lost, and the seen store recognises those that were taken already.

        `in_turns`: the lists are segments, of which one follows the other. They are expected to be others now, with a
        warning if the last ones were not read to their end: what they still had is in no later one.
        """
        before, src = unpack(position), self._before.src
        expected, read = in_turns and before.ended, before.good + before.place.good
        others = before.src != src or not 0 <= before.file < len(self._sources)
        self.former = before.src if before.src != src and not in_turns else ""
        self.close()
        self._begin(Position(src) if others else before, expected=expected)
        if in_turns and not expected and read and self.taken < read:
            unread = (
                "the segment before was not read to its end: its URLs after the first %d are not crawled; it was %s"
            )
            logger.warning(unread, read, before.src)

    def restart(self) -> None:
        """Begin again with the first seed."""
        self.close()
        self.unread, self._back = 0, None
        self._begin(Position(self._before.src))

    def close(self) -> None:
        self._list.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Seed:
        while not self._ended and self.taken < self._limit:
            try:
                if self._cut_off:
                    self._list = SeedList(self._list.source, self._list.place(), self._max_length)
                    self._cut_off = False
                if (seed := self._list.next()) is not None:
                    return seed
            except SeedError as error:
                self.unread += 1
                if self._back is None and isinstance(error, AwayError):
                    self._back = replace(self._before, place=self._list.place())
                self._leave()
                raise
            except OSError:
                self._cut_off = True
                raise
            try:
                self._list.check_end()
            finally:
                self._leave()
        self.close()
        raise StopIteration

    def _begin(self, before: Position, *, expected: bool = False) -> None:
        self._ended = self._cut_off = False
        self._before = before
        self._list = SeedList(self._sources[before.file], before.place, self._max_length, changes=expected)

    def _leave(self) -> None:
        """Go to the next list. After the last one the place stays at its end, so that lines added later are found."""
        before = self._before
        if before.file + 1 < len(self._sources):
            self.close()
            self._begin(Position(before.src, before.file + 1, self.taken, self.bad))
        else:
            self._ended = True
