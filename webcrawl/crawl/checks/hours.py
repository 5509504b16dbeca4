"""The kind of value that is times of the day."""

from __future__ import annotations

import re
from typing import Any

from webcrawl.base.settings.setting_kinds import is_none

DAY = 24 * 60  # minutes
_SPAN = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


class Hours:
    """Spans of the day, as minutes since midnight: the first, and the one at which it is over."""

    @property
    def allowed(self) -> str:
        return "spans of the day in UTC, such as 22:00-06:00,12:00-13:30; none: no hours"

    def read(self, value: Any, /) -> list[tuple[int, int]]:
        if is_none(value):
            return []
        spans = [_span(text.strip()) for text in str(value).split(",")]
        if len({(begin + minute) % DAY for begin, end in spans for minute in range((end - begin) % DAY)}) == DAY:
            raise ValueError  # nothing would ever be fetched
        return spans


def _span(text: str) -> tuple[int, int]:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError
    hour, minute, last_hour, last_minute = map(int, found.groups())
    begin, end = 60 * hour + minute, 60 * last_hour + last_minute
    if begin == end:
        raise ValueError  # a day, or nothing at all
    return begin, end
