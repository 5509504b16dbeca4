"""The kinds of values of METRICS_PORT and METRICS_FILE, which need a library that is optional."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webcrawl.base.libraries import missing
from webcrawl.base.settings.setting_kinds import MaybeWhole, text

LIBRARY = "prometheus_client"
MISSING = missing(LIBRARY)
ENDING = ".prom"
_PORT = MaybeWhole(1, 65_535)


class MetricsPort:
    """A port, or none."""

    allowed: str = _PORT.allowed

    def read(self, value: Any, /) -> int | None:
        found = _PORT.read(value)
        if found is not None:
            _need_library()
        return found


class MetricsFile:
    """A file that can be written, or none."""

    allowed: str = f"the path of a file that ends in {ENDING}, in a folder that can be written to, or none"

    def read(self, value: Any, /) -> str | None:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none")):
            return None
        found = text(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if "\0" in found or Path(found).suffix != ENDING:  # node_exporter reads no others
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
