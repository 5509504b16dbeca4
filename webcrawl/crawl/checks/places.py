"""Kinds of values that are paths of files and folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from webcrawl.base.settings.setting_kinds import text


class Folder:
    """A folder that exists or can be created, or none."""

    allowed: str = "the path of a folder, existing or not"

    def read(self, value: Any, /) -> str | None:
        if value is None:
            return None
        found = _path(value)
        there = next(place for place in (Path(found), *Path(found).absolute().parents) if place.exists())
        if not there.is_dir():
            raise ValueError(f"{there} is not a folder")
        return found


class File:
    """A readable file, or none. A named file that is missing is an error: the name is probably mistyped."""

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
        raise ValueError("a path cannot contain a NUL")
    return found
