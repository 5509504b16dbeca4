"""What all sections are made of."""

from __future__ import annotations

from webcrawl.report.markup import Child, Html, tag


def section(name: str, title: str, *children: Child) -> Html:
    """A section with its heading, to which the table of contents links."""
    return tag("section", tag("h2", title), *children, id=name)


def note(*words: Child) -> Html:
    """A sentence or two."""
    return tag("p", *words, class_="note")


def tiles(*pairs: tuple[str, str, str]) -> Html:
    """Large numbers: the number, what it is, and a remark."""
    made = [
        tag("div", tag("dt", name), tag("dd", value), tag("dd", more, class_="more")) for value, name, more in pairs
    ]
    return tag("dl", *made, class_="tiles")
