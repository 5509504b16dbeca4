"""Crawlers on PyPI: pip installs each into a venv of its own, which has nothing of webcrawl."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.peers.peer import step


def install(folder: Path, requirement: str) -> None:
    """Install a requirement into the venv of that folder, which is made if there is none.

    Raise Missing if pip cannot.
    """
    if not (folder / "venv").exists():
        step(folder, sys.executable, "-m", "venv", "venv")
    step(folder, "venv/bin/pip", "install", "-q", requirement)


def python(folder: Path) -> str:
    """Return the path of the venv's interpreter."""
    return str(folder / "venv/bin/python")
