"""Numbers on a command line."""

from __future__ import annotations

from scrapy.exceptions import UsageError

DIGITS = 20


def whole(option: str, text: str, least: int, most: int) -> int:
    """A whole number within bounds. UsageError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS and least <= int(text) <= most):
        raise UsageError(f"{option} {text}: must be a whole number from {least} to {most}", print_help=False)
    return int(text)
