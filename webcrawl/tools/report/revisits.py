"""The report's section on pages fetched again: how fresh copies are, how often they change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.crawl.revisit.signals import Announcer
from webcrawl.store import rowcrc
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.history_line import LONGEST, PATH, RevisitMoment, in_order, read
from webcrawl.store.jobdir.revisit_figures import META, RevisitFigures, together
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table, tiles

MOST = 50  # hosts in a table
GAP = 2 * LONGEST  # seconds between two moments of a crawl that runs, at most
SLOTS = 240  # moments of a plot
AT_ONCE = 64 << 20  # bytes of the history that are read at most, its last ones


class TimedRevisits(NamedTuple):
    """The state of revisits at a time."""

    at: float
    state: RevisitMoment


class AnnouncingHost(NamedTuple):
    """A host whose listings announce changes."""

    host: str
    tried: float  # announcements that were looked at, those of long ago counting less
    precision: float  # the share that was true


@dataclass
class RevisitReport:
    """The revisits of a crawl or hive. `past` has a list for each crawl."""

    figures: RevisitFigures
    hosts: list[AnnouncingHost] = field(default_factory=list)  # those with most announcements
    past: list[list[TimedRevisits]] = field(default_factory=list)


def read_revisits(
    snapshot: Snapshot, history: Callable[[], Iterator[bytes]], odd: list[str]
) -> RevisitReport | None:
    """Return the figures, or None if nothing is fetched again; `history` gives its lines."""
    data = snapshot.get(META)
    if data is None:
        return None
    try:
        found = json.loads(data)
        figures = RevisitFigures.of({"records": found["records"], **found})
    except (ValueError, TypeError, KeyError):
        odd.append(f"{META} in state/crawl.db cannot be read")
        return None
    return RevisitReport(
        figures, nlargest(MOST, _hosts(snapshot), key=lambda one: one.tried), [_past(history())]
    )


def of_hive(each: Iterable[RevisitReport | None]) -> RevisitReport | None:
    """Return the revisits of all drones together."""
    found = [one for one in each if one is not None]
    if not found:
        return None
    hosts = chain.from_iterable(one.hosts for one in found)
    pasts = chain.from_iterable(one.past for one in found)
    return RevisitReport(
        together(one.figures for one in found),
        nlargest(MOST, hosts, key=lambda one: one.tried),
        list(pasts),
    )


def history_of(jobdir: Path, length: int) -> Iterator[bytes]:
    """Yield the last lines of its history, up to this length; none if it is not there."""
    with suppress(OSError), regular(jobdir / PATH) as file:
        file.seek(max(0, length - AT_ONCE))
        yield from file.read(min(length, AT_ONCE)).splitlines()


def _hosts(snapshot: Snapshot) -> Iterator[AnnouncingHost]:
    """Yield the hosts. Damaged rows are left out: `webcrawl verify` names them."""
    if not list(snapshot.rows("SELECT 1 FROM sqlite_master WHERE name = 'announcer'")):
        return
    for row in snapshot.rows("SELECT host, data, crc FROM announcer"):
        if rowcrc.agrees(rowcrc.of_host, row):
            announcer = Announcer.unpack(row[1])
            if announcer.tried:
                yield AnnouncingHost(row[0], announcer.tried, announcer.precision)


def _past(found: Iterator[bytes]) -> list[TimedRevisits]:
    """Without the time before anything was known of pages that are fetched again."""
    lines = filter(None, map(read, found))
    known = [(line.at, line.revisits) for line in lines if line.revisits is not None]
    return in_order([TimedRevisits(at, state) for at, state in known if state.is_estimated])


def slots(pasts: Sequence[Sequence[TimedRevisits]], most: int = SLOTS) -> list[TimedRevisits]:
    """Return the state of all together at times of equal distance: sums, and weighted means.

    Where nothing was written, because the crawl did not run, it is as at the last moment before.
    """
    each = [past for past in pasts if past]
    if not each:
        return []
    first, last = min(past[0].at for past in each), max(past[-1].at for past in each)
    many = min(most, max(map(len, each)))
    step = (last - first) / max(many - 1, 1)
    times = [first + slot * step for slot in range(many)]
    states = zip(*(_at_times(past, times) for past in each), strict=True)
    return [
        TimedRevisits(at, RevisitMoment.together([*filter(None, now)]))
        for at, now in zip(times, states, strict=True)
    ]


def _at_times(
    moments: Sequence[TimedRevisits], times: Sequence[float]
) -> Iterator[RevisitMoment | None]:
    """Yield the state at each time: nothing before the first moment, the last after a break."""
    place = 0
    for at in times:
        while place + 1 < len(moments) and moments[place + 1].at <= at:
            place += 1
        before, after = moments[place], moments[min(place + 1, len(moments) - 1)]
        if before.at > at:
            yield None
        elif after is before or _broken(before, after):
            yield before.state
        else:
            share = (at - before.at) / (after.at - before.at)
            yield RevisitMoment(
                *(
                    one + (other - one) * share
                    for one, other in zip(before.state, after.state, strict=True)
                )
            )


def _broken(before: TimedRevisits, after: TimedRevisits) -> bool:
    """Return whether a kill or a pause lies between two moments."""
    return after.state.taken < before.state.taken or after.at - before.at > GAP


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


def revisits(found: RevisitReport | None) -> Html | None:
    """Return the section; nothing for a crawl that fetches nothing again."""
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
    let_go = (
        f"about {numbers.number(figures.let_go)} are let go"
        if figures.let_go
        else "none of them is let go"
    )
    if not figures.sampled:
        fresh, age, let_go = ("-", *fresh[1:]), ("-", *age[1:]), ""
    used, asked = (numbers.number(float(f"{rate:.3g}")) for rate in (figures.used, figures.budget))
    lost = f"{numbers.number(figures.forgotten)} forgotten, {numbers.number(figures.moved)} moved"
    return tiles(
        fresh,
        age,
        (numbers.number(figures.records), "pages are fetched again", let_go),
        (
            numbers.number(done),
            "revisits with a finding",
            f"{numbers.percent(figures.changed, done)} found a change",
        ),
        (f"{used}/s", "revisits now", f"of {asked}/s in the budget"),
        (numbers.number(figures.waiting), "of them wait for their hosts", lost),
    )


def _over_time(found: RevisitReport) -> Html:
    moments = slots(found.past)
    lasted = moments[-1].at - moments[0].at if moments else 0.0
    if not lasted:
        return note("There is no history of revisits yet.")
    x, unit = charts.time_axis(lasted), f"time since {numbers.when(moments[0].at)}"
    share = charts.ChartAxis(0.0, 1.0, [(part / 4, f"{25 * part} %") for part in range(5)])
    values = [one.state.freshness for one in moments]
    return join(
        charts.both(
            charts.area(
                values,
                x,
                share,
                (
                    "Freshness",
                    f"Between {min(values):.1%} and {max(values):.1%}, {values[-1]:.1%} at the end.",
                ),
                (unit, "share of copies that are as the pages are, estimated"),
            ),
            _found(found, x, unit),
        ),
        note(
            "Where the crawl did not run, freshness stays at its last value: nobody estimated it."
        ),
    )


def _found(found: RevisitReport, x: charts.ChartAxis, unit: str) -> Html:
    """Return revisits by what they found, in slots of equal length."""
    marks = slots(found.past, COLUMNS + 1)
    seconds = numbers.seconds(marks[1].at - marks[0].at)
    stacks = []
    for before, after in pairwise(marks):
        parts = [
            max(getattr(after.state, name) - getattr(before.state, name), 0.0) for name in FOUND
        ]
        said = ", ".join(
            f"{numbers.number(round(part))} {name}" for part, name in zip(parts, FOUND, strict=True)
        )
        stacks.append(charts.StackColumn("", parts, f"from {numbers.when(before.at)}: {said}"))
    chart = charts.columns(
        stacks,
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
            _bins(
                figures.rates, "How often pages change", "mean time between two changes, estimated"
            ),
            _bins(
                figures.intervals,
                "How often pages are fetched",
                "time between the last two fetches",
            ),
        ),
        note(
            f"Of a sample of {numbers.count(figures.sampled, 'page')}. A column has what lies below its label and "
            "above the one before. Pages that were fetched only once are missing on the right."
        ),
    )


def _bins(bins: Sequence[int], title: str, unit: str) -> Html:
    stacks = [
        charts.StackColumn(
            label,
            [many],
            f"{f'up to {words}' if words else 'more than 1 year'}: {numbers.count(many, 'page')}",
        )
        for (label, words), many in zip(BINS.items(), bins, strict=True)
    ]
    most = max(stacks, key=lambda stack: stack.parts[0])
    return charts.columns(
        stacks, (title, f"The highest column: {most.title}."), (unit, "pages of the sample")
    )


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
    head = [
        TableColumn("The page is"),
        TableColumn("Because"),
        TableColumn("Revisits", "number"),
        TableColumn("Share", "share"),
    ]
    return table("revisit-table", head, rows, "What revisits found")


def signals(found: RevisitReport) -> Html:
    """Return announcements of changes: how far they were right, and whose."""
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
        TableColumn("Host"),
        TableColumn("Looked at", "number", "Those of long ago count less"),
        TableColumn("True", "share", "Share of the announcements after which the page was changed"),
    ]
    return join(
        said,
        table(
            "signal-table", head, rows, "Hosts that announce changes, and how far they are right"
        ),
    )
