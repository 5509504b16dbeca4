"""Reads many archive files one after the other, from wherever a former run had come to, as answers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from webcrawl.archives.answers import Answers, NoPage, Unusable, is_unmodified, most, refers
from webcrawl.archives.captures import Capture, captures
from webcrawl.archives.originals import Originals
from webcrawl.archives.unmodified import unmodified
from webcrawl.model import Exchange, Link
from webcrawl.store.errors import StoreError
from webcrawl.warc.reader import OPEN, Lost, NotWarc, Record, Records
from webcrawl.warc.unpacking import Place

logger = logging.getLogger(__name__)

LOST = "archive/lost/"  # how the counters of what could not be read begin
TOLD = 10  # lines about damage, and about each reason why a record is left out, in each file


@dataclass(frozen=True, slots=True)
class Answer:
    """One download of an archive, and where the next one begins; or the end of a file, without a download."""

    name: str  # of its file, as it is once the file is finished
    next: Place
    lost: tuple[str, ...]  # what could not be read before that place, one name for each
    found: tuple[Link, Exchange] | None = None


class Archives:
    """All answers of these files. `place_of`: where to begin in a file, by its name."""

    def __init__(
        self, files: Sequence[Path], place_of: Callable[[str], Place | None], originals: Originals, truncate: int
    ) -> None:
        self._files, self._place_of, self._originals = files, place_of, originals
        self._answers, self._most = Answers(truncate), most(truncate)
        self._told: Counter[str] = Counter()
        self._lost: list[str] = []
        self._sizes = [path.stat().st_size for path in files]
        self.size = sum(self._sizes)
        self.done = 0  # bytes of all files
        self.number = 0  # of the file that is being read

    def __repr__(self) -> str:
        return f"<Archives file {self.number} of {len(self._files)}>"

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[Answer]:
        """StoreError: a file cannot be read, through no fault of its own."""
        for number, path in enumerate(self._files, 1):
            self.number, before = number, sum(self._sizes[: number - 1])
            self.done = before
            self._told.clear()
            try:
                for answer in self._file(path):
                    self.done = before + min(sum(answer.next), self._sizes[number - 1])  # unpacked bytes may be more
                    yield answer
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror or error}") from error
        self.done = self.size

    def _file(self, path: Path) -> Iterator[Answer]:
        name, size = name_of(path), path.stat().st_size
        place = self._place_of(name)
        if place is not None and place.offset > size:
            raise StoreError(f"{path}: shorter than it was when {place.offset} bytes of it were processed")
        if place is not None and place.offset == size:
            return
        try:
            with Records(path, self._most, partial(self._damaged, path), place) as records:
                end = None
                for capture in captures(records, partial(self._refused, path, "unusable")):
                    if records.is_open and records.ended and not capture.notes:  # more of it may be still to come
                        end = capture.place
                        break
                    if capture.first.kind != "revisit":
                        self._originals.add(capture.first, name)
                    found = self._found(path, capture)
                    if found is not None:
                        yield Answer(name, capture.next or capture.place, self._losses(), found)
                end = end or records.place
                if records.is_open and end.offset < size:
                    logger.info(
                        "%s: still being written: its last %d bytes are left for later", path, size - end.offset
                    )
                yield Answer(name, end, self._losses())
        except NotWarc as error:
            self._lost.clear()  # it has no records that could be damaged
            self._lose("files", str(error))
            yield Answer(name, Place(size, 0), self._losses())

    def _found(self, path: Path, capture: Capture) -> tuple[Link, Exchange] | None:
        original, same = None, is_unmodified(capture.first)
        if refers(capture):
            original = self._original(capture.first)
            if original is None:
                self._refused(path, "revisits", capture.first, "its payload is in none of the files read so far")
                return None
        try:
            link, answer = self._answers.read(capture, None if same else original, path.name.removesuffix(OPEN))
        except NoPage:
            self._lost.append("archive/others")
        except Unusable as error:
            self._refused(path, "unusable", capture.first, str(error))
        else:
            return link, unmodified(original, answer) if same and original is not None else answer
        return None

    def _original(self, revisit: Record) -> Exchange | None:
        for name, place in self._originals.find(revisit):
            for path in (Path(name), Path(name + OPEN)):
                try:
                    with Records(path, self._most, _ignore, place) as records:
                        capture = next(captures(records, _ignore), None)
                    if capture is not None and capture.first.kind != "revisit":
                        return self._answers.read(capture)[1]
                except (FileNotFoundError, NotWarc, Unusable):
                    continue
        return None

    # -- what is lost

    def _losses(self) -> tuple[str, ...]:
        lost, self._lost = tuple(self._lost), []
        return lost

    def _damaged(self, path: Path, lost: Lost) -> None:
        self._lose("damaged", f"{path}: byte {lost.at}: {lost.why}; {lost.size} bytes skipped")

    def _refused(self, path: Path, kind: str, record: Record, why: str) -> None:
        self._lose(kind, f"{path}: byte {record.place.offset}: {record.kind} {record.url}: {why}")

    def _lose(self, kind: str, line: str) -> None:
        self._lost.append(f"{LOST}{kind}")
        self._told[kind] += 1
        if self._told[kind] <= TOLD:
            more = "; others like it in this file are only counted" if self._told[kind] == TOLD else ""
            logger.warning("%s%s", line, more)


def name_of(path: Path) -> str:
    """The same for a file while it is written and once it is finished."""
    return str(path.resolve()).removesuffix(OPEN)


def _ignore(*_: object) -> None:
    """Damage is told where the file itself is read."""
