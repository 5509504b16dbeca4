"""Tables that a script makes sortable and searchable, and that are readable without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from webcrawl.report import numbers
from webcrawl.report.markup import Html, tag

SEARCHED = 15  # rows from which on a table has a field for searching
Cell = str | float | None
PLAIN: dict[str, Callable[[float], str]] = {"code": str, "number": numbers.number}
SHOWN: dict[str, Callable[[float], str]] = {
    "size": numbers.size,
    "seconds": numbers.seconds,
    "when": numbers.when,
    "part": lambda value: numbers.percent(value, 1),
}


@dataclass(frozen=True)
class Column:
    """A heading, and the kind of its values: text, code, number, size, seconds, share, part, when.

    A share is a part of 1 with a bar.
    """

    name: str
    kind: str = "text"
    title: str | None = None


def table(name: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], caption: str) -> Html:
    """`name` identifies it on the page."""
    body = [tag("tr", *(_cell(column, value) for column, value in zip(columns, row, strict=True))) for row in rows]
    heads = [tag("th", column.name, scope="col", class_=_class(column), title=column.title) for column in columns]
    head = tag("thead", tag("tr", *heads))
    made = tag("table", head, tag("tbody", *body), id=name, class_="sortable", aria_labelledby=f"{name}-name")
    frame = {"class_": "scroll long" if len(body) >= SEARCHED else "scroll", "tabindex": "0", "role": "region"}
    return tag(
        "div",
        tag("div", tag("h3", caption, id=f"{name}-name"), class_="head"),
        tag("div", made, aria_labelledby=f"{name}-name", **frame),
        class_="table",
    )


def _class(column: Column) -> str | None:
    return {"text": None, "code": "n code", "share": "n share"}.get(column.kind, "n")


def _cell(column: Column, value: Cell) -> Html:
    if value is None:
        return tag("td", "-", class_=_class(column), data_v="-1")
    if isinstance(value, str):
        return tag("td", value)
    if column.kind == "share":
        shown = numbers.percent(value, 1)
        bar = tag("span", class_="bar", style=f"--w:{value * 100:.2f}%")
        return tag("td", tag("span", shown), bar, class_="n share", data_v=f"{value:.6g}")
    if column.kind in PLAIN:
        return tag("td", PLAIN[column.kind](value), class_=_class(column))
    return tag("td", SHOWN[column.kind](value), class_="n", data_v=f"{value:.15g}")
