"""The kind of value that is a number of bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webcrawl.checks.kinds import Whole

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?B|B)(?:/s)?")
_POWERS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes, with or without a unit; 0, or none, is no limit."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a number of bytes from {self.least} to {self.most}, also as 500 kB or 2 GiB; 0 or none: no limit"

    def read(self, value: Any, /) -> int:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none")):
            return 0
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is not None:
            base = 1024 if found[2].endswith("iB") else 1000
            value = round(float(found[1]) * base ** _POWERS[found[2][0].upper()])
        size = Whole(0, self.most).read(value)
        if 0 < size < self.least:
            raise ValueError
        return size
