"""The seeds of a crawl, one at a time, from lists that are read no further than needed."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Self

from webcrawl.seeds.errors import SeedError
from webcrawl.seeds.listing import SeedList
from webcrawl.seeds.position import Position, unpack
from webcrawl.seeds.source import Source, list_paths
from webcrawl.urls.canonical import MAX_LENGTH

if TYPE_CHECKING:
    from webcrawl.seeds.listing import Seed

logger = logging.getLogger(__name__)


class Seeds:
    """The seeds of SRC: paths with commas between. Every list is looked into at once, and read when its turn comes.

    A list that turns out to be unreadable raises SeedError where that is noticed; whoever asks for the
    next seed all the same is given the next list's.
    """

    def __init__(self, src: str, limit: int | None = None, max_length: int = MAX_LENGTH) -> None:
        paths = list_paths(src)
        if not paths:
            raise SeedError(f"{src!r}: names no list of seeds")
        if limit is not None and limit < 1:
            raise SeedError(f"limit {limit}: a whole number from 1 is allowed")
        self._sources = [Source(path) for path in paths]
        self._limit = math.inf if limit is None else limit
        self._max_length = max_length
        self._begin(Position(src))

    @property
    def taken(self) -> int:
        """Seeds given so far, in the runs before this one too."""
        return self._before.good + self._list.at.good

    @property
    def bad(self) -> int:
        """Lines that gave no seed and should have."""
        return self._before.bad + self._list.at.bad

    @property
    def position(self) -> bytes:
        """The place after the seed given last: for `resume`, in this process or another one."""
        before = self._before
        return Position(before.src, before.file, before.good, before.bad, self._list.place()).pack()

    def resume(self, position: bytes) -> None:
        """Go on after this position.

        Other lists, or a list that changed in what was read of it, are read from their beginning again:
        the seen store knows the seeds that were taken already, and none is lost.
        """
        before, src = unpack(position), self._before.src
        if before.src != src or not 0 <= before.file < len(self._sources):
            logger.warning("seeds are %s now and were %s: read from the beginning", src, before.src)
            before = Position(src)
        self.close()
        self._begin(before)

    def close(self) -> None:
        self._list.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Seed:
        while not self._ended and self.taken < self._limit:
            try:
                if (seed := self._list.next()) is not None:
                    return seed
                self._list.check_end()
            except SeedError:
                self._leave()
                raise
            self._leave()
        self.close()
        raise StopIteration

    def _begin(self, before: Position) -> None:
        self._ended = False
        self._before = before
        self._list = SeedList(self._sources[before.file], before.place, self._max_length)

    def _leave(self) -> None:
        """Go to the next list. At the last one's end the place stays there: what is added to it later is found."""
        before = self._before
        if before.file + 1 < len(self._sources):
            self.close()
            self._begin(Position(before.src, before.file + 1, self.taken, self.bad))
        else:
            self._ended = True
