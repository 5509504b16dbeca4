"""Charts as SVG, for pages of any width; and a plot of lines as a file of its own.

The dashboard's pages do not allow inline style. A drawing on a page is stretched; labels are texts
around it, at places in percent, so that they stay readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag

# No library: matplotlib draws 40 KB per figure, without dark mode or selectable text, and is 50 MB;
# plotly and vega need megabytes of script.
WIDE = 1000  # units of the drawing in both directions
TICKS = 5


@dataclass(frozen=True)
class ChartAxis:
    """A scale: the way from a value to a place, and the values that have a label."""

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


def linear(high: float, label: Callable[[float], str], *, least: float = 1e-9) -> ChartAxis:
    """Return a scale from 0 to a round number not below `high`; `label` makes a value's text."""
    step = nice(max(high, least) / TICKS)
    steps = max(math.ceil(max(high, least) / step - 1e-9), 1)
    values = [step * at for at in range(steps + 1)]
    return ChartAxis(0.0, values[-1], [(value, label(value)) for value in values])


def powers(low: float, high: float, label: Callable[[float], str]) -> ChartAxis:
    """Return a scale from a power of ten not above `low` to one not below `high`."""
    bottom = math.floor(math.log10(max(low, 1)) + 1e-9)
    top = max(math.ceil(math.log10(max(high, 1)) - 1e-9), bottom + 1)
    step = max(math.ceil((top - bottom) / TICKS), 1)
    values = [10.0**at for at in range(bottom, top + 1, step)]
    return ChartAxis(
        10.0**bottom, 10.0**top, [(value, label(value)) for value in values], logarithmic=True
    )


def time_axis(lasted: float) -> ChartAxis:
    """Return a scale from 0 to so many seconds, in the unit that suits them."""
    unit, word = next(
        (one for one in ((86_400, "d"), (3600, "h"), (60, "min")) if lasted >= 3 * one[0]), (1, "s")
    )
    step = max(nice(lasted / unit / TICKS), 1)
    labels = [
        (step * at * unit, f"{numbers.number(step * at)} {word}")
        for at in range(int(lasted / unit / step) + 1)
    ]
    return ChartAxis(0.0, max(lasted, 1e-3), labels)


def nice(step: float) -> float:
    """Return the next larger 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= step * (1 - 1e-9))


def area(
    values: Sequence[float],
    x: ChartAxis,
    y: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return a line with its area, one value per slot of equal width."""
    slots = ChartAxis(0.0, max(len(values), 1), [])
    steps = [(float(edge), value) for at, value in enumerate(values) for edge in (at, at + 1)]
    points = " L".join(f"{slots.place(at) * WIDE:.1f} {_y(y, value):.1f}" for at, value in steps)
    shapes = [
        tag("path", class_="area", d=f"M0 {WIDE} L{points} L{WIDE} {WIDE} Z"),
        tag("path", class_="line", d=f"M{points}"),
    ]
    return _plot(shapes if steps else [], x, y, about, units)


def dots(
    points: Iterable[tuple[float, float]],
    x: ChartAxis,
    y: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return one dot per point, as lines of no length: they stay round in a stretched drawing."""
    path = "".join(f"M{x.place(one) * WIDE:.1f} {_y(y, other):.1f}h0" for one, other in points)
    return _plot([tag("path", class_="dots", d=path)], x, y, about, units)


@dataclass(frozen=True)
class StackColumn:
    """A stack of parts, from below."""

    label: str
    parts: Sequence[float]
    title: str


def columns(
    stacks: Sequence[StackColumn],
    about: tuple[str, str],
    units: tuple[str, str],
    x: ChartAxis | None = None,
) -> Html:
    """Return a histogram; every column says on demand what it is.

    `x`: what stands below instead of the columns' labels.
    """
    y = linear(max((sum(stack.parts) for stack in stacks), default=0), numbers.number, least=TICKS)
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
                    tag(
                        "rect",
                        class_=f"c{kind}",
                        y=f"{top:.1f}",
                        height=f"{max(bottom - top, 2):.1f}",
                        **box,
                    )
                )
        whole = tag(
            "rect",
            class_="hit",
            x=f"{at * width:.1f}",
            y="0",
            width=f"{width:.1f}",
            height=str(WIDE),
        )
        shapes.append(tag("g", tag("title", stack.title), whole, *rects))
    every = max(math.ceil(len(stacks) / 12), 1)
    labels = [(at + 0.5, stack.label) for at, stack in enumerate(stacks) if at % every == 0]
    return _plot(shapes, x or ChartAxis(0, max(len(stacks), 1), labels), y, about, units)


def legend(names: Sequence[str]) -> Html:
    """Return the meaning of the colours of a stack."""
    marks = [tag("li", tag("span", class_=f"key c{at}"), name) for at, name in enumerate(names)]
    return tag("ul", *marks, class_="legend")


def _grid(y: ChartAxis) -> list[Html]:
    return [tag("path", class_="grid", d=f"M0 {_y(y, value):.1f}H{WIDE}") for value, _ in y.labels]


def _y(axis: ChartAxis, value: float) -> float:
    return (1 - axis.place(value)) * WIDE if value > 0 or not axis.logarithmic else WIDE


def _plot(
    shapes: Sequence[Html],
    x: ChartAxis,
    y: ChartAxis,
    about: tuple[str, str],
    units: tuple[str, str],
) -> Html:
    """Return the drawing with its grid and labels; `about` is its title and description."""
    grid = _grid(y)
    if x.logarithmic:
        grid += [
            tag("path", class_="grid", d=f"M{x.place(value) * WIDE:.1f} 0V{WIDE}")
            for value, _ in x.labels
        ]
    drawing = tag("svg", *grid, *shapes, viewBox=f"0 0 {WIDE} {WIDE}", preserveAspectRatio="none")
    ys = [
        tag("text", text, x="-10", y=f"{(1 - y.place(value)) * 100:.2f}%", dy="4", class_="last")
        for value, text in y.labels
    ]
    last = len(x.labels) - 1
    xs = [
        tag(
            "text",
            text,
            x=f"{x.place(value) * 100:.2f}%",
            y="100%",
            dy="18",
            class_=_side(at, last, x.place(value)),
        )
        for at, (value, text) in enumerate(x.labels)
    ]
    canvas = tag(
        "svg",
        drawing,
        *ys,
        *xs,
        class_="plot",
        role="img",
        aria_label=f"{about[0]}: {about[1]}",
    )
    return tag(
        "figure",
        tag("figcaption", tag("b", about[0]), " ", tag("span", units[1], class_="unit")),
        canvas,
        tag("div", units[0], class_="unit x"),
        class_="chart",
    )


def _side(at: int, last: int, place: float) -> str:
    """Return the CSS classes that place a label.

    Labels at the edges point inwards, and every other label is hidden on narrow screens.
    """
    if place < 0.02:
        side = "first"
    elif place > 0.98:
        side = "last"
    else:
        side = "mid"
    return f"{side} alt" if at % 2 == 1 and at != last else side


def both(*charts: Html | None) -> Html:
    """Return charts side by side, or one below the other where there is no room."""
    return tag("div", join(*charts), class_="pair")


# -- lines from 0 to 100 %, such as hit rates by the size of a cache, as an SVG file

PLOT_WIDE, PLOT_HIGH = 640, 400  # of the plot itself
LEFT, TOP, RIGHT, BOTTOM = 56, 24, 150, 48  # around it
# Okabe and Ito's colours, which colour-blind people tell apart; what cannot be had is dashed.
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
    dashed: bool = False


def plot_file(
    title: str, lines: Sequence[PlotLine], x: Sequence[tuple[float, str]], below: str
) -> str:
    """Return an SVG document with these lines, and their names beside them.

    `x`: labels at places from 0 to 1.
    """
    shapes = []
    for tenth in range(0, 11, 2):
        height = _height(tenth / 10)
        shapes.append(tag("path", d=f"M{LEFT} {height:.1f}h{PLOT_WIDE}", class_="grid"))
        shapes.append(
            tag(
                "text", f"{tenth * 10} %", x=str(LEFT - 8), y=f"{height + 4:.1f}", text_anchor="end"
            )
        )
    for place, text in x:
        across, under = f"{LEFT + place * PLOT_WIDE:.1f}", str(TOP + PLOT_HIGH + 18)
        shapes.append(tag("text", text, x=across, y=under, text_anchor="middle"))
    middle = str(LEFT + PLOT_WIDE // 2)
    shapes.append(tag("text", below, x=middle, y=str(TOP + PLOT_HIGH + 38), text_anchor="middle"))
    for at, one in enumerate(lines):
        line = "M" + " L".join(
            f"{LEFT + place * PLOT_WIDE:.1f} {_height(share):.1f}" for place, share in one.points
        )
        look = {"stroke": one.colour, "stroke_dasharray": "5 4" if one.dashed else None}
        shapes.append(tag("path", tag("title", one.name), d=line, class_="line", **look))
        beside = TOP + 12 + 20 * at
        shapes.append(
            tag("path", d=f"M{LEFT + PLOT_WIDE + 12} {beside - 4}h22", class_="line", **look)
        )
        shapes.append(tag("text", one.name, x=str(LEFT + PLOT_WIDE + 40), y=str(beside)))
    size = {"width": str(LEFT + PLOT_WIDE + RIGHT), "height": str(TOP + PLOT_HIGH + BOTTOM)}
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


def _height(share: float) -> float:
    return TOP + (1 - share) * PLOT_HIGH
