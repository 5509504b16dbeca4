"""Rows of the tables in docs/performance.md, of which pictures are made."""

from __future__ import annotations

from pathlib import Path

PERFORMANCE = Path(__file__).parents[1] / "performance.md"


def rows(first: str) -> list[list[str]]:
    """Return the cells of the table whose first heading this is, without its headings.

    Raise ValueError if no table has it.
    """
    lines = PERFORMANCE.read_text(encoding="utf-8").splitlines()
    begin = next((at for at, line in enumerate(lines) if line.startswith(f"| {first} |")), None)
    if begin is None:
        raise ValueError(f"{PERFORMANCE.name} has no table that begins with {first!r}")
    found = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def number(cell: str) -> float:
    """Return the number of a cell such as `2,444`."""
    return float(cell.replace(",", ""))
