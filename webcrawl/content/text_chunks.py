"""Splits the main text of a document, which is Markdown, into chunks for vector stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TITLE = 200  # characters of a heading in a path
# Headings of a document that begin a chunk: a page may consist of headings
MOST = 10_000
# A heading, or a line that begins or ends a block of code
_MARK = re.compile(
    r"^(?: *(?P<fence>`{3,})(?P<info>[^`\n]*)|(?P<level>#{1,6}) +(?P<title>.*))$", re.MULTILINE
)
# Where a section that is too long is split: the first of these that its second half has
_ENDS = ("\n\n", "\n", ". ", "。", " ")


class TextChunk(NamedTuple):
    """A part of a document's text: `text[start : start + len(chunk.text)]`."""

    headings: list[str]  # above it, and of its own section, the outermost first
    start: int
    text: str


def chunks(text: str, size: int) -> Iterator[TextChunk]:
    """Yield the parts of a text, each of one section and of at most `size` characters.

    They do not overlap, and nothing but white space is between them.
    """
    headings_above: list[tuple[int, str]] = []
    begin = 0
    last_heading_end = 0  # where the last heading ends: one without text stays with what follows
    for heading in _headings(text):
        heading_start = heading.start()
        level = len(heading["level"])
        if text[last_heading_end:heading_start].strip():
            yield from _split(
                text, begin, heading_start, [name for _, name in headings_above], size
            )
            begin = heading_start
        last_heading_end = heading.end()
        while headings_above and headings_above[-1][0] >= level:
            headings_above.pop()
        headings_above.append((level, heading["title"].strip()[:TITLE]))
    yield from _split(text, begin, len(text), [name for _, name in headings_above], size)


def _headings(text: str) -> Iterator[re.Match[str]]:
    """Yield the first headings that are not code."""
    # The marks that began the block of code around a line
    fence = ""
    count = 0
    for mark in _MARK.finditer(text):
        if not mark["fence"]:
            if not fence and count < MOST:
                count += 1
                yield mark
            continue
        if not fence:
            fence = mark["fence"]
            continue
        # CommonMark 4.5: the end is at least as long as the beginning, and names no language
        ends_block = mark["fence"].startswith(fence) and not mark["info"].strip()
        if ends_block:
            fence = ""


def _end_before(text: str, begin: int, most: int) -> int:
    """Return where a part that is too long is split: in its second half, or else at `most`."""
    for mark in _ENDS:
        at = text.rfind(mark, (begin + most) // 2, most)
        if at >= 0:
            return at + len(mark)
    return most


def _split(text: str, begin: int, end: int, headings: list[str], size: int) -> Iterator[TextChunk]:
    while begin < end:
        stop = end if end - begin <= size else _end_before(text, begin, begin + size)
        part = text[begin:stop]
        if part.strip():
            start = begin + len(part) - len(part.lstrip())
            yield TextChunk(headings, start, part.strip())
        begin = stop
