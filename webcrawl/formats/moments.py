"""Dates as sitemaps and feeds write them: W3C's profile of ISO 8601, RFC 3339, RFC 822."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 64  # characters
_PART = re.compile(r"(\d{4})(?:-(\d{1,2}))?$")  # a year, or a month of it


def seconds(written: str) -> float | None:
    """Seconds since 1970, UTC where no zone is given; None for what is no date."""
    text = written.strip()[:LONGEST]
    if not text:
        return None
    try:
        part = _PART.match(text)
        if part is not None:
            found = datetime(int(part[1]), int(part[2] or 1), 1, tzinfo=UTC)
        elif text[:4].isdecimal():
            found = datetime.fromisoformat(text)
        else:
            found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
