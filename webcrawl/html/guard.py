"""Pages that a tree builder must not be given: the standard's own rules let 30 KB of markup grow to gigabytes.

A formatting element (b, i, font, ...) left open is opened again, with its attributes, in every paragraph that follows:
lexbor took 2.6 GB and 7 s for such a page of 32 KB. Nesting costs the square of its depth, and so do the attributes
of one tag. These bounds are found without a tree and hold for any page: docs/html.md has the argument.
"""

from __future__ import annotations

import re

import numpy as np

from webcrawl.html import grammar

TAGS = 12_000  # nested, they take lexbor 0.2 s at worst
COPIES = 4_000_000  # bytes of formatting tags times all tags: at worst 190 MB of elements opened again
HARMLESS = 2_500  # with so few tags, small anchors do no harm
LONG = 64 << 10  # in shorter bodies the attributes of one tag cost 0.3 s at worst
REACH = 64 << 10


def heavy(body: bytes) -> bool:
    """Whether a tree of this page could take more time or memory than a page is worth."""
    tags = int(np.count_nonzero(np.frombuffer(body, np.uint8) == 0x3C))  # three times as fast as bytes.count
    if tags <= HARMLESS and not grammar.SUSPECT.search(body):
        return False
    if tags > TAGS:
        return True
    anchors = tags > HARMLESS or bool(grammar.LARGE_TAG.search(body))
    return _copied(body, grammar.FORMATTING_OR_ANCHOR if anchors else grammar.FORMATTING_ALONE) * tags > COPIES


def _copied(body: bytes, tag: re.Pattern[bytes]) -> int:
    """Bytes that may be opened again at every tag: all formatting tags, and the largest anchor.

    Every place where such a tag may begin is measured, even inside a comment: that only raises the bound.
    """
    found = tag.findall(body)
    anchor = max((len(rest) for name, rest in found if name), default=0)
    formatting = sum(len(rest) for name, rest in found if not name)
    if all(rest for _, rest in found):
        return anchor + formatting
    return anchor + formatting + _odd(body, tag)


def _odd(body: bytes, tag: re.Pattern[bytes]) -> int:
    """The same for tags whose attributes are not plain; one that does not end counts as COPIES bytes."""
    size = 0
    for found in tag.finditer(body):
        if not found["rest"]:
            rest = grammar.REST_OF_TAG.match(body, found.end(), found.end() + REACH)
            size += rest.end() - found.start() if rest else COPIES
            if size > COPIES:
                break
    return size


def defused(body: bytes) -> bytes:
    """The body, with every tag that has more than grammar.ATTRIBUTES attributes turned into text."""
    if not grammar.CROWDED_TAG.search(body):
        return body
    changed = bytearray(body)
    spent = 0
    for tag in grammar.START_OF_TAG.finditer(body):
        attributes = grammar.ATTRIBUTES_OF_TAG.match(body, tag.end(), tag.end() + REACH)
        end = attributes.end() if attributes else tag.end()
        spent += end - tag.end()
        if spent > 4 * len(body):  # tags within tags within tags: keep only what comes before them
            return bytes(changed[: tag.start()])
        if body[end : end + 1] != b">":
            changed[tag.start()] = 0x20
    return bytes(changed)
