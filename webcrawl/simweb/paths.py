"""The URL paths of tree pages: page number -> path and back."""

from __future__ import annotations

import re

from webcrawl.simweb.words import SECTIONS, WORDS

_NUMBER = re.compile(r"/.*?(?:-|\?id=)([1-9]\d{0,9})(?:\.html|&view=full)?")


def path(page: int) -> str:
    """The request target of a page; eight forms take turns, so that rules about paths meet some of each."""
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
    """The page that has this path, whether a host has so many pages or not."""
    if target == "/":
        return 0
    match = _NUMBER.fullmatch(target)
    if match is None or path(int(match[1])) != target:
        return None
    return int(match[1])


def relative(depth: int, target: str) -> str:
    """`target` as it is written on a page `depth` folders deep."""
    return "../" * depth + target[1:] or "./"


def depth(target: str) -> int:
    """Folders between the root and a page; a query counts for nothing."""
    return target.partition("?")[0].count("/") - 1
