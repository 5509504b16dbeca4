"""Whatever a crawl answers to a command, as markup: a line, figures by name, or a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.tools.report import elements
from webcrawl.tools.report.elements import Cell, Column

MOST_ROWS, MOST_DEPTH = 500, 4
LONGEST = 2000  # characters of a text
BYTES = {"bytes", "size", "received"}  # figures that are
NOTHING = "Nothing now."
CAPITALS = {"url": "URL", "urls": "URLs", "ip": "IP"}
Link = Callable[[str, str], str | None]  # of a column and its text: where a click leads


def nowhere(name: str, text: str) -> str | None:
    """No text is a link."""
    del name, text
    return None


def answered(answer: Any, link: Link = nowhere, depth: int = 0) -> Html:
    """Bounded, however large the answer is."""
    if depth == MOST_DEPTH or not isinstance(answer, (Mapping, list, tuple)):
        return tag("p", said(answer), class_="answer")
    if isinstance(answer, Mapping):
        return _figures(answer, link, depth)
    if answer and all(isinstance(one, Mapping) for one in answer):
        return table(answer, link)
    if not answer:
        return tag("p", NOTHING, class_="note")
    if not any(isinstance(one, (Mapping, list, tuple)) for one in answer):
        return tag("p", ", ".join(map(said, answer[:MOST_ROWS])), class_="answer")
    return tag("ul", *(tag("li", answered(one, link, depth + 1)) for one in answer[:MOST_ROWS]), _more(len(answer)))


def _figures(answer: Mapping[str, Any], link: Link, depth: int) -> Html:
    """Figures side by side, without those that are nothing; what is larger comes below, under its name."""
    some = {name: value for name, value in answer.items() if value is not None and value not in ("", [], {})}
    plain = {name: value for name, value in some.items() if not isinstance(value, (Mapping, list, tuple))}
    rows = [tag("div", tag("dt", words(name)), tag("dd", _linked(name, value, link))) for name, value in plain.items()]
    rest = [
        join(tag("h3", words(name)), answered(value, link, depth + 1))
        for name, value in some.items()
        if name not in plain
    ]
    if not some:
        return tag("p", NOTHING, class_="note")
    return join(tag("dl", *rows[:MOST_ROWS], class_="facts") if rows else None, *rest)


def table(rows: Sequence[Mapping[str, Any]], link: Link = nowhere, caption: str = "Answer") -> Html:
    """A row for each mapping, a column for each name in any of them."""
    shown = rows[:MOST_ROWS]
    names = list(dict.fromkeys(name for row in shown for name in row))
    columns = [Column(words(name), _kind(name, [row.get(name) for row in shown])) for name in names]
    cells = [[_cell(name, row.get(name), link) for name in names] for row in shown]
    return join(elements.table(None, columns, cells, caption), _more(len(rows)))


def _kind(name: object, values: Sequence[Any]) -> str:
    if not all(value is None or _is_number(value) for value in values):
        return "text"
    return "size" if str(name) in BYTES else "number"


def _cell(name: object, value: Any, link: Link) -> Cell:
    return value if value is None or _is_number(value) else _linked(name, value, link)


def _linked(name: object, value: Any, link: Link) -> Html:
    where = link(str(name), value) if isinstance(value, str) and value else None
    if _is_number(value) and str(name) in BYTES:
        return join(numbers.size(value))
    return tag("a", said(value), href=where) if where else join(said(value))


def _more(number: int) -> Html | None:
    if number <= MOST_ROWS:
        return None
    return tag("p", f"The first {numbers.number(MOST_ROWS)} of {numbers.number(number)}.", class_="note")


def said(value: Any) -> str:
    """A value in a few words."""
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return numbers.number(float(f"{value:.6g}")) if isinstance(value, float) else f"{value:,}"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def words(name: object) -> str:
    """The name of a figure as people write it."""
    text = " ".join(CAPITALS.get(word, word) for word in str(name)[:100].replace("_", " ").split(" "))
    return text[:1].upper() + text[1:] if "://" not in text else text


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
