"""The URL paths of tree pages: from page number to path and back."""

from __future__ import annotations

import re

from webcrawl.simweb.words import SECTIONS, WORDS

_NUMBER = re.compile(r"/.*?(?:-|\?id=)([1-9]\d{0,9})(?:\.html|&view=full)?")


def path(page: int) -> str:
    """The request target of a page. Eight forms take turns, so that path rules meet some of each."""
    if not page:
        return "/"
    form, section, word = page & 7, SECTIONS[page >> 3 & 7], WORDS[(page ^ page >> 7) & 127]
    if form < 5:
        return f"/{section}/{word}-{page}.html"
    if form == 5:
        return f"/{section}/{2000 + page % 25}/{word}-{page}.html"
    if form == 6:
        return f"/item.php?id={page}&view=full"
    return f"/{section}/{word}/{section}-{page}"


def number(target: str) -> int | None:
    """The number of the page with this path, even if the host has fewer pages."""
    if target == "/":
        return 0
    match = _NUMBER.fullmatch(target)
    if match is None or path(int(match[1])) != target:
        return None
    return int(match[1])


def relative(depth: int, target: str) -> str:
    """`target` as written on a page `depth` folders deep."""
    return "../" * depth + target[1:] or "./"


def depth(target: str) -> int:
    """Folders between the root and a page, without the query."""
    return target.partition("?")[0].count("/") - 1
