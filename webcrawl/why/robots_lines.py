"""On which line of a robots.txt a rule stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webcrawl.net.robots_lines import LIMIT, records
from webcrawl.net.robots_pattern import pattern_of

ENDS = re.compile(rb"\r\n|\r|\n")
TOKEN = re.compile(rb"[A-Za-z_-]*")
LONGEST = 200  # bytes of a line that are quoted
MARKS = (b"\xff\xfe", b"\xfe\xff")


def line_of(body: bytes, agent: str, pattern: str, *, allows: bool) -> tuple[int, str]:
    """The number of the first line in this crawler's group that gives this pattern, and the line; 0 if none does."""
    lines = list(_records(body[:LIMIT]))
    token = agent.lower().encode()
    ours = any(kind == "user-agent" and _is_ours(value, token) for _, kind, value, _ in lines)
    within = closed = False
    for number, kind, value, line in lines:
        if kind == "user-agent":
            if closed:
                within = closed = False
            within = within or (_is_ours(value, token) if ours else value[:1] == b"*" and not value[1:2].strip())
        elif kind in ("allow", "disallow"):
            closed = True
            if within and (kind == "allow") is allows and _gives(pattern_of(value), pattern, allows=allows):
                return number, line.strip()[:LONGEST].decode("utf-8", "replace")
    return 0, ""


def _records(body: bytes) -> Iterator[tuple[int, str, bytes, bytes]]:
    if body[:2] in MARKS:
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    for number, line in enumerate(ENDS.split(body), 1):
        for kind, value in records(line):
            yield number, kind, value, line


def _is_ours(value: bytes, token: bytes) -> bool:
    match = TOKEN.match(value)
    return bool(token) and match is not None and match[0].lower() == token


def _gives(given: str, pattern: str, *, allows: bool) -> bool:
    """Whether a rule brings this pattern: allowing /a/index.html allows /a/, too."""
    if given == pattern:
        return True
    folder, _, page = given.rpartition("/")
    return allows and page.startswith("index.htm") and pattern == f"{folder}/$"
