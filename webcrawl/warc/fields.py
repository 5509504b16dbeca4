"""Named fields of WARC records. No value can end its line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from webcrawl.text.percent import encoded

# What some reader takes for the end of a line, and what UTF-8 cannot encode. Any other text is allowed (WARC 1.1, 4).
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_IN_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


def fields(values: Mapping[str, str]) -> bytes:
    """One line per name that has a value. The names must be tokens."""
    lines = ""
    for name, value in values.items():
        if value:
            lines += f"{name}: {value if value.isprintable() else _harmless(value)}\r\n"
    return lines.encode()


def line(name: str, value: str) -> str:
    """One field as a line, or nothing if it has no value."""
    return f"{name}: {value if value.isprintable() else _harmless(value)}\r\n" if value else ""


def _harmless(value: str) -> str:
    return _BREAKING.sub(encoded, value)


def named(mapping: Mapping[str, str]) -> dict[str, str]:
    """The mapping with every name made a token."""
    return {
        name if name.isidentifier() and name.isascii() else _NOT_IN_NAME.sub("-", name) or "-": value
        for name, value in mapping.items()
    }
