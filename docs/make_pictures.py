"""Draws the pictures of the documents, docs/pictures/*.svg: `python docs/make_pictures.py`.

Each module of docs/pictures/ draws one from the code, from its settings or from a table of a page.
"""  # noqa: INP001 - a script beside the pages that show its pictures

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # as a script it finds the packages beside docs/

from docs.pictures import (  # noqa: E402
    hive_letters,
    hive_places,
    host_health,
    host_states,
    kill,
    peers,
    politeness,
    progress_line,
    ten_million,
    url_life,
)

MODULES = (
    hive_letters,
    hive_places,
    host_health,
    host_states,
    kill,
    peers,
    politeness,
    progress_line,
    ten_million,
    url_life,
)
PICTURES: dict[str, Callable[[], str]] = {
    module.__name__.rpartition(".")[2].replace("_", "-"): module.drawn for module in MODULES
}


if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (DOCS / "pictures" / f"{name}.svg").write_text(drawn(), encoding="utf-8")
