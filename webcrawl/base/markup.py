"""HTML and SVG that cannot be broken by what they show."""

from __future__ import annotations

from html import escape

from webcrawl.base.readable import readable

# HTML Standard 13.1.2: these have no end tag
VOID = frozenset(("meta", "link", "input", "br"))


class Html(str):
    """Markup, as opposed to text."""

    __slots__ = ()


Child = str | None


def text(content: str) -> Html:
    """Return the text with special characters escaped and invisible characters spelled out."""
    return Html(escape(readable(content)))


def lines(content: str) -> Html:
    """Return a text of several lines, for an element that shows them as such."""
    return Html(escape(readable(content, lines=True)))


def tag(name: str, /, *children: Child, **attributes: str | None) -> Html:
    """Return an element.

    Names of attributes are written with `_` for `-` and a last `_` that is dropped: `class_`.
    """
    start = f"<{name}"
    for key, value in attributes.items():
        if value is not None:
            attribute = key.rstrip("_").replace("_", "-")
            start += f' {attribute}="{escape(readable(value))}"'
    if name in VOID:
        return Html(f"{start}>")
    return Html(f"{start}>{join(*children)}</{name}>")


def document(title: str, body: Html, *more: Child) -> str:
    """Return a whole page; `more` goes into its head."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        *more,
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def join(*children: Child) -> Html:
    """Return several pieces, one after the other, without those that are None."""
    pieces = [one for one in children if one is not None]
    return Html("".join(one if isinstance(one, Html) else text(one) for one in pieces))
