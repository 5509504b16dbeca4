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
from webcrawl.base.model import REDIRECTS
from webcrawl.base.readable import as_sentence
from webcrawl.crawl.archived_pages import lost_of
from webcrawl.crawl.bound import WORDS, help_for, shares
from webcrawl.crawl.progress import KNOWN, WRONG, Sentences, sentences
from webcrawl.settings import MIN_FREE_DISK
from webcrawl.store.jobdir import counter_words, stats_file
from webcrawl.store.jobdir.stats_file import Series
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table, tiles
from webcrawl.tools.report.log_summary import LogFindings
from webcrawl.tools.report.report_source import LISTS_AWAY, ReportSource

MAX_POINTS = 240  # of a line: as many as a screen can show


def overview(source: ReportSource, log: LogFindings) -> Html:
    """Return the main figures of the crawl: pages, hosts, URLs and seeds."""
    statistics = source.statistics
    hosts = statistics.hosts.with_documents
    about = "about " if statistics.hosts.level else ""  # small hosts are sampled
    again = _again(source)
    ended = sum(statistics.outcomes.values())
    without_answer = sum(
        urls for status, urls in statistics.outcomes.items() if not 200 <= status < 400
    )
    return tag(
        "div",
        tiles(
            (numbers.number(statistics.documents), f"pages{again}", rate(statistics.series)),
            (
                numbers.size(statistics.size),
                "in pages",
                f"{_mean(statistics.size, statistics.documents)} each",
            ),
            (
                about + numbers.number(hosts),
                "hosts with pages",
                f"{numbers.count(source.state.hosts, 'host')} known",
            ),
            (
                numbers.number(ended),
                f"URLs ended{again}",
                f"{numbers.percent(without_answer, ended)} without a good answer",
            ),
            (numbers.number(source.queued), "URLs queued", _queued(source)),
            (
                numbers.number(log.seeds.ended),
                "seeds with an outcome",
                _seeds_read(source, log),
            ),
        ),
        id="overview",
    )


def _again(source: ReportSource) -> str:
    """Return the end of a name for what counts a URL each time that it is fetched."""
    return ", revisits included" if source.revisits is not None else ""


def rate(series: Series) -> str:
    """Return documents per second of the time in which anything was downloaded, in words."""
    if not series.active:
        return "none yet"
    return f"{numbers.number(round(sum(series.documents) / series.active, 1))} per second"


def _mean(size: int, documents: int) -> str:
    return numbers.size(size / documents) if documents else "-"


def _queued(source: ReportSource) -> str:
    urls, hosts = source.deferred
    if not urls:
        return "none of deferred hosts"
    return f"{numbers.number(urls)} of {numbers.count(hosts, 'deferred host')}"


def _seeds_read(source: ReportSource, log: LogFindings) -> str:
    read = source.seeds_read
    # Earlier runs may have had other lists, and a spider's own requests are in no list
    return f"of {numbers.number(read)} read" if len(log.seeds) <= read else "over all runs"


def over_time(source: ReportSource) -> Html:
    """Return the section on documents and megabits per second (figure 5)."""
    series = source.statistics.series
    if not series.downloads:
        return section("time", "Over time", note("Nothing was downloaded yet."))
    slots_per_point = max(-(-len(series.downloads) // MAX_POINTS), 1)  # rounded up
    seconds_per_point = series.width / 1000 * slots_per_point
    documents = _merged(series.documents, slots_per_point)
    sizes = _merged(series.sizes, slots_per_point)
    x_axis = charts.time_axis(seconds_per_point * len(documents))
    begin = numbers.when(series.start / 1000)
    document_rates = [number / seconds_per_point for number in documents]
    megabit_rates = [size * 8 / 1e6 / seconds_per_point for size in sizes]
    max_documents = max(document_rates)
    max_megabits = max(megabit_rates)
    x_unit = f"time since {begin}"
    return section(
        "time",
        "Over time",
        note(
            f"Means over {numbers.seconds(seconds_per_point)}, from {begin} on. "
            "Bytes are those of bodies, robots.txt included."
        ),
        charts.both(
            charts.area(
                document_rates,
                x_axis,
                charts.linear(max_documents, numbers.number),
                (
                    "Documents",
                    f"At most {numbers.number(round(max_documents, 1))} documents per second.",
                ),
                (x_unit, "per second"),
            ),
            charts.area(
                megabit_rates,
                x_axis,
                charts.linear(max_megabits, numbers.number),
                (
                    "Throughput",
                    f"At most {numbers.number(round(max_megabits, 2))} megabits per second.",
                ),
                (x_unit, "Mbit/s"),
            ),
        ),
    )


def _merged(values: Sequence[int], group_size: int) -> list[int]:
    """Return the sums of groups of successive values; the last group may be smaller."""
    return [sum(values[start : start + group_size]) for start in range(0, len(values), group_size)]


def outcomes(source: ReportSource) -> Html:
    """Return the section on how URLs, and requests for robots.txt, ended (figure 6)."""
    statistics = source.statistics
    if statistics.outcomes:
        of_urls = _outcome_table(
            "outcome-table",
            "URLs",
            statistics.outcomes,
            f"How URLs ended, robots.txt and probes apart{_again(source)}",
        )
    else:
        of_urls = note("No URL has ended yet.")
    if statistics.robots:
        of_robots = _outcome_table(
            "robots-table", "Requests", statistics.robots, "How requests for robots.txt ended"
        )
    else:
        of_robots = note("No robots.txt was requested.")
    return section("outcomes", "Outcomes", *_notes(source, KNOWN), of_urls, of_robots)


def _outcome_table(name: str, unit: str, counts: dict[int, int], caption: str) -> Html:
    """Return a table of the numbers by status, the most frequent first."""
    columns = [
        TableColumn("Status", "code"),
        TableColumn("Meaning"),
        TableColumn(unit, "number"),
        TableColumn("Share", "share"),
    ]
    whole = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows: list[list[Cell]] = [
        [status, counter_words.status(status), number, number / whole] for status, number in ranked
    ]
    return table(name, columns, rows, caption)


def _notes(source: ReportSource, of: Sentences) -> Iterator[Html]:
    """Yield the sentences that a run logs at its end, with the figures of all runs.

    Redirects are left out of the outcomes: they are no failures, which the sentences count.
    """
    outcomes = {
        status: urls
        for status, urls in source.statistics.outcomes.items()
        if status not in REDIRECTS
    }
    figures = {
        **source.figures,
        "statistics": {"outcomes": outcomes},
        "errors": int(source.stats.get("errors") or 0),
        LISTS_AWAY: int(source.stats.get(LISTS_AWAY) or 0),
    }
    return (note(as_sentence(sentence)) for sentence in sentences(figures, of=of))


def _truncated(source: ReportSource) -> Iterator[Html]:
    """Yield a table of the truncated answers, if there are any."""
    rows = source.statistics.truncated.rows()
    if rows:
        columns = [
            TableColumn("Reason"),
            TableColumn("Answers", "number"),
            TableColumn("Kept", "size"),
        ]
        yield table("truncated-table", columns, rows, "Answers that were not taken whole")


def wrong(source: ReportSource) -> Html:
    """Return the section on failures, truncated answers and what was left out."""
    parts = [
        note(f"Nothing was fetched: {line}.")
        for line in source.stats.get(stats_file.UNREACHED) or ()
    ]
    lost = lost_of(source.counters)
    if lost:
        kinds = ", ".join(
            f"{kind} {numbers.number(number)}" for kind, number in sorted(lost.items())
        )
        parts.append(note(f"Parts of the archives could not be read: {kinds}."))
    rows = _failures(source.counters)
    if rows:
        columns = [TableColumn("Where"), TableColumn("What"), TableColumn("Attempts", "number")]
        parts.append(table("wrong-table", columns, rows, "What went wrong, once per attempt"))
    if source.has_failed:
        parts.append(
            note("The last run failed, because it could not keep what it did: see its log.")
        )
    if source.bad_seeds:
        lines = numbers.count(source.bad_seeds, "line")
        parts.append(note(f"{lines} of the seed lists gave no seed: see the log."))
    parts += _notes(source, WRONG)
    parts += _truncated(source)
    left_out = counter_words.in_words(source.figures)
    if left_out:
        parts.append(note(f"Left out: {left_out}. See Skipped."))
    if not parts:
        right = "every answer was a whole page or a redirect, and nothing was left out but what is out of scope"
        parts.append(note(f"Nothing went wrong: {right}."))
    return section("wrong", "What went wrong", join(*parts))


def _failures(counters: Mapping[str, int]) -> list[list[Cell]]:
    """Return a row per kind of failure. A URL counts once per attempt."""
    kinds = [name for name in counters if name.startswith(counter_words.KINDS)]
    attempts = {name: counters[name] for name in kinds if counters[name]}
    rows: list[list[Cell]] = []
    for group, names in counter_words.WRONG.items():
        for name, meaning in names.items():
            if name in attempts:
                rows.append([group, meaning, attempts.pop(name)])
    rows += [
        ["Others", name.partition("/")[2], number] for name, number in sorted(attempts.items())
    ]
    return rows


MIB = 1 << 20
BOUND_COLUMNS = [
    TableColumn("Bound by"),
    TableColumn("Time", "seconds"),
    TableColumn("Share", "share"),
    TableColumn("What helps"),
]


def bound(source: ReportSource) -> Html:
    """Return the section on what bounded the crawl. A hive has the time of all drones."""
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
        table("bound-table", BOUND_COLUMNS, rows, "Time of the crawl, by what bounded it"),
    )


def disk(source: ReportSource) -> Html:
    """Return the section on the sizes of the outputs, and whether the rest will fit."""
    sizes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for crawl in source.crawls:
        for path, length in crawl.outputs.items():
            output = _output_name(path)
            sizes[output] += length
            files[output] += 1
    if not sizes:
        return section("disk", "Disk", note("Nothing was written yet."))
    rows: list[list[Cell]] = [[output, files[output], size] for output, size in sizes.most_common()]
    columns = [TableColumn("Output"), TableColumn("Files", "number"), TableColumn("Bytes", "size")]
    return section(
        "disk",
        "Disk",
        table("output-table", columns, rows, "What was written"),
        _forecast(source, sizes.total()),
    )


def _output_name(path: str) -> str:
    """Return a log's own path, or a pattern for the files of an output, such as `warc/*.warc.gz`."""
    finished = PurePosixPath(path.removesuffix(".open"))
    folder = finished.parts[0]
    if folder == "logs":
        return path
    is_packed = finished.name.endswith(".gz")
    ending = "".join(finished.suffixes[-2:]) if is_packed else finished.suffix
    return f"{folder}/*{ending}"


def _forecast(source: ReportSource, written_bytes: int) -> Html:
    """Return a sentence on the disk space that the queued URLs will need."""
    ended = sum(source.statistics.outcomes.values())
    if not ended:
        return note("No URL has ended yet, so the disk space for the rest cannot be estimated.")
    bytes_per_url = written_bytes / ended
    needed_bytes = bytes_per_url * source.queued
    forecast = (
        f"Each URL that ended took {numbers.size(bytes_per_url)}. The {numbers.number(source.queued)} "
        f"queued URLs would need about {numbers.size(needed_bytes)}, plus what their links need."
    )
    if source.free_bytes is None:
        return note(forecast)
    min_free = _min_free_bytes(source.terms)
    is_enough = source.free_bytes - min_free >= needed_bytes
    verdict = "this is enough" if is_enough else "this is too little"
    if min_free:
        verdict = f"the crawl pauses at {numbers.size(min_free)} (MIN_FREE_DISK), so {verdict}"
    return note(f"{forecast} The disk has {numbers.size(source.free_bytes)} free; {verdict}.")


def _min_free_bytes(terms: Mapping[str, str]) -> int:
    """Return MIN_FREE_DISK in bytes, or its default if the value is no number.

    The drones of a hive may have several values, which are listed with commas between.
    """
    try:
        return int(float(terms.get("MIN_FREE_DISK", MIN_FREE_DISK)) * MIB)
    except ValueError:
        return MIN_FREE_DISK * MIB


def terms(source: ReportSource, defaults: Mapping[str, str]) -> Html:
    """Return the section on settings: spider and arguments, then those that differ from defaults."""
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
    columns = [TableColumn("Setting"), TableColumn("Value"), TableColumn("Default")]
    return section(
        "settings",
        "Settings",
        table("terms-table", columns, rows, "Settings that differ from the defaults"),
    )
