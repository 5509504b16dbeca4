"""Has pages scored in a process of its own. Blocks: call it from a thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from webcrawl.base.own_process import PYTHON
from webcrawl.base.page_values import Scored
from webcrawl.content.formats.reader_process import SHARED, Died, ReaderProcess

COMMAND = (*PYTHON, "-m", "webcrawl.content.scoring.score_worker")
WALL, START = 20.0, 120.0  # seconds for a batch, and for a scorer to load what it needs
DEATHS = 2  # of the process over one batch, after which the rest of it has no score
DIED = Scored(None, flaw="the scorer's process died, or took too long")


class Body(NamedTuple):
    """An answer to be scored."""

    url: str
    content_type: str
    data: bytes


class ScoreProcess(ReaderProcess):
    """One batch after the other. OSError if the scorer cannot be made."""

    tries = 1

    def __init__(self, scorer: str, languages: Sequence[str], *, wall: float = WALL) -> None:
        super().__init__("pages for their scores", (*COMMAND, scorer, ",".join(languages)), wall / SHARED)
        self._of_batch = wall

    def scored(self, bodies: Sequence[Body]) -> list[Scored]:
        """What is said of each. When the process dies, each is tried by itself: it was one of them."""
        try:
            return self._scored(bodies)
        except Died:
            deaths, found = 1, list[Scored]()
        for body in bodies if len(bodies) > 1 else ():
            try:
                found += self._scored([body]) if deaths <= DEATHS else [DIED]
            except Died:
                deaths += 1
                found.append(DIED)
        return found or [DIED] * len(bodies)

    def _scored(self, bodies: Sequence[Body]) -> list[Scored]:
        head = json.dumps([(one.url, one.content_type, len(one.data)) for one in bodies]).encode()
        found = self.ask(b"\n".join((head, b"".join(one.data for one in bodies))), _read)
        if len(found) != len(bodies):
            raise Died(self._what)
        return found

    def _open(self) -> None:
        """A process that has its scorer: what that lacks is told by an empty batch."""
        super()._open()
        self._wall = START
        try:
            answer = self._ask(b"[]\n")
        finally:
            self._wall = self._of_batch
        if isinstance(answer, str):
            raise OSError(answer)


def _read(answer: Any) -> list[Scored]:
    return [Scored(*one) for one in answer]
