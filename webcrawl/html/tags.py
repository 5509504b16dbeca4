"""The start tags of a document as they are written, found without building its tree.

Comments, scripts and other raw text are left out. What looks like a tag in an attribute's value counts too. On real
pages that makes one tag in five hundred, for half the time of a tree (docs/decisions/tags.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TAG = re.compile(rb"<([a-z][^\s/>\0]*)")
_RAW = re.compile(rb"<(?:!--|(script|style|textarea|title|xmp|iframe|noembed|noframes|plaintext)(?=[\s/>]))")


def start_tags(html: bytes) -> list[bytes]:
    """The names of all start tags, in lower case, in their order; in time proportional to the size."""
    found: list[bytes] = []
    for piece in _markup(html.lower()):
        found += _TAG.findall(piece)
    return found


def _markup(html: bytes) -> Iterator[bytes]:
    """The pieces of the markup between comments and the contents of elements that hold no tags."""
    begin = 0
    while raw := _RAW.search(html, begin):
        yield html[begin : raw.end()]
        begin = html.find(b"</" + raw[1] if raw[1] else b"-->", raw.end())
        if begin < 0:
            return
    yield html[begin:]
