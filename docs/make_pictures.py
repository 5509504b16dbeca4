"""Draws the pictures of the documents, docs/pictures/*.svg: `python docs/make_pictures.py`.

Each module of docs/pictures/ draws one from the code, from its settings or from a table of a page.
"""  # noqa: INP001 - a script beside the pages that show its pictures

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # as a script it finds the packages beside docs/

NAMES = (
    "hive-batches",
    "hive-places",
    "host-health",
    "host-states",
    "kill",
    "peers",
    "politeness",
    "progress-line",
    "ten-million",
    "url-life",
)
PICTURES: dict[str, Callable[[], str]] = {
    name: import_module(f"docs.pictures.{name.replace('-', '_')}").drawn for name in NAMES
}


if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (DOCS / "pictures" / f"{name}.svg").write_text(drawn(), encoding="utf-8")
