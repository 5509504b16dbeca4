"""Retry-After (RFC 9110 10.2.3): seconds, or a date."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after(value: bytes | None, now: float) -> float:
    """Seconds to wait from `now`; 0 if the header is missing or invalid."""
    text = (value or b"").decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # as in the old forms of dates: HTTP knows no time but UTC
            date = date.replace(tzinfo=UTC)
        return max(date.timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return 0.0
