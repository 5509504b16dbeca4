"""Content types: one form for each, and the few groups that a figure can show."""

from __future__ import annotations

from webcrawl.base.percent_encoding import visible

NO_TYPE = "no-type"  # as in crawl.log
LONGEST = 80  # characters of a type
GROUPS = ("HTML", "other text", "images", "audio and video", "PDF", "other")
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_STARTS = (("text/", 1), ("image/", 2), ("audio/", 3), ("video/", 3), ("application/pdf", 4))
_TEXT = ("json", "xml", "javascript")


def kind_of(content_type: str) -> str:
    """The type without its parameters, in lower case; of a header or of a line in crawl.log alike."""
    return visible(content_type.partition(";")[0].strip()).lower()[:LONGEST] or NO_TYPE


def group_of(kind: str) -> int:
    """The position in GROUPS of a type as `kind_of` gives it."""
    if kind in _HTML:
        return 0
    for start, group in _STARTS:
        if kind.startswith(start):
            return group
    return 1 if kind.endswith(_TEXT) else 5
