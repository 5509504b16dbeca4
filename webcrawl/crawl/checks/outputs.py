"""The kinds of values of OUTPUTS and OUTPUT_STORE."""

from __future__ import annotations

from typing import Any

from webcrawl.base.outputs import BESIDE, BRINGS, NAMES
from webcrawl.base.settings.setting_kinds import words
from webcrawl.record.objectstore.place import ALLOWED, check_packages, read_address


class Outputs:
    """Names of outputs, in any order and case, or none."""

    allowed: str = f"some of {', '.join(NAMES)}, or none"

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = {word.lower() for word in words(value)}
        if unknown := sorted(found - set(NAMES)):
            raise ValueError(f"{', '.join(map(repr, unknown))} does not exist")
        for name in sorted(found & BESIDE.keys()):
            if BESIDE[name] not in found:
                raise ValueError(f"{name} is written beside {BESIDE[name]}, and not without it")
        found.update(BRINGS[name] for name in found & BRINGS.keys())
        return tuple(name for name in NAMES if name in found)


class OutputStore:
    """The address of a store, or None."""

    allowed: str = ALLOWED

    def read(self, value: Any, /) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise TypeError
        if value.strip().lower() == "none":
            return None
        address = read_address(value.strip())
        check_packages(address)
        return address
