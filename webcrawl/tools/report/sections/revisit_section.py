"""The report's section on pages fetched again: how fresh copies are, how often they change, and who announces it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from webcrawl.store.jobdir.revisit_figures import RevisitFigures
from webcrawl.tools import charts
from webcrawl.tools.report import numbers
from webcrawl.tools.report.markup import Cell, Column, Html, join, note, section, table, tag, tiles
from webcrawl.tools.report.report_source import Source
from webcrawl.tools.report.revisit_source import Revisits, slots
from webcrawl.tools.report.sections.overview import time_axis

BINS = {  # below the columns, and in words
    "1 m": "1 minute",
    "10 m": "10 minutes",
    "1 h": "1 hour",
    "3 h": "3 hours",
    "12 h": "12 hours",
    "1 d": "1 day",
    "3 d": "3 days",
    "7 d": "7 days",
    "30 d": "30 days",
    "90 d": "90 days",
    "1 y": "1 year",
    "more": "",
}
COLUMNS = 48  # of the plot of what was found
FOUND = ("changed", "unchanged", "gone")  # from below: what matters most has a common base


def revisits(source: Source) -> Html | None:
    """Nothing of a crawl that fetches nothing again."""
    found = source.revisits
    if found is None:
        return None
    return section(
        "revisits",
        "Revisits",
        _tiles(found.figures),
        _over_time(found),
        _distributions(found.figures),
        _outcomes(found.figures),
        signals(found),
    )


def _tiles(figures: RevisitFigures) -> Html:
    done = figures.unchanged + figures.changed + figures.gone
    fresh = (numbers.percent(figures.freshness, 1), "of copies are fresh", "estimated, by weight")
    age = (numbers.seconds(figures.age), "is their mean age", "0 for a fresh one; estimated")
    let_go = f"about {numbers.number(figures.let_go)} are let go" if figures.let_go else "none of them is let go"
    if not figures.sampled:
        fresh, age, let_go = ("-", *fresh[1:]), ("-", *age[1:]), ""
    used, asked = (numbers.number(float(f"{rate:.3g}")) for rate in (figures.used, figures.budget))
    return tiles(
        fresh,
        age,
        (numbers.number(figures.records), "pages are fetched again", let_go),
        (numbers.number(done), "revisits with a finding", f"{numbers.percent(figures.changed, done)} found a change"),
        (f"{used}/s", "revisits now", f"of {asked}/s in the budget"),
        (numbers.number(figures.waiting), "of them wait for their hosts", _lost(figures)),
    )


def _lost(figures: RevisitFigures) -> str:
    return f"{numbers.number(figures.forgotten)} forgotten, {numbers.number(figures.moved)} moved"


def _over_time(found: Revisits) -> Html:
    moments = slots(found.past)
    lasted = moments[-1].at - moments[0].at if moments else 0.0
    if not lasted:
        return note("There is no history of revisits yet.")
    x, unit = time_axis(lasted), f"time since {numbers.when(moments[0].at)}"
    share = charts.Axis(0.0, 1.0, [(part / 4, f"{25 * part} %") for part in range(5)])
    values = [one.freshness for one in moments]
    return join(
        charts.both(
            charts.area(
                values,
                x,
                share,
                ("Freshness", f"Between {min(values):.1%} and {max(values):.1%}, {values[-1]:.1%} at the end."),
                (unit, "share of copies that are as the pages are, estimated"),
            ),
            _found(found, x, unit),
        ),
        note("Where the crawl did not run, freshness stays at its last value: nobody estimated it."),
    )


def _found(found: Revisits, x: charts.Axis, unit: str) -> Html:
    """Revisits by what they found, in slots of equal length."""
    marks = slots(found.past, COLUMNS + 1)
    seconds = numbers.seconds(marks[1].at - marks[0].at)
    stacks = []
    for before, after in pairwise(marks):
        parts = [max(getattr(after, name) - getattr(before, name), 0.0) for name in FOUND]
        said = ", ".join(f"{numbers.number(round(part))} {name}" for part, name in zip(parts, FOUND, strict=True))
        stacks.append(charts.Column("", parts, f"from {numbers.when(before.at)}: {said}"))
    most = max(sum(stack.parts) for stack in stacks)
    chart = charts.columns(
        stacks,
        charts.linear(most, numbers.number, least=charts.TICKS),
        ("What revisits found", f"Each column is of {seconds}."),
        (unit, f"revisits in {seconds}"),
        x,
    )
    return tag("div", chart, charts.legend(FOUND))


def _distributions(figures: RevisitFigures) -> Html:
    if not figures.sampled:
        return note("No page was looked at yet, so nothing is known of how often pages change.")
    return join(
        charts.both(
            _bins(figures.rates, "How often pages change", "mean time between two changes, estimated"),
            _bins(figures.intervals, "How often pages are fetched", "time between the last two fetches"),
        ),
        note(
            f"Of a sample of {numbers.count(figures.sampled, 'page')}. A column has what lies below its label and "
            "above the one before. Pages that were fetched only once are missing on the right."
        ),
    )


def _bins(bins: Sequence[int], title: str, unit: str) -> Html:
    stacks = [
        charts.Column(
            label, [many], f"{f'up to {words}' if words else 'more than 1 year'}: {numbers.count(many, 'page')}"
        )
        for (label, words), many in zip(BINS.items(), bins, strict=True)
    ]
    most = max(stacks, key=lambda stack: stack.parts[0])
    y = charts.linear(max(bins), numbers.number, least=charts.TICKS)
    return charts.columns(stacks, y, (title, f"The highest column: {most.title}."), (unit, "pages of the sample"))


def _outcomes(figures: RevisitFigures) -> Html:
    done = figures.unchanged + figures.changed + figures.gone
    if not done:
        return note("No revisit has found a page changed, unchanged or gone yet.")
    rows: list[list[Cell]] = [
        [what, how, many, many / done]
        for what, how, many in (
            ("unchanged", "304: the server says so, and sends nothing", figures.unchanged_304),
            ("unchanged", "the same bytes came", figures.unchanged_digest),
            ("changed", "other bytes, the same visible text", figures.changed_digest),
            ("changed", "another visible text", figures.changed_text),
            ("gone", "404 or 410", figures.gone),
        )
        if many
    ]
    head = [Column("The page is"), Column("Because"), Column("Revisits", "number"), Column("Share", "share")]
    return table("revisit-table", head, rows, "What revisits found")


def signals(found: Revisits) -> Html:
    """Announcements of changes: how far they were right, and whose."""
    figures = found.figures
    if not figures.signals_true + figures.signals_false + figures.signals_ignored:
        return note("No change that a sitemap, feed or hub announced was looked at yet.")
    said = note(
        f"Announced changes: {numbers.number(figures.signals_true)} were there, "
        f"{numbers.number(figures.signals_false)} were not, and {numbers.number(figures.signals_ignored)} were not "
        "looked at, because their hosts are not believed or not known yet."
    )
    if not found.hosts:
        return said
    rows: list[list[Cell]] = [[one.host, round(one.tried, 1), one.precision] for one in found.hosts]
    head = [
        Column("Host"),
        Column("Looked at", "number", "Those of long ago count less"),
        Column("True", "share", "Share of the announcements after which the page was changed"),
    ]
    return join(said, table("signal-table", head, rows, "Hosts that announce changes, and how far they are right"))
