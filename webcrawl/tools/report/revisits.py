"""The report's section on revisits: how fresh copies are, and how often pages change."""

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

MAX_HOSTS = 50  # rows of the table
# A running crawl writes its history at least every LONGEST seconds. A longer gap is a pause or a
# kill.
MAX_GAP_SECONDS = 2 * LONGEST
MAX_MOMENTS = 240  # of the chart of freshness
MAX_HISTORY_BYTES = 64 << 20  # read from the end of the history


class TimedRevisits(NamedTuple):
    """The state of revisits at one time."""

    at: float
    state: RevisitMoment


class AnnouncingHost(NamedTuple):
    """A host whose sitemaps, feeds or hubs announce changes."""

    host: str
    tried: float  # announcements that were checked; old ones count less
    precision: float  # the share of them that was true


@dataclass
class RevisitReport:
    """The revisits of a crawl or hive."""

    figures: RevisitFigures
    hosts: list[AnnouncingHost] = field(default_factory=list)  # those with most announcements
    histories: list[list[TimedRevisits]] = field(default_factory=list)  # one per crawl


def read_revisits(
    snapshot: Snapshot, history: Callable[[], Iterator[bytes]], unreadable: list[str]
) -> RevisitReport | None:
    """Return the revisits of a crawl, or None if it fetches nothing again.

    `history` returns the lines of its history. A row that cannot be read adds a sentence to `unreadable`.
    """
    data = snapshot.get(META)
    if data is None:
        return None
    try:
        saved = json.loads(data)
        figures = RevisitFigures.of({"records": saved["records"], **saved})
    except (ValueError, TypeError, KeyError):
        unreadable.append(f"{META} in state/crawl.db cannot be read")
        return None
    hosts = nlargest(MAX_HOSTS, _announcing_hosts(snapshot), key=lambda host: host.tried)
    return RevisitReport(figures, hosts, [_moments(history())])


def revisits_of_hive(reports: Iterable[RevisitReport | None]) -> RevisitReport | None:
    """Return the revisits of all drones together, or None if no drone fetches pages again."""
    found = [report for report in reports if report is not None]
    if not found:
        return None
    hosts = chain.from_iterable(report.hosts for report in found)
    histories = chain.from_iterable(report.histories for report in found)
    return RevisitReport(
        together(report.figures for report in found),
        nlargest(MAX_HOSTS, hosts, key=lambda host: host.tried),
        list(histories),
    )


def history_of(jobdir: Path, length: int) -> Iterator[bytes]:
    """Yield the last lines among the first `length` bytes of a crawl's history.

    Yield none if the file is missing.
    """
    with suppress(OSError), regular(jobdir / PATH) as file:
        file.seek(max(0, length - MAX_HISTORY_BYTES))
        yield from file.read(min(length, MAX_HISTORY_BYTES)).splitlines()


def _announcing_hosts(snapshot: Snapshot) -> Iterator[AnnouncingHost]:
    """Yield the hosts that announce changes. Damaged rows, which verify names, are left out."""
    if not list(snapshot.rows("SELECT 1 FROM sqlite_master WHERE name = 'announcer'")):
        return
    for row in snapshot.rows("SELECT host, data, crc FROM announcer"):
        if rowcrc.agrees(rowcrc.of_host, row):
            announcer = Announcer.unpack(row[1])
            if announcer.tried:
                yield AnnouncingHost(row[0], announcer.tried, announcer.precision)


def _moments(lines: Iterator[bytes]) -> list[TimedRevisits]:
    """Return the moments of a history at which freshness had been estimated, in order of time."""
    moments = filter(None, map(read, lines))
    known = [(moment.at, moment.revisits) for moment in moments if moment.revisits is not None]
    return in_order([TimedRevisits(at, state) for at, state in known if state.is_estimated])


def slots(
    histories: Sequence[Sequence[TimedRevisits]], max_moments: int = MAX_MOMENTS
) -> list[TimedRevisits]:
    """Return the state of all crawls together at times of equal distance: sums and weighted means.

    While a crawl did not run, its state is that of the last moment before.
    """
    written = [moments for moments in histories if moments]
    if not written:
        return []
    first = min(moments[0].at for moments in written)
    last = max(moments[-1].at for moments in written)
    number = min(max_moments, max(map(len, written)))
    step = (last - first) / max(number - 1, 1)
    times = [first + slot * step for slot in range(number)]
    states_by_time = zip(*(_at_times(moments, times) for moments in written), strict=True)
    return [
        TimedRevisits(at, RevisitMoment.together([*filter(None, states)]))
        for at, states in zip(times, states_by_time, strict=True)
    ]


def _at_times(
    moments: Sequence[TimedRevisits], times: Sequence[float]
) -> Iterator[RevisitMoment | None]:
    """Yield the state of a crawl at each time, interpolated between two moments.

    It is None before the first moment. During a pause, and after the last moment, it is that of
    the moment before.
    """
    place = 0
    for at in times:
        while place + 1 < len(moments) and moments[place + 1].at <= at:
            place += 1
        before = moments[place]
        after = moments[min(place + 1, len(moments) - 1)]
        if before.at > at:
            yield None
        elif after is before or _is_interrupted(before, after):
            yield before.state
        else:
            share = (at - before.at) / (after.at - before.at)
            yield RevisitMoment(
                *(
                    old + (new - old) * share
                    for old, new in zip(before.state, after.state, strict=True)
                )
            )


def _is_interrupted(before: TimedRevisits, after: TimedRevisits) -> bool:
    """Return whether a kill or a pause lies between two moments.

    Counters that have fallen are those of the checkpoint from which a killed crawl resumed.
    """
    has_fallen = after.state.taken < before.state.taken
    return has_fallen or after.at - before.at > MAX_GAP_SECONDS


BINS = {  # upper bounds, below the columns and in words
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
MAX_COLUMNS = 48  # of the chart of findings
# Findings of revisits, from below: that which matters most has a common base line.
FINDINGS = ("changed", "unchanged", "gone")


def revisits(report: RevisitReport | None) -> Html | None:
    """Return the section on revisits, or None for a crawl that fetches nothing again."""
    if report is None:
        return None
    return section(
        "revisits",
        "Revisits",
        _tiles(report.figures),
        _over_time(report),
        _distributions(report.figures),
        _findings_table(report.figures),
        signals(report),
    )


def _tiles(figures: RevisitFigures) -> Html:
    """Return freshness, age, revisits and budget as large numbers."""
    freshness = "-"
    age = "-"
    let_go = ""
    if figures.sampled:  # else nothing is estimated yet
        freshness = numbers.percent(figures.freshness, 1)
        age = numbers.seconds(figures.age)
        let_go = "none of them is let go"
        if figures.let_go:
            let_go = f"about {numbers.number(figures.let_go)} are let go"
    done = figures.unchanged + figures.changed + figures.gone
    changed = f"{numbers.percent(figures.changed, done)} found a change"
    used_rate = numbers.number(float(f"{figures.used:.3g}"))
    budget_rate = numbers.number(float(f"{figures.budget:.3g}"))
    lost = f"{numbers.number(figures.forgotten)} forgotten, {numbers.number(figures.moved)} moved"
    return tiles(
        (freshness, "of copies are fresh", "estimated, by weight"),
        (age, "is their mean age", "0 for a fresh one; estimated"),
        (numbers.number(figures.records), "pages are fetched again", let_go),
        (numbers.number(done), "revisits with a finding", changed),
        (f"{used_rate}/s", "revisits now", f"of {budget_rate}/s in the budget"),
        (numbers.number(figures.waiting), "of them wait for their hosts", lost),
    )


def _over_time(report: RevisitReport) -> Html:
    """Return the charts of freshness and of findings over time."""
    moments = slots(report.histories)
    duration = moments[-1].at - moments[0].at if moments else 0.0
    if not duration:
        return note("There is no history of revisits yet.")
    time_axis = charts.time_axis(duration)
    time_unit = f"time since {numbers.when(moments[0].at)}"
    share_axis = charts.ChartAxis(0.0, 1.0, [(part / 4, f"{25 * part} %") for part in range(5)])
    values = [moment.state.freshness for moment in moments]
    return join(
        charts.both(
            charts.area(
                values,
                time_axis,
                share_axis,
                (
                    "Freshness",
                    f"Between {min(values):.1%} and {max(values):.1%}, {values[-1]:.1%} at the end.",
                ),
                (time_unit, "share of copies that are as the pages are, estimated"),
            ),
            _findings_chart(report, time_axis, time_unit),
        ),
        note(
            "Where the crawl did not run, freshness stays at its last value: nobody estimated it."
        ),
    )


def _findings_chart(report: RevisitReport, time_axis: charts.ChartAxis, time_unit: str) -> Html:
    """Return the chart of revisits by what they found, in columns of equal duration."""
    edges = slots(report.histories, MAX_COLUMNS + 1)
    seconds = numbers.seconds(edges[1].at - edges[0].at)
    stacks = []
    for before, after in pairwise(edges):
        # Counters may have fallen: a killed crawl resumes from its last checkpoint.
        parts = [
            max(getattr(after.state, name) - getattr(before.state, name), 0.0) for name in FINDINGS
        ]
        words = ", ".join(
            f"{numbers.number(round(part))} {name}"
            for part, name in zip(parts, FINDINGS, strict=True)
        )
        stacks.append(charts.StackColumn("", parts, f"from {numbers.when(before.at)}: {words}"))
    chart = charts.columns(
        stacks,
        ("What revisits found", f"Each column is of {seconds}."),
        (time_unit, f"revisits in {seconds}"),
        time_axis,
    )
    return tag("div", chart, charts.legend(FINDINGS))


def _distributions(figures: RevisitFigures) -> Html:
    """Return the charts of how often pages of the sample change, and how often they are fetched."""
    if not figures.sampled:
        return note("No page was looked at yet, so nothing is known of how often pages change.")
    return join(
        charts.both(
            _histogram(
                figures.rates, "How often pages change", "mean time between two changes, estimated"
            ),
            _histogram(
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


def _histogram(pages_by_bin: Sequence[int], title: str, unit: str) -> Html:
    """Return a chart with a column for each of BINS."""
    stacks = []
    for (label, words), pages in zip(BINS.items(), pages_by_bin, strict=True):
        bounds = f"up to {words}" if words else "more than 1 year"
        text = f"{bounds}: {numbers.count(pages, 'page')}"
        stacks.append(charts.StackColumn(label, [pages], text))
    highest = max(stacks, key=lambda stack: stack.parts[0])
    return charts.columns(
        stacks, (title, f"The highest column: {highest.title}."), (unit, "pages of the sample")
    )


def _findings_table(figures: RevisitFigures) -> Html:
    """Return a table of the findings of revisits, and by what they were found."""
    done = figures.unchanged + figures.changed + figures.gone
    if not done:
        return note("No revisit has found a page changed, unchanged or gone yet.")
    findings = (
        ("unchanged", "304: the server says so, and sends nothing", figures.unchanged_304),
        ("unchanged", "the same bytes came", figures.unchanged_digest),
        ("changed", "other bytes, the same visible text", figures.changed_digest),
        ("changed", "another visible text", figures.changed_text),
        ("gone", "404 or 410", figures.gone),
    )
    rows: list[list[Cell]] = [
        [finding, reason, number, number / done] for finding, reason, number in findings if number
    ]
    columns = [
        TableColumn("The page is"),
        TableColumn("Because"),
        TableColumn("Revisits", "number"),
        TableColumn("Share", "share"),
    ]
    return table("revisit-table", columns, rows, "What revisits found")


def signals(report: RevisitReport) -> Html:
    """Return how many announced changes were true, and a table of the hosts that announce them."""
    figures = report.figures
    announced = figures.signals_true + figures.signals_false + figures.signals_ignored
    if not announced:
        return note("No change that a sitemap, feed or hub announced was looked at yet.")
    totals = note(
        f"Announced changes: {numbers.number(figures.signals_true)} were there, "
        f"{numbers.number(figures.signals_false)} were not, and {numbers.number(figures.signals_ignored)} were not "
        "looked at, because their hosts are not believed or not known yet."
    )
    if not report.hosts:
        return totals
    rows: list[list[Cell]] = [
        [host.host, round(host.tried, 1), host.precision] for host in report.hosts
    ]
    columns = [
        TableColumn("Host"),
        TableColumn("Looked at", "number", "Those of long ago count less"),
        TableColumn("True", "share", "Share of the announcements after which the page was changed"),
    ]
    caption = "Hosts that announce changes, and how far they are right"
    return join(totals, table("signal-table", columns, rows, caption))
