"""Gopher's text (RFC 1436 3.7): lines, one that begins with a dot has another before it, a lone dot ends them."""

from __future__ import annotations

import re

_STUFFED = re.compile(rb"(?:\A|(?<=\n))\.\.")


def ends(tail: bytes) -> bool:
    """Whether the last bytes of an answer are its end."""
    return tail == b".\r\n" or tail.endswith(b"\n.\r\n")


def plain(text: bytes) -> bytes:
    """Without the last dot and the doubled ones. Many servers write neither: then nothing is taken away."""
    for end in (b".\r\n", b".\n", b"."):
        start = len(text) - len(end)
        if text.endswith(end) and text[max(start - 1, 0) : start] in (b"", b"\n"):
            return _STUFFED.sub(b".", text[:start])
    return text
