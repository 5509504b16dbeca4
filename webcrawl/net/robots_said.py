"""Preferences in robots.txt for the use of its host's pages (draft-ietf-aipref-attach-05, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from webcrawl.content.preferences import vocabularies
from webcrawl.content.preferences.purpose_bits import ROBOTS, Statement, combined
from webcrawl.content.preferences.vocabularies import address
from webcrawl.net.robots_syntax import matches, path_of, pattern_of

USAGE, SIGNAL, LICENSE = "content-usage", "content-signal", "license"
MOST = 256  # paths of one field: each may cost 6 us per page, and a file of 500 KiB has room for 25,000
LICENSES = 8

Paths = Mapping[str, int]  # pattern, empty for all paths -> statement


class RobotsSaid:
    """The statements for this crawler. Of one field the longest path decides, for all its categories."""

    __slots__ = ("_fields", "licenses")

    def __init__(self, fields: Mapping[str, Paths], licenses: tuple[str, ...] = ()) -> None:
        self._fields = {
            name: tuple(sorted(paths.items(), key=lambda one: (-len(one[0]), one[0])))
            for name, paths in fields.items()
            if paths
        }
        self.licenses = licenses

    def __bool__(self) -> bool:
        return bool(self._fields or self.licenses)

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        paths = sum(150 + len(path) for paths in self._fields.values() for path, _ in paths)
        return 400 + paths + sum(60 + len(one) for one in self.licenses)

    def fields(self) -> dict[str, dict[str, int]]:
        """Each path's statement, by field."""
        return {name: dict(paths) for name, paths in self._fields.items()}

    def of(self, url: str) -> tuple[Statement, ...]:
        """The preferences for a canonical URL of this host."""
        path = path_of(url)
        found = ((name, _longest(paths, path)) for name, paths in self._fields.items())
        return tuple(Statement(ROBOTS, name, said) for name, said in found if said)


class Collecting:
    """Collects the lines of one group."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, int]] = {}
        self._full: set[str] = set()  # fields with more than MOST paths
        self._licenses: dict[str, None] = {}

    def add(self, kind: str, value: bytes) -> None:
        """A line of one of the three fields."""
        if kind == LICENSE:
            found = address(value.decode("utf-8", "replace"))
            if found and len(self._licenses) < LICENSES:
                self._licenses[found] = None
            return
        pattern = ""
        if value[:1] == b"/":
            path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
            pattern, value = pattern_of(path), b"".join(rest).strip()
        said = _READERS[kind](value)
        if said is not None:  # a line that cannot be read is no rule: it takes nothing from those with shorter paths
            self._put(kind, pattern, said)

    def _put(self, kind: str, pattern: str, said: int) -> None:
        """Equal paths are combined. More than MOST say together, and of all paths, whatever one of them says."""
        paths = self._fields.setdefault(kind, {})
        pattern = "" if kind in self._full else pattern
        paths[pattern] = paths.get(pattern, 0) | said
        if len(paths) > MOST:
            self._full.add(kind)
            self._fields[kind] = {"": combined(paths.values())}

    @property
    def fields(self) -> Mapping[str, Paths]:
        return self._fields

    @property
    def licenses(self) -> tuple[str, ...]:
        return tuple(self._licenses)


def said_by(group: Collecting | None, everybody: Collecting | None) -> RobotsSaid | None:
    """The preferences collected from a group, with the licences that are in none; None without any."""
    if group is None and everybody is None:
        return None
    licenses = [one for part in (group, everybody) if part is not None for one in part.licenses]
    found = RobotsSaid(group.fields if group is not None else {}, tuple(dict.fromkeys(licenses))[:LICENSES])
    return found or None


def _longest(paths: Sequence[tuple[str, int]], path: str) -> int:
    """The preferences of the longest pattern that matches, or of several of that length. They are sorted so."""
    said, length = 0, -1
    for pattern, statement in paths:
        if len(pattern) < length:
            break
        if not pattern or matches(pattern, path):
            said, length = said | statement, len(pattern)
    return said


_READERS: dict[str, Callable[[bytes], int | None]] = {
    USAGE: lru_cache(256)(vocabularies.usage_statement),
    SIGNAL: lru_cache(256)(vocabularies.signal_statement),
}
