"""stats.json: the figures of a crawl or hive, replaced as a whole at each checkpoint. Nothing reads it back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webcrawl.store.errors import DamagedFile
from webcrawl.store.regular import regular

NAME = "stats.json"
UNREACHED = "unreached"  # why the seeds gave nothing, a line per kind of reason: of a crawl that ended with nothing
LARGEST = 1 << 24  # bytes that are read


def write(jobdir: Path, text: str) -> None:
    """Replaces the file. OSError: the one before stays."""
    new = jobdir / f"{NAME}.new"
    new.write_text(text, encoding="utf-8")
    new.replace(jobdir / NAME)


def plain(figures: Mapping[str, Any]) -> str:
    """A name per line."""
    return f"{json.dumps(figures, indent=1)}\n"


def read(jobdir: Path) -> dict[str, Any]:
    """The figures; none if the file is missing, for a user may delete it, or cannot be read."""
    try:
        with regular(jobdir / NAME) as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def stamp(jobdir: Path) -> tuple[int, int]:
    """What changes when the figures are written: an older file says nothing of a crawl."""
    try:
        about = (jobdir / NAME).stat()
    except FileNotFoundError:
        return 0, 0
    return about.st_ino, about.st_mtime_ns


def check(jobdir: Path) -> Iterator[DamagedFile]:
    """The file may be missing."""
    path = jobdir / NAME
    try:
        with regular(path) as file:
            found = json.load(file)
        if not isinstance(found, dict):
            yield DamagedFile(path, 0, "not a mapping")
    except FileNotFoundError:
        return
    except ValueError as error:
        yield DamagedFile(path, getattr(error, "pos", 0), str(error))
