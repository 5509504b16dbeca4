"""Charts as SVG that stretches to any width, for pages of two kinds.

A report's labels are HTML with places as inline style, so that they stay readable on a phone. The dashboard's pages
allow no inline style: there places are attributes, and colours are classes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from webcrawl.tools.report import numbers
from webcrawl.tools.report.markup import Html, join, tag

WIDE = 1000  # units of the drawing in both directions
TICKS = 5
_numbers = count(1)
Curve = Sequence[Sequence[tuple[float, float]]]  # times and values, in pieces with gaps between them


@dataclass(frozen=True)
class Axis:
    """From a value to a place, and which values have a label."""

    low: float
    high: float
    labels: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Between 0 and 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        return min(max((value - low) / (high - low), 0.0), 1.0)


def linear(high: float, label: Callable[[float], str], *, least: float = 1e-9) -> Axis:
    """From 0 to a round number that is not below `high`; `label` makes the text of a value."""
    step = nice(max(high, least) / TICKS)
    steps = max(math.ceil(max(high, least) / step - 1e-9), 1)
    values = [step * at for at in range(steps + 1)]
    return Axis(0.0, values[-1], [(value, label(value)) for value in values])


def powers(low: float, high: float, label: Callable[[float], str]) -> Axis:
    """From a power of ten that is not above `low` to one that is not below `high`."""
    bottom = math.floor(math.log10(max(low, 1)) + 1e-9)
    top = max(math.ceil(math.log10(max(high, 1)) - 1e-9), bottom + 1)
    step = max(math.ceil((top - bottom) / TICKS), 1)
    values = [10.0**at for at in range(bottom, top + 1, step)]
    return Axis(10.0**bottom, 10.0**top, [(value, label(value)) for value in values], logarithmic=True)


def nice(step: float) -> float:
    """The next larger 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= step * (1 - 1e-9))


def area(values: Sequence[float], x: Axis, y: Axis, about: tuple[str, str], units: tuple[str, str]) -> Html:
    """A line with its area, one value per slot of equal width."""
    slots = Axis(0.0, max(len(values), 1), [])
    steps = [(float(edge), value) for at, value in enumerate(values) for edge in (at, at + 1)]
    return _plot(_drawn([steps] if steps else [], slots, y, line="line", below="area"), x, y, about, units)


def _drawn(curve: Curve, x: Axis, y: Axis, *, line: str = "", below: str = "") -> list[Html]:
    """The line through each piece of a curve, and the area below it, as paths of these classes."""
    strokes, areas = [], []
    for piece in curve:
        points = " L".join(f"{x.place(at) * WIDE:.1f} {_y(y, value):.1f}" for at, value in piece)
        first, last = (x.place(piece[end][0]) * WIDE for end in (0, -1))
        strokes.append(f"M{points}{'h0' if len(piece) == 1 else ''}")
        areas.append(f"M{first:.1f} {WIDE} L{points} L{last:.1f} {WIDE} Z")
    wanted = ((below, areas), (line, strokes))
    return [tag("path", class_=name, d=" ".join(paths)) for name, paths in wanted if name and paths]


def dots(
    points: Iterable[tuple[float, float]], x: Axis, y: Axis, about: tuple[str, str], units: tuple[str, str]
) -> Html:
    """One dot per point; lines of no length, because those stay round when the drawing is stretched."""
    path = "".join(f"M{x.place(one) * WIDE:.1f} {_y(y, other):.1f}h0" for one, other in points)
    return _plot([tag("path", class_="dots", d=path)], x, y, about, units)


@dataclass(frozen=True)
class Column:
    """A stack of parts, from below."""

    label: str
    parts: Sequence[float]
    title: str


def columns(
    stacks: Sequence[Column], y: Axis, about: tuple[str, str], units: tuple[str, str], x: Axis | None = None
) -> Html:
    """A histogram; every column says on demand what it is. `x`: what stands below instead of the columns' labels."""
    width = WIDE / max(len(stacks), 1)
    shapes = []
    for at, stack in enumerate(stacks):
        rects, below = [], 0.0
        for kind, part in enumerate(stack.parts):
            top, bottom = _y(y, below + part), _y(y, below)
            below += part
            if part:
                box = {"x": f"{(at + 0.08) * width:.1f}", "width": f"{0.84 * width:.1f}"}
                rects.append(
                    tag("rect", class_=f"c{kind}", y=f"{top:.1f}", height=f"{max(bottom - top, 2):.1f}", **box)
                )
        whole = tag("rect", class_="hit", x=f"{at * width:.1f}", y="0", width=f"{width:.1f}", height=str(WIDE))
        shapes.append(tag("g", tag("title", stack.title), whole, *rects))
    every = max(math.ceil(len(stacks) / 12), 1)
    labels = [(at + 0.5, stack.label) for at, stack in enumerate(stacks) if at % every == 0]
    return _plot(shapes, x or Axis(0, max(len(stacks), 1), labels), y, about, units)


def legend(names: Sequence[str]) -> Html:
    """The meaning of the colours of a stack."""
    marks = [tag("li", tag("span", class_=f"key c{at}"), name) for at, name in enumerate(names)]
    return tag("ul", *marks, class_="legend")


def _grid(y: Axis) -> list[Html]:
    return [tag("path", class_="grid", d=f"M0 {_y(y, value):.1f}H{WIDE}") for value, _ in y.labels]


def _y(axis: Axis, value: float) -> float:
    return (1 - axis.place(value)) * WIDE if value > 0 or not axis.logarithmic else WIDE


def _plot(shapes: Sequence[Html], x: Axis, y: Axis, about: tuple[str, str], units: tuple[str, str]) -> Html:
    """The drawing, its grid, and the labels at their places in percent; `about` is its title and description."""
    number = next(_numbers)
    grid = _grid(y)
    if x.logarithmic:
        grid += [tag("path", class_="grid", d=f"M{x.place(value) * WIDE:.1f} 0V{WIDE}") for value, _ in x.labels]
    drawing = tag(
        "svg",
        tag("title", about[0], id=f"t{number}"),
        tag("desc", about[1], id=f"d{number}"),
        *grid,
        *shapes,
        viewBox=f"0 0 {WIDE} {WIDE}",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"t{number} d{number}",
    )
    ys = [tag("span", text, style=f"top:{(1 - y.place(value)) * 100:.2f}%") for value, text in y.labels]
    last = len(x.labels) - 1
    xs = [
        tag("span", text, style=f"left:{x.place(value) * 100:.2f}%", class_=_side(at, last, x.place(value)))
        for at, (value, text) in enumerate(x.labels)
    ]
    hidden = {"aria_hidden": "true"}
    return tag(
        "figure",
        tag("figcaption", tag("b", about[0]), " ", tag("span", units[1], class_="unit")),
        tag("div", tag("div", *ys, class_="ys", **hidden), tag("div", drawing, class_="draw"), class_="plot"),
        tag("div", *xs, class_="xs", **hidden),
        tag("div", units[0], class_="unit x"),
        class_="chart",
    )


def _side(at: int, last: int, place: float) -> str | None:
    """Labels at the edges point inwards; every other one gives way on a narrow screen."""
    names = ["first"] * (place < 0.02) + ["last"] * (place > 0.98) + ["alt"] * (at % 2 == 1 and at != last)
    return " ".join(names) or None


def both(*charts: Html | None) -> Html:
    """Charts side by side, or one below the other where there is no room."""
    return tag("div", join(*charts), class_="pair")


# -- of the dashboard

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
    shapes = [shape for line in lines for shape in _line(line, _time(span), y)]
    return _figure(title, lines, shapes, span, y)


def stack(title: str, lines: Sequence[Line], span: tuple[float, float]) -> Html:
    """Shares of a whole, as curves of which each includes those before it."""
    y = Axis(0.0, 1.0, [(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")])
    shapes = [
        shape for line in reversed(lines) for shape in _drawn(line.curve, _time(span), y, below=f"share f{line.colour}")
    ]
    return _figure(title, lines, shapes, span, y)


def spark(curve: Curve, span: tuple[float, float]) -> Html:
    """A small plot without words, beside a number that says the same."""
    highest = max((value for piece in curve for _, value in piece), default=0.0)
    shapes = _line(Line("", 0, curve, filled=True), _time(span), Axis(0.0, max(highest, 1e-3), []))
    return tag(
        "svg", *shapes, viewBox=f"0 0 {WIDE} {WIDE}", preserveAspectRatio="none", class_="spark", aria_hidden="true"
    )


def _line(line: Line, x: Axis, y: Axis) -> list[Html]:
    return _drawn(line.curve, x, y, line=f"line s{line.colour}", below=f"fill f{line.colour}" if line.filled else "")


def _time(span: tuple[float, float]) -> Axis:
    return Axis(span[0], max(span[1], span[0] + 1e-9), [])


def _figure(title: str, lines: Sequence[Line], shapes: Sequence[Html], span: tuple[float, float], y: Axis) -> Html:
    said = "; ".join(f"{line.name} {line.now}" for line in lines if line.now) or "no figures yet"
    drawing = tag("svg", *_grid(y), *shapes, viewBox=f"0 0 {WIDE} {WIDE}", preserveAspectRatio="none")
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
