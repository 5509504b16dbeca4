"""What a user types, in tantivy's language of queries: words with their stems, `site:`, `after:` and `before:`.

Only words that stand alone and these three are rewritten. All else is tantivy's, and so are its complaints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from webcrawl.base.hosts import host_of
from webcrawl.record.fulltext.index_fields import prepared, stems_of
from webcrawl.urls.canonical import InvalidUrl, canonical

# A text in quotes, a range or a set, with or without a field; a parenthesis or blanks; anything else.
_PIECE = re.compile(r"""[\w.+-]*:?"[^"]*"?[^\s()]*|[\w.+-]*:?[\[{][^\]}]*[\]}]?\S*|[()]|\s+|[^()\s"]+""")
_WORD = re.compile(r"[^\W_]{1,40}")  # what the analyzers take for one word, too
_WORDS = frozenset(("AND", "OR", "NOT"))
_OPERATORS = _WORDS | {"IN", "TO", "(", ")"}
_CODE = re.compile(r"::|\w!?[\[({]|#!?\[|(?<!\S)'\w")  # Vec::new, vec![1], len(), #[test], 'a
_FILTER = re.compile(r"([+-]?)(site|after|before):(.+)", re.DOTALL)
_DATE = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
MOST = 64  # words with stems: each costs a look at each language
WEIGHT = 1.0  # of a stem beside its word (docs/decisions/record-tables.md)
FEW = 2  # words, all of which must be there; of more, more than half


class BadQuery(ValueError):  # noqa: N818 - reads as what it is
    """The query cannot be understood."""


@dataclass(slots=True)
class Asked:
    """A query in tantivy's language: `words`, most of which a page has to have, and what it must have or not have."""

    words: list[str]
    others: list[str]


def asked(query: str, languages: Sequence[str]) -> Asked:
    """The query for an index that has pages in these languages; BadQuery if one of the three has no sense.

    A query with operators or few words is a whole, in which all is asked for that they do not make optional.
    """
    words: list[str] = []
    others: list[str] = []
    whole: list[str] = []
    stems = [f"{stems_of(language)}:" for language in languages]
    for piece in _PIECE.findall(query):
        found = _FILTER.fullmatch(piece)
        if found is not None:
            others.append(found[1] + _FILTERS[found[2]](found[3]))
            whole.append(others[-1])
        elif piece not in _OPERATORS and _WORD.fullmatch(word := prepared(piece)):
            forms = [word, *(f"{stem}{word}^{WEIGHT}" for stem in stems if len(words) < MOST)]
            words.append(f"({' OR '.join(forms)})" if len(forms) > 1 else word)
            whole.append(words[-1])
        else:
            others.append(piece)
            whole.append(piece)
    if len(words) <= FEW or not _OPERATORS.isdisjoint(others):
        return Asked([], ["".join(whole)])
    return Asked(words, [piece for piece in others if not piece.isspace()])


def as_code(query: str) -> str | None:
    """The query with its words of code as phrases, for one that tantivy does not bear; None if it has no code in it."""
    if _CODE.search(query) is None:
        return None
    pieces = (_quoted(piece) for piece in re.findall(r'"[^"]*"?|[^\s"]+', query))
    return " ".join(filter(None, pieces))


def _quoted(piece: str) -> str:
    if piece.startswith('"') or piece in _WORDS or _FILTER.fullmatch(piece):
        return piece
    sign = piece[: piece[0] in "+-"]
    word = piece[len(sign) :]
    if _WORD.fullmatch(word):
        return piece
    return f'{sign}"{word}"' if re.search(r"\w", word) else ""


def _site(value: str) -> str:
    """Pages of this host, and of those below it."""
    named = value.strip('"').removeprefix("*.").removeprefix(".")
    try:
        url = canonical(named if "://" in named else f"http://{named}")
    except InvalidUrl:
        url = "http:///?"
    if url.split("/", 3)[3]:
        raise BadQuery(f"site:{value}: the name of a host, or its end, such as example.org")
    return f'site:"{host_of(url)}"^0'


def _after(value: str) -> str:
    return f"fetched_at:[{_day(value)} TO *]"


def _before(value: str) -> str:
    return f"fetched_at:{{* TO {_day(value)}}}"


def _day(value: str) -> str:
    found = _DATE.fullmatch(value.strip('"'))
    try:
        if found is not None:
            return f"{date(*(int(part or 1) for part in found.groups()))}T00:00:00Z"
    except ValueError:
        pass
    raise BadQuery(f"{value}: a day, a month or a year, such as 2026-11-30, 2026-11 or 2026")


_FILTERS: dict[str, Callable[[str], str]] = {"site": _site, "after": _after, "before": _before}
