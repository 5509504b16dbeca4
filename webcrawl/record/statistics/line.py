"""Statistics from the lines of crawl.log, for a crawl that has kept none."""

from __future__ import annotations

from calendar import timegm
from functools import lru_cache

from webcrawl.record.statistics.statistics import Statistics
from webcrawl.store.jobdir.crawl_line import DUPLICATE, NOTHING, TRUNCATED


def read_line(statistics: Statistics, fields: list[str]) -> None:
    """Adds a line, given as its fields; ValueError or IndexError if it is none."""
    when, status, size, url, path, _, kind, _, fetched, _, _, notes = fields
    path = "" if path == NOTHING else path
    if size == NOTHING:
        statistics.ended(int(status), url, path)
        return
    milliseconds = int(fetched.partition("+")[2])
    statistics.answered(int(status), url, path, _second(when[:19]) + int(when[20:23]), milliseconds, int(size), kind)
    if notes != NOTHING:
        for note in notes.split(","):
            if note == DUPLICATE:
                statistics.duplicate(int(size))
            elif note.startswith(TRUNCATED):
                statistics.truncated.add(note.removeprefix(TRUNCATED), int(size))


@lru_cache(64)
def _second(text: str) -> int:
    """Milliseconds since 1970 of a time to the second, as in 2011-06-23T17:12:08."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    return 1000 * timegm((year, month, day, int(text[11:13]), int(text[14:16]), int(text[17:19])))
