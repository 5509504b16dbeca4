"""Lines from 0 to 100 %, such as hit rates by the size of the cache, as an SVG file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from webcrawl.base.markup import Html, tag
from webcrawl.lab.studies import NAMES
from webcrawl.lab.studies.cache_study import Row

WIDE, HIGH = 640, 400  # of the plot itself
LEFT, TOP, RIGHT, BOTTOM = 56, 24, 150, 48  # around it
# Okabe and Ito's colours, which colour-blind people tell apart; what cannot be had is dashed.
COLOURS = ("#000000", "#777777", "#0072b2", "#d55e00", "#56b4e9", "#999999", "#009e73", "#cc79a7", "#e69f00")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}path{fill:none}.grid{stroke:#ddd}.line{stroke-width:2}"
    "@media(prefers-color-scheme:dark){svg{background:#16181b}text{fill:#ddd}.grid{stroke:#333}"
    ".line[stroke='#000000']{stroke:#fff}}"
)


def plot_caches(rows: Sequence[Row]) -> str:
    """The SVG document."""
    sizes = sorted({row.size for row in rows if row.policy != "INFINITE"} or {1, *(row.size for row in rows)})
    low, high = log2(sizes[0]), max(log2(sizes[-1]), log2(sizes[0]) + 1)

    def x(size: int) -> float:
        return LEFT + (log2(size) - low) / (high - low) * WIDE

    lines = []
    for name in (name for name in NAMES if any(row.policy == name for row in rows)):
        found = sorted((row.size, row.hit_rate) for row in rows if row.policy == name)
        if name == "INFINITE":
            found = [(sizes[0], found[0][1]), (sizes[-1], found[0][1])]
        points = [(x(size), y(rate)) for size, rate in found]
        lines.append(Line(name, points, COLOURS[NAMES.index(name)], dashed=name in NAMES[:2]))
    return drawing("Hit rates of URL caches by size", lines, _sizes(sizes, x))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot, by its places in the drawing."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False


def y(share: float) -> float:
    """The height at which a share from 0 to 1 is drawn."""
    return TOP + (1 - share) * HIGH


def drawing(title: str, lines: Sequence[Line], below: Sequence[Html]) -> str:
    """An SVG document with these lines, their names beside them, and what is written below."""
    shapes = [*_grid(), *below]
    for at, one in enumerate(lines):
        line = "M" + " L".join(f"{across:.1f} {height:.1f}" for across, height in one.points)
        look = {"stroke": one.colour, "stroke_dasharray": "5 4" if one.dashed else None}
        shapes.append(tag("path", tag("title", one.name), d=line, class_="line", **look))
        place = TOP + 12 + 20 * at
        shapes.append(tag("path", d=f"M{LEFT + WIDE + 12} {place - 4}h22", class_="line", **look))
        shapes.append(tag("text", one.name, x=str(LEFT + WIDE + 40), y=str(place)))
    size = {"width": str(LEFT + WIDE + RIGHT), "height": str(TOP + HIGH + BOTTOM)}
    return tag(
        "svg",
        tag("title", title),
        tag("style", Html(STYLE)),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size['width']} {size['height']}",
        role="img",
        **size,
    )


def _grid() -> list[Html]:
    shapes = []
    for tenth in range(0, 11, 2):
        height = y(tenth / 10)
        shapes.append(tag("path", d=f"M{LEFT} {height:.1f}h{WIDE}", class_="grid"))
        shapes.append(tag("text", f"{tenth * 10} %", x=str(LEFT - 8), y=f"{height + 4:.1f}", text_anchor="end"))
    return shapes


def _sizes(sizes: Sequence[int], x: Callable[[int], float]) -> list[Html]:
    every = max((len(sizes) + 9) // 10, 1)
    shapes = [
        tag("text", f"{size:,}", x=f"{x(size):.1f}", y=str(TOP + HIGH + 18), text_anchor="middle")
        for size in sizes[::every]
    ]
    middle = str(LEFT + WIDE // 2)
    return [*shapes, tag("text", "entries of the cache", x=middle, y=str(TOP + HIGH + 38), text_anchor="middle")]
