"""JOBDIR/text/text-*.jsonl.gz: lines of pages, in gzip members of some hundred KB; one file open at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from isal import igzip

from webcrawl.fulltext.lines import Placed
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.output import OPEN, Output
from webcrawl.store.outputs import Outputs

logger = logging.getLogger(__name__)

FOLDER = "text"
STATE = "text"  # in the database: the next file's number, the next page's, and the open file
MEMBER = 256 << 10  # bytes of lines compressed at once: 8 % fewer bytes than one member for each page
LEVEL = 2  # isal's: 32 us for a page of 10 KB of text; zlib's best makes 8 % fewer bytes in 15 times the time
Line = Callable[[int], bytes | Placed]  # of a page, by its number


def name_of(number: int) -> str:
    """The path of a file below JOBDIR, once it is finished."""
    return f"{FOLDER}/text-{number:05d}.jsonl.gz"


class TextFiles:
    """Appends lines. As a Part it ends the open member: a checkpoint notes whole members alone."""

    def __init__(self, db: CrawlDB, outputs: Outputs, max_size: int) -> None:
        self._db, self._outputs, self._max_size = db, outputs, max_size
        self._output: Output | None = None
        self._waiting: list[bytes | Placed] = []  # lines that are not compressed yet
        self._size = 0  # their bytes
        self._number = self.ordinal = 0  # of the next file, and of the next page
        self._resume()
        db.join(self, first=True)  # before the outputs, which note their lengths

    def __repr__(self) -> str:
        return f"<TextFiles {self.ordinal} pages, {self._output!r}>"

    def add(self, make: Line) -> bool:
        """Adds the line that `make` makes of the page's number, unless it is empty; says whether it was."""
        data = make(self.ordinal)
        if not data:
            return False
        if self._output is None:
            self._output = self._outputs.open(f"{name_of(self._number)}{OPEN}")
            self._number += 1
        self._waiting.append(data)
        self._size += len(data)
        self.ordinal += 1
        if self._size >= MEMBER:
            self._compress(self._output)
        return True

    def place(self) -> tuple[int, int]:
        """Where the next member will be: the number of its file, and its first byte."""
        return (self._number, 0) if self._output is None else (self._number - 1, self._output.tell())

    def close(self) -> None:
        """Finishes the open file. It loses its `.open` after the next checkpoint has noted it."""
        if self._output is not None:
            self._compress(self._output)
        if self._output is not None:  # it may have been large enough
            self._finish(self._output)

    # -- files

    def _resume(self) -> None:
        """Goes on with a file that a crash left open."""
        state = self._db.get(STATE)
        if state is not None:
            number, ordinal, path = state.decode().split(" ")
            self._number, self.ordinal = int(number), int(ordinal)
            if path:
                self._output = self._outputs.open(path)
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")

    def _compress(self, output: Output) -> None:
        if self._waiting:
            output.write(igzip.compress(b"".join(map(bytes, self._waiting)), compresslevel=LEVEL, mtime=0))
            self._waiting.clear()
            self._size = 0
        if output.tell() >= self._max_size:
            self._finish(output)

    def _finish(self, output: Output) -> None:
        output.finish()
        self._output = None
        logger.info("%s: finished, %d bytes", output.path.name.removesuffix(OPEN), output.tell())

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        if self._output is not None:
            self._compress(self._output)
        path = f"{FOLDER}/{self._output.path.name}" if self._output is not None else ""
        self._db.set(STATE, f"{self._number} {self.ordinal} {path}".encode())
