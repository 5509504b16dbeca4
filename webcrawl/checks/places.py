"""Kinds of values that name files and folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webcrawl.checks.kinds import text


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is there or can be made."""

    allowed: str = "the path of a folder, there or not"

    def read(self, value: Any, /) -> str:
        found = _path(value)
        there = next(place for place in (Path(found), *Path(found).absolute().parents) if place.exists())
        if not there.is_dir():
            raise ValueError(f"{there} is no folder")
        return found


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be read, or none: what is named and missing is a slip of the pen, not no file."""

    allowed: str = "the path of a readable file, or none"

    def read(self, value: Any, /) -> str | None:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none")):
            return None
        found = _path(value)
        if not Path(found).is_file():
            raise ValueError("there is no such file")
        if not os.access(found, os.R_OK):
            raise ValueError("it cannot be read")
        return found


def _path(value: Any) -> str:
    found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if "\0" in found:
        raise ValueError("no path has a NUL")
    return found
