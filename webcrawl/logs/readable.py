"""Text as a person or a terminal may have it: what is not printable is spelled, so that it can do nothing."""

from __future__ import annotations

import logging
import re

# Controls, halves of surrogate pairs, what ends a line for one program or another (U+0085, U+2028 and U+2029 do for
# Python), and marks that turn the direction of what follows them (UAX #9 2), with their likes that nobody sees.
STRANGE = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]"
_STRANGE = re.compile(STRANGE)
_WITHIN_LINES = re.compile(rf"(?!\n){STRANGE}")


def readable(text: str, *, lines: bool = False) -> str:
    r"""One line of it, `\xNN` and `\uNNNN` for what is strange; with `lines` its line ends stay."""
    return text if text.isprintable() else (_WITHIN_LINES if lines else _STRANGE).sub(spelled, text)


def spelled(match: re.Match[str]) -> str:
    """A character of the first 65,536 by its number."""
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class ReadableFormatter(logging.Formatter):
    """Another formatter's lines, made readable: the message of somebody's error may be a page's title."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return readable(self.inner.format(record), lines=True)
