"""The commands that make something of what a crawl has left, for its last lines."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from pathlib import Path

from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import program
from webcrawl.store.jobdir.crawls import for_reading

READABLE = ("text", "tables", "index")  # what people and programs read, and a crawl leaves out unless it is asked


def next_commands(folder: Path, outputs: Collection[str]) -> list[str]:
    """One line for each; `outputs`: what the crawl has written."""
    lines, place, made = [], folder, [one for one in READABLE if one in outputs]
    if not made and "warc" in outputs:
        made = [one for one in READABLE if all(map(find_spec, LIBRARIES.get(one, ())))]
        place = for_reading(folder)
        options = f"-s OUTPUTS={shlex.quote(' '.join(made))} -s JOBDIR={_word(place)}"
        archives = " ".join(map(_word, [*_earlier(folder), folder]))
        lines.append(f"{', '.join(made)} of these pages: {program()} process {archives} {options}")
    return [*lines, *search_command(place, made), report_command(folder)]


def report_command(folder: Path) -> str:
    """The line for a report on a crawl or hive."""
    return f"report: {program()} report {_word(folder)}"


def _earlier(folder: Path) -> Iterable[Path]:
    """The archives of `-a since`, oldest first: of an unchanged page the crawl's own has a reference to them."""
    from webcrawl.record.since.sources import FOLDER, read_kept  # noqa: PLC0415 - not before the end of a crawl

    indexes = [Path(sign.path) for sign in read_kept(folder / "state" / FOLDER) or ()]
    return dict.fromkeys(index.parent for index in indexes if any(index.parent.glob("*.warc*")))


def search_command(folder: Path, outputs: Collection[str]) -> list[str]:
    """The line for it, if these outputs make it possible."""
    return [f"search: {program()} search {_word(folder)} WORDS"] if "index" in outputs else []


def _word(path: Path) -> str:
    return shlex.quote(str(path))
