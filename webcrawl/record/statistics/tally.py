"""Counts by name, in bounded memory, whatever names a hostile web makes up."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.base.percent_encoding import visible

Row = tuple[str, int, int]  # name, count, bytes


class Tally:
    """Number and bytes by name. When there are too many names, the rarer half is counted together as `others`.

    So sums are always exact, and so is a name that was never among the rarer half. One that was has fewer than `most`.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.names: dict[str, list[int]] = {}
        self.others = [0, 0]
        self.most = 0  # the largest count that was added to the others at once, summed over all times

    def add(self, name: str, size: int) -> None:
        """Counts one of this name."""
        row = self.names.get(name)
        if row is None:
            if len(self.names) >= self._room:
                self._make_room()
            row = self.names[name] = [0, 0]
        row[0] += 1
        row[1] += size

    def _make_room(self) -> None:
        """Linear in the number of names, and needed at most once in half as many new ones."""
        rare = sorted(self.names, key=lambda name: self.names[name][0])[: max(self._room // 2, 1)]
        rows = [self.names.pop(name) for name in rare]
        self.others = [self.others[0] + sum(row[0] for row in rows), self.others[1] + sum(row[1] for row in rows)]
        self.most += rows[-1][0]

    def join(self, other: Tally) -> None:
        """Adds what another has counted; of two there may be more names than one has room for."""
        for name, (number, size) in other.names.items():
            row = self.names.setdefault(name, [0, 0])
            row[0] += number
            row[1] += size
        self.others = [mine + theirs for mine, theirs in zip(self.others, other.others, strict=True)]
        self.most += other.most

    def rows(self) -> list[Row]:
        """All names, the most frequent first."""
        rows = [(name, number, size) for name, (number, size) in self.names.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def save(self) -> list[object]:
        return [self.names, self.others, self.most]

    def restore(self, saved: Iterable[object]) -> None:
        """Takes what `save` returned."""
        self.names, self.others, self.most = saved  # type: ignore[assignment]


NO_TYPE = "no-type"  # as in crawl.log
LONGEST = 80  # characters of a type
GROUPS = ("HTML", "other text", "images", "audio and video", "PDF", "other")
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_STARTS = (("text/", 1), ("image/", 2), ("audio/", 3), ("video/", 3), ("application/pdf", 4))
_TEXT = ("json", "xml", "javascript")


def kind_of(content_type: str) -> str:
    """The type without its parameters, in lower case; of a header or of a line in crawl.log alike."""
    return visible(content_type.partition(";")[0].strip()).lower()[:LONGEST] or NO_TYPE


def group_of(kind: str) -> int:
    """The position in GROUPS of a type as `kind_of` gives it."""
    if kind in _HTML:
        return 0
    for start, group in _STARTS:
        if kind.startswith(start):
            return group
    return 1 if kind.endswith(_TEXT) else 5
