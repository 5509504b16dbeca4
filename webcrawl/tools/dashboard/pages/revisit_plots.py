"""Tiles and plots of a crawl that fetches pages again; nothing of any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webcrawl.store.jobdir.history_line import Moment
from webcrawl.store.jobdir.revisit_figures import RevisitFigures, figures_of
from webcrawl.tools import charts
from webcrawl.tools.charts import Line
from webcrawl.tools.dashboard import curves
from webcrawl.tools.report import numbers
from webcrawl.tools.report.markup import Html, join, tiles

FOUND = {"changed": 0, "unchanged": 5, "gone": 3}  # and their colours


def revisit_tiles(stats: Mapping[str, Any]) -> Html | None:
    """Freshness of copies, and what keeps it; `stats` are the figures of a crawl."""
    try:
        figures = figures_of(stats)
        return _tiles(figures) if figures is not None else None
    except (TypeError, ValueError, OverflowError):  # a file that somebody has written by hand
        return None


def _tiles(figures: RevisitFigures) -> Html:
    done = figures.unchanged + figures.changed + figures.gone
    announced = figures.signals_true + figures.signals_false
    return tiles(
        (numbers.percent(figures.freshness, 1) if figures.sampled else "-", "of copies fresh", "estimated, by weight"),
        (numbers.seconds(figures.age) if figures.sampled else "-", "mean age", "0 for a fresh copy"),
        (numbers.number(figures.records), "pages fetched again", f"{numbers.number(figures.let_go)} let go"),
        (charts.per_second(figures.used), "revisits", f"budget {charts.per_second(figures.budget)}"),
        (numbers.percent(figures.changed, done), "changed", f"of {numbers.number(done)} revisits"),
        (
            numbers.percent(figures.signals_true, announced),
            "of announcements true",
            f"{numbers.number(figures.signals_ignored)} not looked at",
        ),
    )


def revisit_plots(
    moments: Sequence[Moment], parts: Sequence[Sequence[Moment]], edges: tuple[float, float]
) -> Html | None:
    """Freshness over time, and what revisits found, if the crawl has ever fetched a page again."""
    if not moments or moments[-1].revisits is None:
        return None
    fresh = curves.between(parts, curves.freshness)
    last = curves.latest(fresh)
    found = []
    for name, colour in FOUND.items():
        curve = curves.between(parts, curves.revisited(name))
        now = curves.latest(curve)
        found.append(Line(name, colour, curve, "" if now is None else charts.per_second(now)))
    return join(
        charts.plot(
            "Fresh copies",
            [Line("Fresh copies", 2, fresh, "" if last is None else _percent(last), filled=True)],
            edges,
            _percent,
            top=95,
        ),
        charts.plot("Revisits per second, by what they found", found, edges, charts.per_second),
    )


def _percent(value: float) -> str:
    return f"{value:.3g} %"
