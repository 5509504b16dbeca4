"""Named fields of WARC records: whatever a value holds, it stays on its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote_from_bytes

# What ends a line for some reader or other, and what UTF-8 cannot say. A value may be any other text (WARC 1.1, 4).
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_IN_URI = re.compile(r"[^!-~]+")
_NOT_IN_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


def fields(values: Mapping[str, str]) -> bytes:
    """A line for each name that has a value; the names are ours."""
    lines = ""
    for name, value in values.items():
        if value:
            lines += f"{name}: {value if value.isprintable() else _harmless(value)}\r\n"
    return lines.encode()


def line(name: str, value: str) -> str:
    """A field, nothing if it has no value."""
    return f"{name}: {value if value.isprintable() else _harmless(value)}\r\n" if value else ""


def _harmless(value: str) -> str:
    return _BREAKING.sub(_percent, value)


def named(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same with names that are tokens, whoever has thought them up."""
    return {
        name if name.isidentifier() and name.isascii() else _NOT_IN_NAME.sub("-", name) or "-": value
        for name, value in mapping.items()
    }


def uri(address: str) -> str:
    """An address as RFC 3986 wants it: ASCII, without blanks; what is neither is percent-encoded."""
    if address.isascii() and address.isprintable() and " " not in address:  # nearly all are, and searching is slower
        return address
    return _NOT_IN_URI.sub(_percent, address)


def _percent(match: re.Match[str]) -> str:
    return quote_from_bytes(match[0].encode("utf-8", "surrogatepass"), safe="")
