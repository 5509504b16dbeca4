"""The table of marks: one search for all in a body's beginning, one look at the headers' names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

import re2

OWN = files(__package__) / "marks.toml"  # the package may be an egg
MEMORY = 64 << 20  # bytes, the limit of the automata
WORDS = ("ratelimit", "maintenance", "wall", "login", "soft404")
VERSION = 1  # of the tables' format
KEYS = frozenset(("version", "date", "mark", "words", "names", "denial"))
KIND = re.compile(
    r"wall:[a-z0-9-]+|ratelimit|login|consent|soft404|parked|default|maintenance|shell"
)
# The keys of a mark, and the types of their values
FORMS = {
    "is": str,
    "source": str,
    "any": list,
    "all": list,
    "header": dict,
    "bare": bool,
    "status": list,
}
NAMES = {str: "text", list: "list", dict: "table", bool: "boolean"}
MOUNT, CODED, GUARD = "mount", "coded", "guard"
APART = "|·\N{EN DASH}\N{EM DASH}•»«"  # the parts of a title
GAP = re.compile(r"\[\^[^]]*\]\{0,[0-9]+\}")  # between two parts of a sentence
LETTERS = re.compile(r"[^\W\d_]")
COMMON = "server system url"  # on most pages, in scripts and attributes
NEVER = r"[^\x00-\x{10FFFF}]"  # matches no text
# Where a framework puts the page, or what it says without scripts; a denial's guard; a title with
# character references, in which a search does not see the words
HINTS = {
    MOUNT: r"""id=["']?(root|react-?root|q-app|app|__next|__nuxt|___gatsby|svelte|ember-root)\b|-(root|app)["']>"""
    r"|<app-root|\bng-(app|view)|v-cloak|<noscript",
    GUARD: r"fire\s?wall|\bwaf\b|\byour\sip\b|\bsecurity\s(system|reasons|service|policy)"
    r"|\b(suspicious|malicious)\s(activity|behaviou?r)",
    CODED: r"<(title|h1)[^>]*>[^<]*&(#|[a-z]+(acute|grave|uml|circ|tilde|cedil|squo);|nbsp;)",
}


class ErrorMarks(StrEnum):
    """The parts of the table that apply to errors."""

    DENIES = "denies"
    GUARDS = "guards"  # who denies, or why
    YOURS = "yours"  # whose request it denies
    RIGHTS = "rights"  # the reader lacks a right: such a page is about one URL
    STOCK = "stock"  # a server's standard message


# Tables of expressions, and the names of their lists
LISTS = {"words": WORDS, "names": WORDS, "denial": tuple(ErrorMarks)}


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """One row of the table. No two rows are equal, even with the same values."""

    kind: str  # as in `wall:cloudflare`
    bare: bool  # counts only where next to nothing is shown
    statuses: frozenset[int]  # empty: any status

    def fits(self, status: int) -> bool:
        return not self.statuses or status in self.statuses


@dataclass(frozen=True, slots=True)
class MarkSearchResult:
    """The result of one search."""

    marks: list[Mark]  # in the table's order
    hints: AbstractSet[str]  # kinds and names of HINTS for which the page is worth parsing


NOTHING = MarkSearchResult([], frozenset())


class MarkTable:
    """All marks, words and names. Raises OSError, or ValueError for a table that is wrong."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        """Compile the marks, words and names of these tables into one search for each purpose.

        The numbers of the expressions that `glance` finds are in `_groups` and `_hints`. Raise
        ValueError for a row that is no mark.
        """
        tables = list(tables)
        # The expressions that are a mark together
        self._groups: list[tuple[frozenset[int], Mark]] = []
        self._headers: dict[bytes, list[tuple[Any, Mark]]] = {}
        self._search = re2.Set.SearchSet(OPTIONS)
        for table in tables:
            for row in table.get("mark", ()):
                self._add(row)
        words = {kind: _of(tables, "words", kind) for kind in WORDS}
        names = {kind: _of(tables, "names", kind) for kind in WORDS}
        self._denial = {
            part: _compiled(_either(_of(tables, "denial", part)), OPTIONS) for part in ErrorMarks
        }
        self._words = {kind: _compiled(_either(words[kind]), OPTIONS) for kind in WORDS}
        self._names = {kind: _compiled(_either(names[kind]), OPTIONS) for kind in WORDS}
        self._whole = {
            kind: _compiled(rf"(?m)^\W*(?:{_either(names[kind])})\W*$", OPTIONS) for kind in WORDS
        }
        # All kinds at once; only those that it finds are looked at one by one
        self._any_word = re2.Set.SearchSet(OPTIONS)
        for kind in WORDS:
            self._any_word.Add(_either(_ends(kind, words[kind]) + names[kind]))
        self._any_word.Compile()
        self._hints = {
            self._search.Add(_spaced(_either(_ends(kind, words[kind])))): kind for kind in WORDS
        }
        self._hints |= {self._search.Add(_element(kind, names[kind])): kind for kind in WORDS}
        self._hints |= {self._search.Add(expression): name for name, expression in HINTS.items()}
        self._search.Compile()
        self.header_names = self._headers.keys()

    @classmethod
    def read(cls, *paths: Path) -> Self:
        """Return the marks of these tables, and of the package's own after them."""
        return cls([*map(_table, paths), _table(OWN)])

    def _add(self, row: Mapping[str, Any]) -> None:
        """Add the marks of one row of a table: each expression of `any`, all of `all` together,
        each header.

        Raise ValueError if the row is none.
        """
        kind = row.get("is")
        if not isinstance(kind, str) or not KIND.fullmatch(kind):
            raise ValueError(f"a mark has `is` = {kind!r}, which is not a known kind")
        if not any(map(row.get, ("any", "all", "header"))):
            raise ValueError(f"a mark of {kind} needs at least one of `any`, `all` and `header`")
        mark = Mark(kind, row.get("bare", False), frozenset(row.get("status", ())))
        # Each expression of `any` is a mark by itself
        groups = [[one] for one in row.get("any", ())]
        if row.get("all"):
            groups.append(row["all"])
        for group in groups:
            self._groups.append((frozenset(map(self._search_for, group)), mark))
        for name, value in row.get("header", {}).items():
            expression = _compiled(value, LATIN)
            self._headers.setdefault(name.lower().encode(), []).append((expression, mark))

    def _search_for(self, expression: str) -> int:
        _compiled(expression, OPTIONS)  # a set's own errors do not say what is wrong
        return int(self._search.Add(expression))

    def of_headers(self, headers: list[tuple[bytes, bytes]]) -> Iterator[Mark]:
        """Yield the marks among an answer's header fields."""
        for name, value in headers:
            for expression, mark in self._headers.get(name.lower(), ()):
                if expression.search(value):
                    yield mark

    def glance(self, beginning: bytes) -> MarkSearchResult:
        """Search the beginning of a body, in UTF-8 or ASCII."""
        # One set of all expressions takes 7.5 us for 4 KiB. Two sets, one in Latin-1, take 15
        found = self._search.Match(beginning)
        if not found:
            return NOTHING
        hints = {self._hints[number] for number in found if number in self._hints}
        # Nothing was found but hints, as on most pages
        if len(found) == len(hints):
            return MarkSearchResult([], hints)
        marks = [mark for group, mark in self._groups if group.issubset(found)]
        return MarkSearchResult(marks, hints)

    def shown(self, text: str) -> list[Mark]:
        """Return the marks that a reader sees in a page's text, in the table's order."""
        found = self._search.Match(text) or ()
        return [mark for group, mark in self._groups if group.issubset(found)]

    def kinds(self, said: str | bytes) -> list[str]:
        """Return the kinds whose words or names stand in this text or title, in UTF-8."""
        return [WORDS[one] for one in sorted(self._any_word.Match(said) or ())]

    def words(self, kind: str, text: str) -> bool:
        """Return whether a sentence says that the page is of this kind."""
        return self._words[kind].search(text) is not None

    def says(self, part: ErrorMarks, text: str) -> bool:
        """Return whether an error says this part of a denial."""
        return self._denial[part].search(text) is not None

    def is_stock(self, text: str) -> bool:
        """Return whether an error has no words but a server's standard message."""
        return LETTERS.search(self._denial[ErrorMarks.STOCK].sub("", text)) is None

    def names(self, kind: str, lines: str, *, whole: bool) -> bool:
        """Return whether a line names this kind, and with `whole` nothing else."""
        return (self._whole if whole else self._names)[kind].search(lines) is not None


def _of(tables: Iterable[Mapping[str, Any]], key: str, name: str) -> list[str]:
    return [one for table in tables for one in table.get(key, {}).get(name, ())]


def _table(path: Path | Traversable) -> Mapping[str, Any]:
    """Read and check a table of marks. Raise ValueError if it is none, or of another version."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := table.keys() - KEYS:
        raise ValueError(f"unknown key {min(unknown)!r} in the table of marks")
    if table.get("version", VERSION) != VERSION:
        raise ValueError(
            f"the table has version {table['version']}, but this program reads version {VERSION}"
        )
    _check(table)
    return table


def _check(table: Mapping[str, Any]) -> None:
    """Raise ValueError if a value has the wrong type.

    A text in the place of a list would count as a list of letters.
    """
    for row in _formed("mark", table.get("mark", []), list):
        for key, value in _formed("mark", row, dict).items():
            if key not in FORMS:
                raise ValueError(f"unknown key {key!r} in a mark")
            _formed(key, value, FORMS[key])
        if any(type(status) is not int for status in row.get("status", ())):
            raise ValueError(f"`status` = {row['status']!r}: must be a list of numbers")
    for key, names in LISTS.items():
        for name, value in _formed(key, table.get(key, {}), dict).items():
            if name not in names:
                raise ValueError(f"`{key}` has an unknown part {name!r}")
            _formed(name, value, list)


def _formed(name: str, value: Any, form: type) -> Any:
    if not isinstance(value, form):
        raise ValueError(f"`{name}` = {value!r:.60}: must be a {NAMES[form]}")  # noqa: TRY004 - as all that is wrong
    return value


def _compiled(expression: object, options: Any) -> Any:
    if not isinstance(expression, str):
        raise TypeError(f"{expression!r} is not a valid regular expression")
    try:
        return re2.compile(expression.encode() if options is LATIN else expression, options)
    except re2.error as error:
        raise ValueError(f"{expression!r}: {error}") from error


def _either(expressions: Iterable[str]) -> str:
    return "|".join(f"(?:{one})" for one in expressions) or NEVER


def _ends(kind: str, words: list[str]) -> list[str]:
    """Return the part of each sentence that is looked for first.

    With the gaps of the sentences the automaton would have too many states. The part is the
    beginning, unless most pages have that in their sources. For a missing page it is the end, since
    ordinary sentences begin like these.
    """
    return [_end(GAP.split(one), kind) for one in words]


def _end(parts: list[str], kind: str) -> str:
    is_common = kind == "soft404" or _compiled(parts[0], OPTIONS).search(COMMON) is not None
    return parts[-1 if is_common else 0]


def _element(kind: str, names: list[str]) -> str:
    """Return the expression that looks for the names in a page's source.

    Names of a missing page are in many addresses and numbers, so they must fill a whole element.
    """
    named = _spaced(_either(names))
    return rf"[>{APART}-]\s*(?:{named})\W{{0,3}}\s*[<{APART}-]" if kind == "soft404" else named


def _spaced(expression: str) -> str:
    """Return the expression for a source, in which any white space may stand for a space."""
    return expression.replace(" ", r"\s")


def _options(*, latin: bool) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MEMORY
    if latin:
        options.encoding = re2.Options.Encoding.LATIN1  # bytes, whatever their encoding
    return options


LATIN, OPTIONS = _options(latin=True), _options(latin=False)
