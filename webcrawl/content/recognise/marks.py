"""The table of marks: one search of a body's beginning for all of them, and one look at the names of its headers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import re2

OWN = files(__package__) / "marks.toml"  # the package may be an egg
NAME = itemgetter(0)  # of a header field
MEMORY = 64 << 20  # limit of the automata
WORDS = ("ratelimit", "maintenance", "wall", "login", "soft404")


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of the table."""

    kind: str  # as in `wall:cloudflare`
    bare: bool  # counts only where next to nothing is shown
    statuses: frozenset[int]  # none: any

    def fits(self, status: int) -> bool:
        """Return whether it counts with this status."""
        return not self.statuses or status in self.statuses


class Marks:
    """Read once. Raises OSError, or ValueError for what is no table of marks."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        tables = list(tables)
        self._groups: list[tuple[frozenset[int], Mark]] = []  # which expressions together are a mark
        self._headers: dict[bytes, list[tuple[Any, Mark]]] = {}
        self._search = re2.Set.SearchSet(_options())
        for row in (row for table in tables for row in table.get("mark", ())):
            self._add(row)
        self._search.Compile()
        self._words = {
            name: re2.compile(
                "|".join(f"(?:{one})" for table in tables for one in table.get("words", {}).get(name, ())),
                _options(latin=False),
            )
            for name in WORDS
        }
        self._any_word = re2.Set.SearchSet(_options(latin=False))
        for one in self._words.values():
            self._any_word.Add(one.pattern)
        self._any_word.Compile()

    @classmethod
    def read(cls, *paths: Path) -> Self:
        """The package's own table, and others after it."""
        return cls(tomllib.loads(path.read_text(encoding="utf-8")) for path in (OWN, *paths))

    def _add(self, row: Mapping[str, Any]) -> None:
        mark = Mark(row["is"], row.get("bare", False), frozenset(row.get("status", ())))
        for group in [*([one] for one in row.get("any", ())), row.get("all", ())]:
            if group:
                self._groups.append((frozenset(self._search.Add(one.encode()) for one in group), mark))
        for name, value in row.get("header", {}).items():
            self._headers.setdefault(name.encode(), []).append((re2.compile(value.encode(), _options()), mark))

    def of_headers(self, headers: list[tuple[bytes, bytes]]) -> Iterator[Mark]:
        """The marks among an answer's header fields; nearly all have none."""
        if self._headers.keys().isdisjoint(map(bytes.lower, map(NAME, headers))):
            return
        for name, value in headers:
            for expression, mark in self._headers.get(name.lower(), ()):
                if expression.search(value):
                    yield mark

    def of_body(self, beginning: bytes) -> list[Mark]:
        """The marks in a body's beginning, in the table's order."""
        found = self._search.Match(beginning)
        return [mark for group, mark in self._groups if group.issubset(found)] if found else []

    def any_word(self, title: bytes) -> bool:
        """Return whether a title, in UTF-8, may say that a page is of any kind."""
        return bool(self._any_word.Match(title))

    def words(self, kind: str, text: str) -> bool:
        """Return whether a title or heading says that the page is of this kind."""
        return self._words[kind].search(text) is not None


def _options(*, latin: bool = True) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MEMORY
    if latin:
        options.encoding = re2.Options.Encoding.LATIN1  # bytes, whatever their encoding
    return options
