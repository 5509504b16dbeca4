"""Makes the HTML elements of the report, the account and the dashboard: sections, tables, tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from webcrawl.base import numbers
from webcrawl.base.markup import Child, Html, document, tag


def standalone_page(title: str, body: Html, policy: str) -> str:
    """Return a page that needs no other file.

    `policy` is its Content-Security-Policy: what it may load and run.
    """
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


MIN_SEARCHED_ROWS = 15  # of a table with a search field
Cell = str | float | None
# How values are written, by the kind of their column. Those that are no plain numbers have the
# number in an attribute, by which the script sorts.
PLAIN: dict[str, Callable[[float], str]] = {"code": str, "number": numbers.number}
WITH_UNIT: dict[str, Callable[[float], str]] = {
    "size": numbers.size,
    "seconds": numbers.seconds,
    "when": numbers.when,
    "part": lambda value: numbers.percent(value, 1),
}


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    `kind` is text, code, number, size, seconds, when, part or share. A part is a number from 0 to
    1, and a share is a part with a bar.
    """

    name: str
    kind: str = "text"
    title: str | None = None  # shown while the pointer is on the heading


def table(
    name: str | None, columns: Sequence[TableColumn], rows: Iterable[Sequence[Cell]], caption: str
) -> Html:
    """Return a table.

    With a name, the table can be sorted by its columns, and has its caption above it. Without one,
    the caption is for screen readers only.
    """
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
        plain = tag("table", head, tag("tbody", *body))
        return tag("div", plain, class_="scroll", tabindex="0", role="region", aria_label=caption)
    sortable = tag(
        "table",
        head,
        tag("tbody", *body),
        id=name,
        class_="sortable",
        aria_labelledby=f"{name}-name",
    )
    frame = {
        "class_": "scroll long" if len(body) >= MIN_SEARCHED_ROWS else "scroll",
        "tabindex": "0",
        "role": "region",
    }
    return tag(
        "div",
        tag("div", tag("h3", caption, id=f"{name}-name"), class_="head"),
        tag("div", sortable, aria_labelledby=f"{name}-name", **frame),
        class_="table",
    )


def _class(column: TableColumn) -> str | None:
    return {"text": None, "code": "n code", "share": "n share"}.get(column.kind, "n")


def _cell(column: TableColumn, value: Cell) -> Html:
    """Return a cell. The script sorts by its attribute data-v, or else by its text."""
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
    return tag("td", WITH_UNIT[column.kind](value), class_="n", data_v=f"{value:.15g}")


def section(name: str | None, title: str, *children: Child, more: Child = None) -> Html:
    """Return a section with a heading. `name` is its id, and `more` stands beside the heading."""
    heading = tag("h2", title)
    return tag(
        "section",
        heading if more is None else tag("div", heading, more, class_="head"),
        *children,
        id=name,
    )


def note(*words: Child) -> Html:
    """Return a paragraph of a sentence or two."""
    return tag("p", *words, class_="note")


def tiles(*figures: tuple[str, str, str]) -> Html:
    """Return large numbers. A figure is the number, its name and a remark."""
    parts = [
        tag("div", tag("dt", name), tag("dd", value), tag("dd", remark, class_="more"))
        for value, name, remark in figures
    ]
    return tag("dl", *parts, class_="tiles")
