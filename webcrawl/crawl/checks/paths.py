"""Kinds of values that are paths of files and folders; and the port of the metrics, which are also had as a file."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from webcrawl.base.loading import missing
from webcrawl.base.settings.setting_kinds import Whole, is_none, text

LIBRARY = "prometheus_client"
MISSING = missing(LIBRARY)
ENDING = ".prom"
LOOPBACK = "127.0.0.1"
_PORT = Whole(1, 65_535)
_PLACE = re.compile(r"([0-9.]+|\[[0-9a-fA-F:.]+\]):([0-9]+)")


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
        if is_none(value):
            return None
        found = _path(value)
        if not Path(found).is_file():
            raise ValueError("there is no such file")
        if not os.access(found, os.R_OK):
            raise ValueError("it cannot be read")
        return found


class MarksFile:
    """Such a file with a table of marks; it is read to check it."""

    allowed: str = "the path of a table of marks, or none (docs/recognise.md)"

    def read(self, value: Any, /) -> str | None:
        found = File().read(value)
        if found is not None:
            from webcrawl.content.recognise import recogniser  # noqa: PLC0415 - else no check needs it

            recogniser(Path(found))
        return found


def _path(value: Any) -> str:
    found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if "\0" in found:
        raise ValueError("a path cannot contain a NUL")
    return found


class MetricsPort:
    """A port, on loopback or after an address of this machine; or none."""

    allowed: str = "a port from 1 to 65535, also after an address, as 0.0.0.0:9180 or [::1]:9180, or none"

    def read(self, value: Any, /) -> tuple[str, int] | None:
        if is_none(value):
            return None
        found = _PLACE.fullmatch(value.strip()) if isinstance(value, str) else None
        host, port = found.groups() if found else (None, value)
        address = str(ip_address(host.strip("[]"))) if host else LOOPBACK
        place = address, _PORT.read(port)
        _need_library()
        return place


class MetricsFile:
    """A file that can be written, or none."""

    allowed: str = f"the path of a file that ends in {ENDING}, in a folder that can be written to, or none"

    def read(self, value: Any, /) -> str | None:
        if is_none(value):
            return None
        found = _path(value)
        if Path(found).suffix != ENDING:  # node_exporter reads no others
            raise ValueError
        folder = Path(found).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ValueError(f"{folder} is not writable")
        if Path(found).is_dir():
            raise ValueError("it is a folder")
        _need_library()
        return found


def _need_library() -> None:
    if find_spec(LIBRARY) is None:
        raise ValueError(MISSING)
