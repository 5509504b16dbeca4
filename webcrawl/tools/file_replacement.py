"""Replaces a text file as a whole: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def replace_file(path: Path, lines: Iterable[str]) -> None:
    """Write a file under another name, and rename it once it is complete."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("x", encoding="utf-8") as file:  # follows no link that was put there
            file.writelines(lines)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
