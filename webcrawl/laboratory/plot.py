"""Hit rates by the size of the cache, a line per policy, as an SVG file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2

from webcrawl.laboratory.names import NAMES
from webcrawl.laboratory.study import Row
from webcrawl.report.markup import Html, tag

WIDE, HIGH = 640, 400  # of the plot itself
LEFT, TOP, RIGHT, BOTTOM = 56, 24, 150, 48  # around it
# Okabe and Ito's colours, which colour-blind people tell apart; what cannot be had is dashed.
COLOURS = ("#000000", "#777777", "#0072b2", "#d55e00", "#56b4e9", "#999999", "#009e73", "#cc79a7", "#e69f00")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}path{fill:none}.grid{stroke:#ddd}.line{stroke-width:2}"
    "@media(prefers-color-scheme:dark){svg{background:#16181b}text{fill:#ddd}.grid{stroke:#333}"
    ".line[stroke='#000000']{stroke:#fff}}"
)


def plot(rows: Sequence[Row]) -> str:
    """The SVG document."""
    sizes = sorted({row.size for row in rows if row.policy != "INFINITE"})
    low, high = log2(sizes[0]), max(log2(sizes[-1]), log2(sizes[0]) + 1)

    def x(size: int) -> float:
        return LEFT + (log2(size) - low) / (high - low) * WIDE

    def y(rate: float) -> float:
        return TOP + (1 - rate) * HIGH

    shapes = [*_grid(y), *_sizes(sizes, x)]
    names = [name for name in NAMES if any(row.policy == name for row in rows)]
    for at, name in enumerate(names):
        found = sorted((row.size, row.hit_rate) for row in rows if row.policy == name)
        if name == "INFINITE":
            found = [(sizes[0], found[0][1]), (sizes[-1], found[0][1])]
        line = "M" + " L".join(f"{x(size):.1f} {y(rate):.1f}" for size, rate in found)
        look = {"stroke": COLOURS[NAMES.index(name)], "stroke_dasharray": "5 4" if name in NAMES[:2] else None}
        shapes.append(tag("path", tag("title", name), d=line, class_="line", **look))
        place = TOP + 12 + 20 * at
        shapes.append(tag("path", d=f"M{LEFT + WIDE + 12} {place - 4}h22", class_="line", **look))
        shapes.append(tag("text", name, x=str(LEFT + WIDE + 40), y=str(place)))
    size = {"width": str(LEFT + WIDE + RIGHT), "height": str(TOP + HIGH + BOTTOM)}
    return tag(
        "svg",
        tag("title", "Hit rates of URL caches by size"),
        tag("style", Html(STYLE)),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size['width']} {size['height']}",
        role="img",
        **size,
    )


def _grid(y: Callable[[float], float]) -> list[Html]:
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
