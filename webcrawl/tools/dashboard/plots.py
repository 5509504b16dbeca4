"""Plots as SVG for pages that allow no inline style: places are attributes, colours are classes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webcrawl.tools.dashboard.curves import Curve
from webcrawl.tools.report import numbers
from webcrawl.tools.report.charts import Axis, linear
from webcrawl.tools.report.markup import Html, tag

WIDE = 1000  # units of the drawing in both directions
TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


@dataclass(frozen=True)
class Line:
    """One curve: what it is called, its colour (of the style's c0 to c5), and what it is now, in words."""

    name: str
    colour: int
    curve: Curve
    now: str = ""
    filled: bool = False


def plot(
    title: str, lines: Sequence[Line], span: tuple[float, float], label: Callable[[float], str], *, top: float = 0
) -> Html:
    """Lines over a span of time. `top`: the least value that the upper edge stands for."""
    highest = max((value for line in lines for piece in line.curve for _, value in piece), default=0.0)
    y = linear(max(highest, top) * 1.02, label, least=1e-3)
    shapes = [shape for line in lines for shape in _line(line, span, y)]
    said = "; ".join(f"{line.name} {line.now}" for line in lines if line.now) or "no figures yet"
    return _figure(title, lines, shapes, span, y, said)


def stack(title: str, lines: Sequence[Line], span: tuple[float, float]) -> Html:
    """Shares of a whole, as curves of which each includes those before it."""
    y = Axis(0.0, 1.0, [(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")])
    shapes = [shape for line in reversed(lines) for shape in _area(line, span, y)]
    said = "; ".join(f"{line.name} {line.now}" for line in lines if line.now) or "no figures yet"
    return _figure(title, lines, shapes, span, y, said)


def spark(curve: Curve, span: tuple[float, float]) -> Html:
    """A small plot without words, beside a number that says the same."""
    highest = max((value for piece in curve for _, value in piece), default=0.0)
    shapes = _line(Line("", 0, curve, filled=True), span, Axis(0.0, max(highest, 1e-3), []))
    return tag(
        "svg", *shapes, viewBox=f"0 0 {WIDE} {WIDE}", preserveAspectRatio="none", class_="spark", aria_hidden="true"
    )


def _figure(
    title: str, lines: Sequence[Line], shapes: Sequence[Html], span: tuple[float, float], y: Axis, said: str
) -> Html:
    grid = [tag("path", class_="grid", d=f"M0 {_y(y, value):.1f}H{WIDE}") for value, _ in y.labels]
    drawing = tag("svg", *grid, *shapes, viewBox=f"0 0 {WIDE} {WIDE}", preserveAspectRatio="none")
    ys = [
        tag("text", text, x="0", y=f"{(1 - y.place(value)) * 100:.2f}%", dy="-4", class_="tick")
        for value, text in _some(y.labels)
    ]
    xs = [
        tag("text", text, x=f"{place * 100:.2f}%", y="100%", dy="16", class_=f"tick {side}")
        for place, text, side in _times(*span)
    ]
    keys = [tag("li", tag("span", class_=f"key c{line.colour}"), line.name, " ", tag("b", line.now)) for line in lines]
    canvas = tag("svg", drawing, *ys, *xs, class_="canvas", role="img", aria_label=f"{title}: {said}")
    alone = len(lines) == 1
    return tag(
        "figure",
        tag("figcaption", tag("h3", title), tag("b", lines[0].now, class_="now") if alone else None),
        None if alone else tag("ul", *keys, class_="keys"),
        canvas,
        class_="plot",
    )


def _some(labels: Sequence[tuple[float, str]]) -> Sequence[tuple[float, str]]:
    """Two or three labels of an axis, not at its ends: above the upper one is the caption."""
    inner = labels[1:-1]
    return inner[:: max(math.ceil(len(inner) / 3), 1)] or labels[-1:]


def _line(line: Line, span: tuple[float, float], y: Axis) -> list[Html]:
    strokes, below = [], []
    for piece in line.curve:
        points = [f"{_x(span, at):.1f} {_y(y, value):.1f}" for at, value in piece]
        strokes.append(f"M{' L'.join(points)}{'h0' if len(points) == 1 else ''}")
        below.append(f"M{_x(span, piece[0][0]):.1f} {WIDE} L{' L'.join(points)} L{_x(span, piece[-1][0]):.1f} {WIDE} Z")
    made = [tag("path", class_=f"line s{line.colour}", d=" ".join(strokes))]
    if line.filled:
        made.insert(0, tag("path", class_=f"fill f{line.colour}", d=" ".join(below)))
    return made if strokes else []


def _area(line: Line, span: tuple[float, float], y: Axis) -> list[Html]:
    paths = []
    for piece in line.curve:
        points = " L".join(f"{_x(span, at):.1f} {_y(y, value):.1f}" for at, value in piece)
        paths.append(f"M{_x(span, piece[0][0]):.1f} {WIDE} L{points} L{_x(span, piece[-1][0]):.1f} {WIDE} Z")
    return [tag("path", class_=f"share f{line.colour}", d=" ".join(paths))] if paths else []


def _x(span: tuple[float, float], at: float) -> float:
    return min(max((at - span[0]) / max(span[1] - span[0], 1e-9), 0.0), 1.0) * WIDE


def _y(axis: Axis, value: float) -> float:
    return (1 - axis.place(value)) * WIDE


def _times(begin: float, end: float) -> list[tuple[float, str, str]]:
    """Places of round times, local to whoever runs the dashboard, and how their labels stand."""
    wide = max(end - begin, 1.0)
    step = next((one for one in TIMES if wide / one <= 5), math.ceil(wide / 5 / 86_400) * 86_400)
    offset = time.localtime(end).tm_gmtoff or 0
    at = (math.ceil((begin + offset) / step) * step) - offset
    form = "%d %b" if step >= 86_400 else "%H:%M:%S" if step < 60 else "%H:%M" if wide <= 86_400 else "%d %b %H:%M"
    found = []
    while at <= end:
        place = (at - begin) / wide
        side = "first" if place < 0.04 else "last" if place > 0.96 else "mid"
        found.append((place, time.strftime(form, time.localtime(at)), side))
        at += step
    return found


def per_second(value: float) -> str:
    """A rate with as many digits as say something."""
    return f"{numbers.number(float(f'{value:.3g}'))}/s"


def bytes_per_second(value: float) -> str:
    return f"{numbers.size(value)}/s"
