"""Draws charts as SVG: for pages of any width, and lines as a file of their own.

A drawing on a page is stretched to the width of the page. Labels are not part of it: they are texts
around it, at places in percent, so that they stay readable on a phone. Nothing has an inline style,
which the dashboard's pages do not allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag

# No library: matplotlib draws 40 KB per figure, without dark mode or selectable text, and is 50 MB;
# plotly and vega need megabytes of script.
DRAWING_SIZE = 1000  # units, in both directions
TICKS = 5  # labels of an axis, about
ROUNDING = 1e-9  # a quotient that is a whole number may come out so much larger or smaller
TIME_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))  # in seconds
SECOND = (1, "s")
MAX_COLUMN_LABELS = 12
MIN_PART_HEIGHT = 2  # units of the drawing: a part of a column is never invisible
COLUMN_GAP = 0.08  # of the place of a column, at each side
COLUMN_WIDTH = 0.84  # the rest of the place
EDGE = 0.02  # of an axis, at each end: a label there points inwards


@dataclass(frozen=True)
class ChartAxis:
    """A scale: it has the place of each value, and the values that have a label."""

    low: float
    high: float
    labels: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value on the axis, from 0 to 1."""
        low = self.low
        high = self.high
        if self.logarithmic:
            value = math.log10(value)
            low = math.log10(low)
            high = math.log10(high)
        return min(max((value - low) / (high - low), 0.0), 1.0)


def linear(high: float, label: Callable[[float], str], *, least: float = ROUNDING) -> ChartAxis:
    """Return a scale from 0 to a round number not below `high`.

    `label` returns the text of a value. The scale reaches to `least` in any case.
    """
    end = max(high, least)
    step = nice(end / TICKS)
    steps = max(math.ceil(end / step - ROUNDING), 1)
    values = [step * number for number in range(steps + 1)]
    return ChartAxis(0.0, values[-1], [(value, label(value)) for value in values])


def powers(low: float, high: float, label: Callable[[float], str]) -> ChartAxis:
    """Return a logarithmic scale from a power of ten not above `low` to one not below `high`."""
    first = math.floor(math.log10(max(low, 1)) + ROUNDING)
    last = max(math.ceil(math.log10(max(high, 1)) - ROUNDING), first + 1)
    step = max(math.ceil((last - first) / TICKS), 1)
    values = [10.0**exponent for exponent in range(first, last + 1, step)]
    return ChartAxis(
        10.0**first, 10.0**last, [(value, label(value)) for value in values], logarithmic=True
    )


def time_axis(duration: float) -> ChartAxis:
    """Return a scale from 0 to a number of seconds, in the unit that suits the duration."""
    fitting = (unit for unit in TIME_UNITS if duration >= 3 * unit[0])
    unit_seconds, word = next(fitting, SECOND)
    step = max(nice(duration / unit_seconds / TICKS), 1)
    labels = [
        (step * number * unit_seconds, f"{numbers.number(step * number)} {word}")
        for number in range(int(duration / unit_seconds / step) + 1)
    ]
    return ChartAxis(0.0, max(duration, 1e-3), labels)


def nice(step: float) -> float:
    """Return the smallest number not below `step` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(
        factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - ROUNDING)
    )


def area(
    values: Sequence[float],
    x_axis: ChartAxis,
    y_axis: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return a chart of a line in steps, with the area below it: one value per slot of equal width.

    `about` is the title and a description for screen readers. `units` are those of the axes.
    """
    slots = ChartAxis(0.0, max(len(values), 1), [])
    steps = [(float(edge), value) for slot, value in enumerate(values) for edge in (slot, slot + 1)]
    points = " L".join(
        f"{slots.place(edge) * DRAWING_SIZE:.1f} {_height(y_axis, value):.1f}"
        for edge, value in steps
    )
    outline = f"M0 {DRAWING_SIZE} L{points} L{DRAWING_SIZE} {DRAWING_SIZE} Z"
    shapes = [tag("path", class_="area", d=outline), tag("path", class_="line", d=f"M{points}")]
    return _chart(shapes if steps else [], x_axis, y_axis, about, units)


def dots(
    points: Iterable[tuple[float, float]],
    x_axis: ChartAxis,
    y_axis: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return a chart of dots; `about` and `units` are as for `area`.

    A dot is a line of no length with round ends: it stays round in a stretched drawing.
    """
    path = "".join(
        f"M{x_axis.place(x) * DRAWING_SIZE:.1f} {_height(y_axis, y):.1f}h0" for x, y in points
    )
    return _chart([tag("path", class_="dots", d=path)], x_axis, y_axis, about, units)


@dataclass(frozen=True)
class StackColumn:
    """A column of a histogram: a stack of parts, from below."""

    label: str  # below the column
    parts: Sequence[float]
    title: str  # shown while the pointer is on the column


def columns(
    stacks: Sequence[StackColumn],
    about: tuple[str, str],
    units: tuple[str, str],
    x_axis: ChartAxis | None = None,
) -> Html:
    """Return a histogram; `about` and `units` are as for `area`.

    An `x_axis` takes the place of the labels of the columns.
    """
    highest = max((sum(stack.parts) for stack in stacks), default=0)
    y_axis = linear(highest, numbers.number, least=TICKS)
    width = DRAWING_SIZE / max(len(stacks), 1)
    shapes = [_column(stack, place, width, y_axis) for place, stack in enumerate(stacks)]
    if x_axis is None:
        every = max(math.ceil(len(stacks) / MAX_COLUMN_LABELS), 1)
        labels = [
            (place + 0.5, stack.label) for place, stack in enumerate(stacks) if place % every == 0
        ]
        x_axis = ChartAxis(0, max(len(stacks), 1), labels)
    return _chart(shapes, x_axis, y_axis, about, units)


def _column(stack: StackColumn, place: int, width: float, y_axis: ChartAxis) -> Html:
    """Return the parts of a column, and a transparent shape on which the title is shown."""
    rects = []
    below = 0.0
    for kind, part in enumerate(stack.parts):
        top = _height(y_axis, below + part)
        bottom = _height(y_axis, below)
        below += part
        if part:
            rects.append(
                tag(
                    "rect",
                    class_=f"c{kind}",
                    y=f"{top:.1f}",
                    height=f"{max(bottom - top, MIN_PART_HEIGHT):.1f}",
                    x=f"{(place + COLUMN_GAP) * width:.1f}",
                    width=f"{COLUMN_WIDTH * width:.1f}",
                )
            )
    whole = tag(
        "rect",
        class_="hit",
        x=f"{place * width:.1f}",
        y="0",
        width=f"{width:.1f}",
        height=str(DRAWING_SIZE),
    )
    return tag("g", tag("title", stack.title), whole, *rects)


def legend(names: Sequence[str]) -> Html:
    """Return the names of the parts of columns, each with its colour, from below."""
    marks = [tag("li", tag("span", class_=f"key c{kind}"), name) for kind, name in enumerate(names)]
    return tag("ul", *marks, class_="legend")


def _height(axis: ChartAxis, value: float) -> float:
    """Return the vertical coordinate of a value. A logarithmic axis has 0 at its lower end."""
    if axis.logarithmic and value <= 0:
        return DRAWING_SIZE
    return (1 - axis.place(value)) * DRAWING_SIZE


def _chart(
    shapes: Sequence[Html],
    x_axis: ChartAxis,
    y_axis: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return shapes with a grid, labels, title and units; `about` and `units` are as for `area`."""
    title, description = about
    x_unit, y_unit = units
    drawing = tag(
        "svg",
        *_grid(x_axis, y_axis),
        *shapes,
        viewBox=f"0 0 {DRAWING_SIZE} {DRAWING_SIZE}",
        preserveAspectRatio="none",
    )
    y_labels = [
        tag(
            "text",
            text,
            x="-10",
            y=f"{(1 - y_axis.place(value)) * 100:.2f}%",
            dy="4",
            class_="last",
        )
        for value, text in y_axis.labels
    ]
    last = len(x_axis.labels) - 1
    x_labels = [
        tag(
            "text",
            text,
            x=f"{x_axis.place(value) * 100:.2f}%",
            y="100%",
            dy="18",
            class_=_label_classes(number, last, x_axis.place(value)),
        )
        for number, (value, text) in enumerate(x_axis.labels)
    ]
    canvas = tag(
        "svg",
        drawing,
        *y_labels,
        *x_labels,
        class_="plot",
        role="img",
        aria_label=f"{title}: {description}",
    )
    return tag(
        "figure",
        tag("figcaption", tag("b", title), " ", tag("span", y_unit, class_="unit")),
        canvas,
        tag("div", x_unit, class_="unit x"),
        class_="chart",
    )


def _grid(x_axis: ChartAxis, y_axis: ChartAxis) -> list[Html]:
    """Return a horizontal line per label, and vertical ones too if the x axis is logarithmic."""
    grid = [
        tag("path", class_="grid", d=f"M0 {_height(y_axis, value):.1f}H{DRAWING_SIZE}")
        for value, _ in y_axis.labels
    ]
    if x_axis.logarithmic:
        grid += [
            tag(
                "path",
                class_="grid",
                d=f"M{x_axis.place(value) * DRAWING_SIZE:.1f} 0V{DRAWING_SIZE}",
            )
            for value, _ in x_axis.labels
        ]
    return grid


def _label_classes(number: int, last: int, place: float) -> str:
    """Return the CSS classes of a label of the x axis.

    Labels at the edges point inwards, and every other label is hidden on narrow screens.
    """
    if place < EDGE:
        side = "first"
    elif place > 1 - EDGE:
        side = "last"
    else:
        side = "mid"
    is_hidden_on_phones = number % 2 == 1 and number != last
    return f"{side} alt" if is_hidden_on_phones else side


def both(*charts: Html | None) -> Html:
    """Return charts side by side, or one below the other where there is no room."""
    return tag("div", join(*charts), class_="pair")


# -- lines from 0 to 100 %, such as hit rates by the size of a cache, as an SVG file

# Pixels of the plot itself, and of the margins around it, which have the labels.
PLOT_WIDTH = 640
PLOT_HEIGHT = 400
LEFT = 56
TOP = 24
RIGHT = 150
BOTTOM = 48
# Okabe and Ito's colours, which colour-blind people can tell apart.
COLOURS = (
    "#000000",
    "#777777",
    "#0072b2",
    "#d55e00",
    "#56b4e9",
    "#999999",
    "#009e73",
    "#cc79a7",
    "#e69f00",
)
STYLE = (
    "svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#222}path{fill:none}.grid{stroke:#ddd}"
    ".line{stroke-width:2}@media(prefers-color-scheme:dark){svg{background:#16181b}text{fill:#ddd}.grid{stroke:#333}"
    ".line[stroke='#000000']{stroke:#fff}}"
)


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One line of a plot; both coordinates of its points are from 0 to 1."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False  # for bounds that no real program can reach


def plot_file(
    title: str, lines: Sequence[PlotLine], x_labels: Sequence[tuple[float, str]], x_unit: str
) -> str:
    """Return an SVG document with these lines, and their names beside them.

    `x_labels` have places from 0 to 1.
    """
    shapes = [*_plot_axes(x_labels, x_unit)]
    for number, line in enumerate(lines):
        shapes += _plot_line(line, number)
    size = {"width": str(LEFT + PLOT_WIDTH + RIGHT), "height": str(TOP + PLOT_HEIGHT + BOTTOM)}
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


def _plot_axes(x_labels: Sequence[tuple[float, str]], x_unit: str) -> Iterator[Html]:
    """Yield the grid with its percentages, then the labels below it and their unit."""
    for percent in range(0, 101, 20):
        y = _plot_y(percent / 100)
        yield tag("path", d=f"M{LEFT} {y:.1f}h{PLOT_WIDTH}", class_="grid")
        yield tag("text", f"{percent} %", x=str(LEFT - 8), y=f"{y + 4:.1f}", text_anchor="end")
    below = TOP + PLOT_HEIGHT
    for place, text in x_labels:
        yield tag("text", text, x=_plot_x(place), y=str(below + 18), text_anchor="middle")
    middle = str(LEFT + PLOT_WIDTH // 2)
    yield tag("text", x_unit, x=middle, y=str(below + 38), text_anchor="middle")


def _plot_line(line: PlotLine, number: int) -> Iterator[Html]:
    """Yield a line, then its mark and name in the legend at the right."""
    points = " L".join(f"{_plot_x(place)} {_plot_y(share):.1f}" for place, share in line.points)
    stroke = {"stroke": line.colour, "stroke_dasharray": "5 4" if line.dashed else None}
    yield tag("path", tag("title", line.name), d=f"M{points}", class_="line", **stroke)
    right = LEFT + PLOT_WIDTH
    y = TOP + 12 + 20 * number
    yield tag("path", d=f"M{right + 12} {y - 4}h22", class_="line", **stroke)
    yield tag("text", line.name, x=str(right + 40), y=str(y))


def _plot_x(place: float) -> str:
    return f"{LEFT + place * PLOT_WIDTH:.1f}"


def _plot_y(share: float) -> float:
    return TOP + (1 - share) * PLOT_HEIGHT
