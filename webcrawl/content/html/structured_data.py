"""A document's statements in JSON-LD, microdata, RDFa Lite, Open Graph (docs/structured.md).

The result is JSON text: as Python's objects a hostile page's values take thirty times the memory.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from selectolax.lexbor import LexborNode

from webcrawl.content.html.encodings import SPACE
from webcrawl.content.html.marked_elements import MarkedElements
from webcrawl.content.html.microdata import Microdata
from webcrawl.content.html.rdfa import Rdfa, is_open_graph
from webcrawl.content.html.trees import document, value_of

NESTED = 64  # arrays and objects of JSON-LD within others


def structured(body: bytes, content_type: str, encoding: str, url: str, base: str) -> str:
    """Return what a body says as JSON text, empty for nothing. Never raises, whatever the bytes."""
    text, kind = document(body, content_type, encoding)
    return structured_of(text, kind, url, base) if kind else ""


def structured_of(
    text: bytes, kind: str, url: str, base: str, root: LexborNode | None = None
) -> str:
    """Return the same of a document in UTF-8, whose addresses are relative to `base`.

    `kind`: what `trees.document` returned. `root`: of lexbor's tree if it is parsed already.
    """
    marked = MarkedElements.of(text, kind, root)
    if marked is None:
        return ""
    found = {
        "jsonld": json_ld(marked),
        "microdata": Microdata(marked, base).items(),
        "rdfa": Rdfa(marked, url, base).items(),
        "opengraph": open_graph(marked),
        "dropped": marked.dropped,
    }
    said = {name: value for name, value in found.items() if value}
    if not said:
        return ""
    # JSON may spell half of a surrogate pair, which UTF-8 cannot
    return json.dumps(said, ensure_ascii=False).encode(errors="replace").decode()


def json_ld(marked: MarkedElements) -> list[Any]:
    """Return the values of all scripts; the members of an array count as values of the script."""
    found: list[Any] = []
    for element, attributes in zip(marked.elements, marked.attributes, strict=True):
        if element.tag != "script":
            continue
        kind = value_of(attributes, "type").partition(";")[0].strip(SPACE).lower()
        if kind != "application/ld+json":
            continue
        text = _unwrapped(element.text())
        # Room is taken before the text is read: its values take many times its memory
        if not text.strip() or not marked.takes(len(text)):
            continue
        try:
            # Not `strict`: line breaks within strings are frequent
            value = json.loads(
                text, strict=False, parse_float=_finite, parse_constant=lambda _: None
            )
        except (ValueError, RecursionError):
            marked.dropped["broken"] += 1
            continue
        if _is_deep(value):
            marked.dropped["deep"] += 1
            continue
        if isinstance(value, list):
            found.extend(value)
        else:
            found.append(value)
    return found


# How scripts hide what they contain from very old browsers, and from readers of XML
_OPENING = re.compile(r"\s*+(?:<!--|(?://|/\*)?\s*+<!\[CDATA\[\s*+(?:\*/)?)")
_CLOSING = re.compile(r"(?:(?://\s*)?-->|(?://|/\*)?\s*\]\]>\s*(?:\*/)?)\Z")
_TAIL = 100  # characters at the end of a script in which such a mark is looked for


def _unwrapped(text: str) -> str:
    """Return a script without the comment or CDATA section around all of it."""
    opening = _OPENING.match(text)
    if opening is None:
        return text
    text = text[opening.end() :].rstrip()
    closing = _CLOSING.search(text, max(0, len(text) - _TAIL))
    return text[: closing.start()] if closing is not None else text


def _finite(number: str) -> float | None:
    value = float(number)
    return value if isfinite(value) else None  # JSON has no infinity


def _is_deep(value: Any) -> bool:
    """Return whether arrays and objects are nested more than NESTED deep."""
    # Level by level, without recursion: a hostile value is as deep as Python's reader lets it be
    level = [value]
    for _ in range(NESTED):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        if not inner:
            return False
        level = inner
    return any(isinstance(one, dict | list) for one in level)


def open_graph(marked: MarkedElements) -> dict[str, list[str]]:
    """Return the contents of each property, in the order of the page."""
    found: dict[str, list[str]] = {}
    for element, attributes in zip(marked.elements, marked.attributes, strict=True):
        if element.tag != "meta":
            continue
        content = value_of(attributes, "content").strip(SPACE)
        if not content:
            continue
        # Many pages write `name` in place of `property`
        written = attributes.get("property") or value_of(attributes, "name")
        for name in filter(is_open_graph, written.lower().split()):
            if marked.takes(len(name) + len(content)):
                found.setdefault(name, []).append(content)
    return found
