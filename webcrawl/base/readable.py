"""Text and numbers for people in logs and terminals: without credentials, and on one line."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

UNITS = ("", "k", "M", "G", "T")
EXACT = 10_000  # smaller numbers are written out


def short(number: float) -> str:
    """Return 12345 as `12k`: at most four characters up to a thousand trillion, for numbers >= 0."""
    if number < EXACT:
        return str(int(number))
    power = 0
    while number >= 999.5 and power < len(UNITS) - 1:
        number /= 1000
        power += 1
    return f"{_rounded(number)}{UNITS[power]}"


def _rounded(number: float) -> str:
    """Return the number with one decimal below ten, and with none from ten on."""
    return f"{number:.{1 if number < 9.95 else 0}f}"


def megabytes(size: float) -> str:
    """Return bytes as `12.5 MB`, whatever their number: a column of them is easily compared."""
    return f"{size / 1e6:.1f} MB"


def count(number: int, noun: str, written: Callable[[int], str] = str) -> str:
    """Return a number and its noun: `1 page`, `2 pages`, `2 batches`."""
    if number != 1:
        noun += "es" if noun.endswith("ch") else "s"
    return f"{written(number)} {noun}"


def as_sentence(text: str) -> str:
    """Return the text with a capital and a full stop; empty if it is."""
    text = text.strip()
    if not text:
        return ""
    stop = "" if text.endswith(".") else "."
    return f"{text[:1].upper()}{text[1:]}{stop}"


TYPES_SHOWN = 6  # the others are one number


def by_type(counts: Mapping[str, int]) -> str:
    """Return the count of each media type, most frequent first: `9 application/pdf, 2 video/mp4`."""
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(number for _, number in most[TYPES_SHOWN:])
    others = [f"{rest} of other types"] if rest else []
    shown = [f"{number} {readable(kind)}" for kind, number in most[:TYPES_SHOWN]]
    return ", ".join(shown + others)


def pace(number: int, seconds: float) -> str:
    """Return the rate per second, with a decimal below ten, since a polite crawl may be slow."""
    rate = number / max(seconds, 0.1)
    return "<0.1" if 0 < rate < 0.05 else _rounded(rate)


# In the URL standard's special schemes any number of slashes and backslashes begins the authority,
# and a backslash ends it; in others it is exactly `//`, and a slash.
_SPECIAL = r"(?:https?|ftp|wss?):"
_WITHIN_URL = re.compile(
    rf"([\x00-\x20]*(?:{_SPECIAL}[/\\]*|[/\\]{{2,}}))[^/\\?#]*@"
    rf"|([\x00-\x20]*(?!{_SPECIAL})[a-z][a-z0-9+.-]*://)[^/?#]*@",
    re.IGNORECASE,
)
_WITHIN_TEXT = re.compile(r"""://[^\s/?#"'<>]*@""")
_IGNORED = str.maketrans("", "", "\t\n\r")  # a URL's parser removes them first


def url_without_credentials(url: str) -> str:
    """Return a URL, absolute or not, without the part before the `@` of its authority."""
    if "@" not in url:
        return url
    plain = url.translate(_IGNORED)
    match = _WITHIN_URL.match(plain)
    if match is None:
        return url
    # The first group is for special schemes, the second one for others
    start = match[1] or match[2]
    return start + plain[match.end() :]


def text_without_credentials(text: str) -> str:
    """Return a text without the credentials of the URLs in it."""
    return _WITHIN_TEXT.sub("://", text) if "@" in text else text


T = TypeVar("T")
LONGEST = 120  # characters that are shown of a value
# Control characters, surrogates, what some program takes for the end of a line (Python: U+0085,
# U+2028, U+2029), marks that change the direction of text (UAX #9 2), and other invisible marks.
STRANGE = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]"
_STRANGE = re.compile(STRANGE)
# How a cell begins that spreadsheets reckon out; those for East Asia take the wide signs too.
_FORMULAS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_WITHIN_LINES = re.compile(rf"(?!\n){STRANGE}")


def readable(text: str, *, lines: bool = False) -> str:
    r"""Return the text on one line, with strange characters as `\xNN` or `\uNNNN`.

    `lines` keeps its line ends.
    """
    if text.isprintable():  # as nearly every text is
        return text
    strange = _WITHIN_LINES if lines else _STRANGE
    return strange.sub(spelled, text)


def shortened(text: str) -> str:
    """Return the text as a line shows it that has others beside it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def in_sheet(value: T) -> T | str:
    """Return the value, with an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULAS else value


def spelled(match: re.Match[str]) -> str:
    """Return the matched character, of the first 65,536, as its escaped number."""
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class ReadableFormatter(logging.Formatter):
    """Escapes another formatter's output: exceptions may quote titles, or URLs with credentials."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return readable(text_without_credentials(self.inner.format(record)), lines=True)
