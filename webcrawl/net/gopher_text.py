"""Gopher's text format (RFC 1436 3.7): lines, leading dots doubled, ended by a lone dot."""

from __future__ import annotations

import re

_STUFFED = re.compile(rb"(?:\A|(?<=\n))\.\.")


def ends(tail: bytes) -> bool:
    """Whether these last bytes of an answer end it."""
    return tail == b".\r\n" or tail.endswith(b"\n.\r\n")


def plain(text: bytes) -> bytes:
    """The text without the final dot, leading dots undoubled; unchanged without a final dot, as from many servers."""
    for end in (b".\r\n", b".\n", b"."):
        start = len(text) - len(end)
        if text.endswith(end) and text[max(start - 1, 0) : start] in (b"", b"\n"):
            return _STUFFED.sub(b".", text[:start])
    return text
