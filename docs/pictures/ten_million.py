"""Cost and memory of a crawl of ten million pages: a table of docs/performance.md."""

from __future__ import annotations

import re

from docs.pictures.draw import Picture
from docs.pictures.tables import number, rows

LEFT, WIDE, HIGH = 60, 660, 130  # pixels, of each of the two plots
ALL = 10_000  # thousands of pages


def drawn() -> str:
    measured = rows("pages, thousands")
    spans = [_span(row[0]) for row in measured]
    picture = Picture("Cost and memory of a crawl of ten million pages", 424)
    for name, column, top, marks in (
        ("CPU per page, µs", 1, 50, (0, 250, 500, 750, 1000)),
        ("memory, MiB", 2, 240, (0, 100, 200, 300, 400, 500)),
    ):
        picture.text(16, top - 18, name, "strong")
        for mark in marks:
            y = top + HIGH * (1 - mark / marks[-1])
            picture.path((LEFT, y), (LEFT + WIDE, y), look="grid")
            picture.text(LEFT - 8, y + 5, f"{mark}", "quiet", "end")
        for (begin, end), row in zip(spans, measured, strict=True):
            left, right = LEFT + begin / ALL * WIDE, LEFT + end / ALL * WIDE
            y = top + HIGH * (1 - number(row[column]) / marks[-1])
            picture.bar(round(left, 1), round(y - 3, 1), round(max(right - left, 7), 1), 6, "c0")
            # the first two spans are short: their figures stand below and above
            below = begin == 0
            x = LEFT + 4 if below else (left + right) / 2
            picture.text(
                x, y + (22 if below else -9), row[column], "", "start" if below else "middle"
            )
    for million in range(0, 11, 2):
        picture.text(LEFT + million / 10 * WIDE, 390, f"{million}", "quiet", "middle")
    picture.text(
        LEFT + WIDE / 2,
        411,
        "million pages fetched; each bar is a measured span",
        "quiet",
        "middle",
    )
    return picture.svg()


def _span(cell: str) -> tuple[float, float]:
    """Return the thousands of pages between which a row was measured; `to 100` begins at 0."""
    numbers = [number(one) for one in re.findall(r"[\d,]+", cell)]
    return (0.0, numbers[0]) if cell.startswith("to ") else (numbers[0], numbers[1])
