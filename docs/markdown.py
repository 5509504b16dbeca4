"""Pieces of the pages that the scripts beside this one write."""  # noqa: INP001 - beside the pages

from __future__ import annotations

import inspect
from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table; a bar within a cell does not end it."""
    cells = "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (head, *rows))
    first, end, rest = cells.partition("\n")
    return f"{first}{end}|{'---|' * len(head)}\n{rest}"


def first_paragraph(documented: object) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
