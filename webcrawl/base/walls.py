"""The names of walls: what crawl.log and an exchange call an answer that is a wall and not the page."""

from __future__ import annotations

WALL, UNKNOWN = "wall:", "wall:unknown"


def wall_of(recognised: str | None) -> str:
    """The vendor of a wall, if this is the name of one that a mark of its vendor shows: words alone may err."""
    return recognised[len(WALL) :] if recognised and recognised.startswith(WALL) and recognised != UNKNOWN else ""
