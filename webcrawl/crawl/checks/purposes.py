"""The kind of value of PURPOSE."""

from __future__ import annotations

from typing import Any

from webcrawl.base.settings.setting_kinds import words
from webcrawl.content.preferences.purpose_bits import PURPOSES


class Purposes:
    """Names of purposes, in any order and case, or none."""

    allowed: str = f"some of {', '.join(PURPOSES)}, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = {word.lower() for word in words("" if value is None else value)}
        if unknown := sorted(found - set(PURPOSES)):
            raise ValueError(f"{', '.join(map(repr, unknown))} is no purpose")
        return tuple(purpose for purpose in PURPOSES if purpose in found)
