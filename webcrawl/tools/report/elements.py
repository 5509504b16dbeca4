"""The elements that pages for people are made of: head, sections, tables, large numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from webcrawl.base import numbers
from webcrawl.base.markup import Child, Html, document, tag


def standalone_page(title: str, body: Html, policy: str) -> str:
    """Return a page that needs no other file; `policy`: what it may load and run."""
    style = Html(
        (files("webcrawl.tools.report") / "assets" / "style.css").read_text(encoding="utf-8")
    )
    return document(
        title,
        body,
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="robots", content="noindex"),
        tag("style", style),
    )


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
class TableColumn:
    """A heading, and the kind of its values: text, code, number, size, seconds, share, part, when.

    A share is a part of 1 with a bar.
    """

    name: str
    kind: str = "text"
    title: str | None = None


def table(
    name: str | None, columns: Sequence[TableColumn], rows: Iterable[Sequence[Cell]], caption: str
) -> Html:
    """Return a table. `name` lets it be sorted; without a name it only says its caption."""
    body = [
        tag("tr", *(_cell(column, value) for column, value in zip(columns, row, strict=True)))
        for row in rows
    ]
    heads = [
        tag("th", column.name, scope="col", class_=_class(column), title=column.title)
        for column in columns
    ]
    head = tag("thead", tag("tr", *heads))
    if name is None:
        made = tag("table", head, tag("tbody", *body))
        return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)
    made = tag(
        "table",
        head,
        tag("tbody", *body),
        id=name,
        class_="sortable",
        aria_labelledby=f"{name}-name",
    )
    frame = {
        "class_": "scroll long" if len(body) >= SEARCHED else "scroll",
        "tabindex": "0",
        "role": "region",
    }
    return tag(
        "div",
        tag("div", tag("h3", caption, id=f"{name}-name"), class_="head"),
        tag("div", made, aria_labelledby=f"{name}-name", **frame),
        class_="table",
    )


def _class(column: TableColumn) -> str | None:
    return {"text": None, "code": "n code", "share": "n share"}.get(column.kind, "n")


def _cell(column: TableColumn, value: Cell) -> Html:
    if value is None:
        return tag("td", "-", class_=_class(column), data_v="-1")
    if isinstance(value, str):
        return tag("td", value)
    if column.kind == "share":
        shown = numbers.percent(value, 1)
        filled = tag("rect", class_="c0", width=f"{max(value * 100, 1):.2f}%", height="100%")
        bar = tag("svg", filled, class_="bar", aria_hidden="true")
        return tag("td", tag("span", shown), bar, class_="n share", data_v=f"{value:.6g}")
    if column.kind in PLAIN:
        return tag("td", PLAIN[column.kind](value), class_=_class(column))
    return tag("td", SHOWN[column.kind](value), class_="n", data_v=f"{value:.15g}")


def section(name: str | None, title: str, *children: Child, more: Child = None) -> Html:
    """Return a section with its heading, to which contents may link; `more` stands beside it."""
    heading = tag("h2", title)
    return tag(
        "section",
        heading if more is None else tag("div", heading, more, class_="head"),
        *children,
        id=name,
    )


def note(*words: Child) -> Html:
    """Return a sentence or two."""
    return tag("p", *words, class_="note")


def tiles(*pairs: tuple[str, str, str]) -> Html:
    """Large numbers: the number, what it is, and a remark."""
    made = [
        tag("div", tag("dt", name), tag("dd", value), tag("dd", more, class_="more"))
        for value, name, more in pairs
    ]
    return tag("dl", *made, class_="tiles")
