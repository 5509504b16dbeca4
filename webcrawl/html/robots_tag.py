"""The header X-Robots-Tag: directives as in a robots meta element."""

from __future__ import annotations

from collections.abc import Iterable

_WITH_VALUES = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))


def directives(headers: Iterable[tuple[bytes, bytes]], agent: str = "") -> frozenset[str]:
    """Those that hold for all crawlers, and for the one of this name if there is one, in lower case.

    One that begins with a crawler's name and a colon is for that crawler alone, and so is all behind it in its header,
    up to the next name. The name may have a version, as in User-Agent; `*` is everybody's.
    """
    found: set[str] = set()
    named = {"*", agent.lower()} - {""}
    for name, value in headers:
        if name.lower() == b"x-robots-tag":
            ours = True
            for word in value.decode("latin-1").lower().split(","):
                before, colon, after = word.partition(":")
                if colon and _is_name(before.strip()):
                    ours, word = before.partition("/")[0].strip() in named, after  # noqa: PLW2901
                if ours:
                    found.add(word.strip())
    return frozenset(found - {""})


def _is_name(text: str) -> bool:
    """Whether this is no directive with a value, nor the part of a date between a comma and its minutes."""
    return text not in _WITH_VALUES and not text.isdecimal() and len(text.split()) < 2
