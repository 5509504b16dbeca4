"""Draws diagrams as SVG: boxes, arrows, bars and texts.

A picture brings its own background and follows the reader's light or dark scheme, so it can be read
on any page. Its texts are texts, which can be selected and searched.
"""

from __future__ import annotations

import math
from itertools import pairwise

from webcrawl.base.markup import Html, tag

WIDE = 760  # pixels: the column of the documents' site
# pixels, of DejaVu Sans, the widest of the usual fonts: a little more than the mean of small letters, of capitals
SMALL, CAPITAL = 7.0, 8.6
MONO = 8.43  # pixels: a character of the usual fixed fonts at 14 pixels
LINE = 19
HEAD = 9  # the length of an arrow's head

# Okabe and Ito's colours, as in webcrawl/tools/report/charts.py, lighter on a dark background
STYLE = """
text{font:14px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.mono{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.strong{font-weight:600}
.quiet{fill:#59636e}
.paper{fill:#fff}
.box{fill:#f3f5f7;stroke:#59636e}
.kept{fill:#dcecf7;stroke:#0072b2}
.frame{fill:none;stroke:#0072b2;stroke-dasharray:6 4}
.line{fill:none;stroke:#59636e;stroke-width:1.5}
.head{fill:#59636e}
.grid{fill:none;stroke:#d8dde2}
.c0{fill:#0072b2}
.c1{fill:#d55e00}
.c2{fill:#a9b1ba}
.lost{fill:#d55e00;fill-opacity:.25}
.curve{fill:none;stroke:#0072b2;stroke-width:2.5}
.kill{fill:none;stroke:#d55e00;stroke-width:2}
@media(prefers-color-scheme:dark){
text{fill:#e6edf3}
.quiet{fill:#9ea7b3}
.paper{fill:#16181b}
.box{fill:#24292f;stroke:#9ea7b3}
.kept{fill:#12344d;stroke:#56b4e9}
.frame{stroke:#56b4e9}
.line{stroke:#9ea7b3}
.head{fill:#9ea7b3}
.grid{stroke:#363c44}
.c0{fill:#56b4e9}
.c1{fill:#e69f00}
.c2{fill:#6b7480}
.lost{fill:#e69f00}
.curve{stroke:#56b4e9}
.kill{stroke:#e69f00}
}
"""


class Picture:
    """Shapes on a background; later ones lie above earlier ones."""

    def __init__(self, title: str, high: float) -> None:
        self.high = high
        self._shapes = [
            tag("title", title),
            tag("style", Html(STYLE)),
            tag("rect", class_="paper", width="100%", height="100%", rx="6"),
        ]

    def text(self, x: float, y: float, words: str, look: str = "", anchor: str = "start") -> None:
        """Write one line whose baseline is at `y`.

        Raise ValueError if it may leave the picture.
        """
        wide = len(words) * MONO if "mono" in look else _width(words)
        left = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        if left < 0 or left + wide > WIDE or not LINE / 2 < y < self.high:
            raise ValueError(f"{words!r} at {x:g}, {y:g} does not fit into the picture")
        self._add("text", words, x=x, y=y, class_=look or None, text_anchor=anchor)

    def box(
        self, x: float, y: float, wide: float, high: float, *lines: str, look: str = ""
    ) -> None:
        """Draw a box with lines of text in its middle, the first of them strong.

        Raise ValueError if one may be too wide.
        """
        if any(_width(line) > wide for line in lines):
            raise ValueError(f"{max(lines, key=len)!r} does not fit into {wide:g} pixels")
        self.bar(x, y, wide, high, look or "box", round_by=5)
        first = y + high / 2 + 5 - (len(lines) - 1) * LINE / 2
        for at, line in enumerate(lines):
            look_of_line = "quiet" if at else "strong"
            self.text(x + wide / 2, first + at * LINE, line, look_of_line, "middle")

    def bar(
        self, x: float, y: float, wide: float, high: float, look: str, round_by: float = 0
    ) -> None:
        """Draw a rectangle."""
        rx = round_by or None
        self._add("rect", x=x, y=y, width=wide, height=high, rx=rx, class_=look)

    def path(self, *points: tuple[float, float], look: str = "line") -> None:
        """Draw a line through these points."""
        self._add("path", d="M" + " L".join(f"{x:g} {y:g}" for x, y in points), class_=look)

    def arrow(self, *points: tuple[float, float]) -> None:
        """Draw a line through these points with a head at the last one."""
        (from_x, from_y), (x, y) = list(pairwise(points))[-1]
        length = math.hypot(x - from_x, y - from_y)
        along, across = (x - from_x) / length, (y - from_y) / length
        back_x, back_y = x - HEAD * along, y - HEAD * across
        self.path(*points[:-1], (round(back_x, 1), round(back_y, 1)))
        corners = (
            (x, y),
            (back_x - 4 * across, back_y + 4 * along),
            (back_x + 4 * across, back_y - 4 * along),
        )
        self._add("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_="head")

    def svg(self) -> str:
        """Return the picture as a document."""
        size = {"width": str(WIDE), "height": f"{self.high:g}"}
        view = f"0 0 {WIDE} {self.high:g}"
        body = Html("\n" + "\n".join(self._shapes) + "\n")
        namespace = "http://www.w3.org/2000/svg"
        return tag("svg", body, xmlns=namespace, viewBox=view, role="img", **size) + "\n"

    def _add(self, name: str, words: str | None = None, **attributes: float | str | None) -> None:
        given = {
            key: f"{value:g}" if isinstance(value, int | float) else value
            for key, value in attributes.items()
        }
        self._shapes.append(tag(name, words, **given))


def _width(words: str) -> float:
    return sum(CAPITAL if character.isupper() else SMALL for character in words)
