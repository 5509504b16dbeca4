"""The report's sections on the whole crawl: rate, outcomes, bounds, disk and settings.

Figures 5 and 6 of the Mercator paper are among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import PurePosixPath

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.base.model import FAILURES, REDIRECTS
from webcrawl.base.readable import as_sentence
from webcrawl.crawl.bound import WORDS, help_for, shares
from webcrawl.crawl.progress import KNOWN, WRONG, Sentences, sentences
from webcrawl.store.jobdir import counter_words, stats_file
from webcrawl.store.jobdir.stats_file import Series
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table, tiles
from webcrawl.tools.report.log_summary import LogFindings
from webcrawl.tools.report.report_source import ReportSource

MOST = 240  # points of a line: what a screen can show


def overview(source: ReportSource, log: LogFindings) -> Html:
    """Return the numbers that are asked for first."""
    statistics, state = source.statistics, source.state
    hosts = sum(weight for row, weight in statistics.hosts.weighted_rows(0) if row.documents)
    about = "about " if statistics.hosts.level else ""
    ended = sum(statistics.outcomes.values())
    failed = sum(
        many for status, many in statistics.outcomes.items() if status in FAILURES or status >= 400
    )
    return tag(
        "div",
        tiles(
            (numbers.number(statistics.documents), "pages", rate(statistics.series)),
            (
                numbers.size(statistics.size),
                "in pages",
                f"{_mean(statistics.size, statistics.documents)} each",
            ),
            (
                about + numbers.number(hosts),
                "hosts with pages",
                f"{numbers.count(state.hosts, 'host')} known",
            ),
            (
                numbers.number(ended),
                "URLs ended",
                f"{numbers.percent(failed, ended)} without a good answer",
            ),
            (numbers.number(source.queued), "URLs queued", _queued(source)),
            (
                numbers.number(log.seeds.ended),
                "seeds with an outcome",
                f"of {numbers.number(source.seeds_read)} read",
            ),
        ),
        id="overview",
    )


def rate(series: Series) -> str:
    """Return documents per second, of the time in which anything came."""
    if not series.active:
        return "none yet"
    return f"{numbers.number(round(sum(series.documents) / series.active, 1))} per second"


def _mean(size: int, documents: int) -> str:
    return numbers.size(size / documents) if documents else "-"


def _queued(source: ReportSource) -> str:
    urls, hosts = source.aside
    return (
        f"{numbers.number(urls)} set aside, of {numbers.count(hosts, 'host')}"
        if urls
        else "none set aside"
    )


def over_time(source: ReportSource) -> Html:
    """Return documents and megabits per second (figure 5)."""
    series = source.statistics.series
    if not series.downloads:
        return section("time", "Over time", note("Nothing was downloaded yet."))
    slot = series.width / 1000
    merged = max(-(-len(series.downloads) // MOST), 1)
    documents, sizes = (_merged(values, merged) for values in (series.documents, series.sizes))
    slot *= merged
    x = charts.time_axis(slot * len(documents))
    begun = numbers.when(series.start / 1000)
    pages = [many / slot for many in documents]
    megabits = [many * 8 / 1e6 / slot for many in sizes]
    unit = f"time since {begun}"
    return section(
        "time",
        "Over time",
        note(
            f"Means over {numbers.seconds(slot)}, from {begun} on. Bytes are those of bodies, robots.txt included."
        ),
        charts.both(
            charts.area(
                pages,
                x,
                charts.linear(max(pages), numbers.number),
                (
                    "Documents",
                    f"At most {numbers.number(round(max(pages), 1))} documents per second.",
                ),
                (unit, "per second"),
            ),
            charts.area(
                megabits,
                x,
                charts.linear(max(megabits), numbers.number),
                (
                    "Throughput",
                    f"At most {numbers.number(round(max(megabits), 2))} megabits per second.",
                ),
                (unit, "Mbit/s"),
            ),
        ),
    )


def _merged(values: Sequence[int], several: int) -> list[int]:
    return [sum(values[at : at + several]) for at in range(0, len(values), several)]


def outcomes(source: ReportSource) -> Html:
    """Return the outcomes of URLs (figure 6)."""
    statistics = source.statistics
    return section(
        "outcomes",
        "Outcomes",
        *_notes(source, KNOWN),
        _outcomes(
            "outcome-table",
            "URLs",
            statistics.outcomes,
            "How URLs ended, robots.txt and probes apart",
        )
        if statistics.outcomes
        else note("No URL has ended yet."),
        _outcomes(
            "robots-table", "Requests", statistics.robots, "How requests for robots.txt ended"
        )
        if statistics.robots
        else note("No robots.txt was asked for."),
    )


def _outcomes(name: str, what: str, counts: dict[int, int], caption: str) -> Html:
    head = [
        TableColumn("Status", "code"),
        TableColumn("Meaning"),
        TableColumn(what, "number"),
        TableColumn("Share", "share"),
    ]
    whole = sum(counts.values())
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    cells: list[list[Cell]] = [
        [code, counter_words.status(code), many, many / whole] for code, many in rows
    ]
    return table(name, head, cells, caption)


def _notes(source: ReportSource, of: Sentences) -> Iterator[Html]:
    """Yield what the last lines of a run say, of all runs; a redirect is not among what failed."""
    outcomes = {
        status: many
        for status, many in source.statistics.outcomes.items()
        if status not in REDIRECTS
    }
    figures = {
        **source.figures,
        "statistics": {"outcomes": outcomes},
        "errors": int(source.stats.get("errors") or 0),
    }
    return (note(as_sentence(said)) for said in sentences(figures, of=of))


def _cut(source: ReportSource) -> Iterator[Html]:
    """Yield the answers of which a part is missing."""
    if cut := source.statistics.truncated.rows():
        head = [
            TableColumn("Reason"),
            TableColumn("Answers", "number"),
            TableColumn("Kept", "size"),
        ]
        yield table("cut-table", head, cut, "Answers that were not taken whole")


def wrong(source: ReportSource) -> Html:
    """Return the section of failures and flaws, with what was left out."""
    parts = [
        note(f"Nothing was fetched: {line}.")
        for line in source.stats.get(stats_file.UNREACHED) or ()
    ]
    if rows := _failures(source.counters):
        head = [TableColumn("Where"), TableColumn("What"), TableColumn("Attempts", "number")]
        parts.append(table("wrong-table", head, rows, "What went wrong, once per attempt"))
    if source.stats.get("reason") == stats_file.STORE_FAILED:
        parts.append(
            note("The last run failed, because it could not keep what it did: see its log.")
        )
    parts += _notes(source, WRONG)
    parts += _cut(source)
    if said := counter_words.in_words(source.figures):
        parts.append(note(f"Left out: {said}. See Skipped."))
    if not parts:
        right = "every answer was a whole page or a redirect, and nothing was left out but what is out of scope"
        parts.append(note(f"Nothing went wrong: {right}."))
    return section("wrong", "What went wrong", join(*parts))


def _failures(counters: Mapping[str, int]) -> list[list[Cell]]:
    """Return a row per kind of failure. A URL counts once per attempt."""
    named = [name for name in counters if name.startswith(counter_words.KINDS)]
    counted = {name: counters[name] for name in named if counters[name]}
    rows: list[list[Cell]] = []
    for group, names in counter_words.WRONG.items():
        for name, meaning in names.items():
            if name in counted:
                rows.append([group, meaning, counted.pop(name)])
    rows += [["Others", name.partition("/")[2], many] for name, many in sorted(counted.items())]
    return rows


MIB = 1 << 20
HEAD = [
    TableColumn("Bound by"),
    TableColumn("Time", "seconds"),
    TableColumn("Share", "share"),
    TableColumn("What helps"),
]


def bound(source: ReportSource) -> Html:
    """Return a row for each cause; of a hive the time of all drones."""
    rows: list[list[Cell]] = [
        [WORDS[cause], seconds, share, help_for(cause, revisits=source.revisits is not None)]
        for cause, (seconds, share) in shares(source.counters).items()
    ]
    if not rows:
        return section("bound", "What bounded it", note("It was not measured while the crawl ran."))
    return section(
        "bound",
        "What bounded it",
        note("Once per second the crawl records what it waits for most."),
        table("bound-table", HEAD, rows, "Time of the crawl, by what bounded it"),
    )


def disk(source: ReportSource) -> Html:
    """Return the sizes of what was written, and whether the rest will fit."""
    sizes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for crawl in source.crawls:
        for path, length in crawl.outputs.items():
            kind = _kind(path)
            sizes[kind] += length
            files[kind] += 1
    if not sizes:
        return section("disk", "Disk", note("Nothing was written yet."))
    cells: list[list[Cell]] = [[kind, files[kind], size] for kind, size in sizes.most_common()]
    head = [TableColumn("Output"), TableColumn("Files", "number"), TableColumn("Bytes", "size")]
    return section(
        "disk",
        "Disk",
        table("output-table", head, cells, "What was written"),
        _forecast(source, sizes.total()),
    )


def _kind(path: str) -> str:
    where = PurePosixPath(path.removesuffix(".open"))
    if where.parts[0] == "logs":
        return path
    return f"{where.parts[0]}/*{''.join(where.suffixes[-2:]) if where.name.endswith('.gz') else where.suffix}"


def _forecast(source: ReportSource, written: int) -> Html:
    statistics = source.statistics
    ended = sum(statistics.outcomes.values())
    if not ended:
        return note("No URL has ended yet, so the disk space for the rest cannot be estimated.")
    each = written / ended
    need = each * source.queued
    forecast = (
        f"Each URL that ended took {numbers.size(each)}. The {numbers.number(source.queued)} "
        f"queued URLs would need about {numbers.size(need)}, plus what their links need."
    )
    if source.free is None:
        return note(forecast)
    min_free = _min_free_bytes(source.terms)
    verdict = "this is enough" if source.free - min_free >= need else "this is too little"
    if min_free:
        verdict = f"the crawl pauses at {numbers.size(min_free)} (MIN_FREE_DISK), so {verdict}"
    return note(f"{forecast} The disk has {numbers.size(source.free)} free; {verdict}.")


def _min_free_bytes(terms: Mapping[str, str]) -> int:
    """Return MIN_FREE_DISK in bytes, or that of its default if it is no number."""
    try:
        return int(float(terms.get("MIN_FREE_DISK", "1024")) * MIB)
    except ValueError:
        return 1024 * MIB


def terms(source: ReportSource, defaults: Mapping[str, str]) -> Html:
    """Return the settings of the last run: spider and arguments, then what is no default."""
    rows: list[list[Cell]] = []
    settings: list[list[Cell]] = []
    for name, value in source.terms.items():
        if name == "spider" or name.startswith("-a "):
            rows.append([name, value, ""])
        elif defaults.get(name) != value:
            settings.append([name, value, defaults.get(name, "none")])
    rows += sorted(settings, key=itemgetter(0))
    if not rows:
        return section(
            "settings",
            "Settings",
            note("The state does not record the settings of the crawl."),
        )
    head = [TableColumn("Setting"), TableColumn("Value"), TableColumn("Default")]
    return section(
        "settings",
        "Settings",
        table("terms-table", head, rows, "Settings that differ from the defaults"),
    )
