"""The report's sections on documents: figures 7 and 8 of the Mercator paper, and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from webcrawl.base import numbers
from webcrawl.base.markup import Html, tag
from webcrawl.content.near_duplicates import DISTANCE, near_duplicates, read_log, reported
from webcrawl.record.statistics import MAX_DEPTH, smallest_number
from webcrawl.record.tally import GROUPS
from webcrawl.store.disk import regular
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table
from webcrawl.tools.report.log_summary import Extreme, LogFindings
from webcrawl.tools.report.report_source import ReportSource

MAX_TYPES = 50  # rows of the table
FINGERPRINT_LOG = "logs/neardup.log"
EXAMPLE_SIMILARITY = 0.9  # for which the note on near-duplicates gives the recall


def types(source: ReportSource) -> Html:
    """Return the section on documents by content type (figure 7)."""
    statistics = source.statistics
    if not statistics.documents:
        return section("types", "Content types", note("There are no documents yet."))
    rows: list[list[Cell]] = [
        [name, number, number / statistics.documents, size, size / number]
        for name, number, size in statistics.types.top(MAX_TYPES)
    ]
    columns = [
        TableColumn("Content type"),
        TableColumn("Documents", "number"),
        TableColumn("Share", "share"),
        TableColumn("Bytes", "size"),
        TableColumn("Mean", "size"),
    ]
    return section(
        "types", "Content types", table("type-table", columns, rows, "Documents by content type")
    )


def sizes(source: ReportSource) -> Html:
    """Return the section on documents by size and group of content types (figure 8)."""
    bins_by_group = source.statistics.sizes
    if not source.statistics.documents:
        return section("sizes", "Document sizes", note("There are no documents yet."))
    totals = [sum(column) for column in zip(*bins_by_group, strict=True)]
    span = _used_span(totals)
    groups = [group for group, bins in enumerate(bins_by_group) if any(bins)]
    stacks = []
    for place in span:
        smallest = numbers.binary(smallest_number(place))
        documents = numbers.count(totals[place], "document")
        parts = [bins_by_group[group][place] for group in groups]
        stacks.append(charts.StackColumn(smallest, parts, f"from {smallest} bytes: {documents}"))
    chart = charts.columns(
        stacks,
        (
            "Documents by size",
            "A document of n bytes is in the last column whose label is not greater than n.",
        ),
        ("bytes, from the label up to twice as many", "documents"),
    )
    names = [GROUPS[group] for group in groups]
    rows: list[list[Cell]] = [
        [smallest_number(place), *(bins_by_group[group][place] for group in groups), totals[place]]
        for place in span
    ]
    columns = [
        TableColumn("From bytes", "number"),
        *(TableColumn(name, "number") for name in names),
        TableColumn("All", "number"),
    ]
    return section(
        "sizes",
        "Document sizes",
        chart,
        charts.legend(names),
        _behind_a_click(table("size-table", columns, rows, "Documents by size and group of types")),
    )


def _used_span(bins: Sequence[int]) -> range:
    """Return the places from the first bin with anything in it to the last."""
    used = [place for place, number in enumerate(bins) if number]
    return range(min(used), max(used) + 1)


def _behind_a_click(table_of_chart: Html) -> Html:
    return tag("details", tag("summary", "As a table"), table_of_chart)


def copies(source: ReportSource, max_distance: int = DISTANCE) -> Html:
    """Return the section on duplicates and near-duplicates.

    Pages are near-duplicates if their fingerprints differ in at most `max_distance` bits.
    """
    statistics = source.statistics
    if statistics.duplicates:
        share = numbers.percent(statistics.duplicates, statistics.documents)
        words = note(
            tag("b", numbers.number(statistics.duplicates)),
            f" of {numbers.count(statistics.documents, 'document')} ({share}) have a body that was seen before under "
            f"another URL: {numbers.size(statistics.duplicate_size)}.",
        )
    else:
        words = note("No document has a body that was seen before under another URL.")
    return section("copies", "Duplicates", words, _near_duplicates(source, max_distance))


def _near_duplicates(source: ReportSource, max_distance: int) -> Html | None:
    """Return how many pages are near-duplicates, or None if the crawl wrote no fingerprints."""
    logs = [
        (crawl.jobdir / FINGERPRINT_LOG, crawl.outputs[FINGERPRINT_LOG])
        for crawl in source.crawls
        if FINGERPRINT_LOG in crawl.outputs
    ]
    if not logs:
        return None
    lines = chain.from_iterable(_lines(path, length) for path, length in logs)
    try:
        found = near_duplicates(read_log(lines), max_distance)
    except (OSError, ValueError) as error:
        return note(f"{FINGERPRINT_LOG} cannot be read: {error}.")
    similarity = numbers.percent(EXAMPLE_SIMILARITY, 1)
    recall = numbers.percent(reported(EXAMPLE_SIMILARITY, max_distance), 1)
    how_well = f" Of those that share {similarity} of their pairs of words, {recall} are found."
    pages = numbers.count(found.pages, "page")
    if not found.near:
        return note(f"None of {pages} with a fingerprint is a near-duplicate of another.", how_well)
    share = numbers.percent(found.near, found.pages)
    return note(
        tag("b", numbers.number(found.near)),
        f" of {pages} with a fingerprint ({share}) are "
        f"near-duplicates of another, {numbers.number(found.equal)} of them with the same fingerprint.",
        how_well,
    )


def _lines(path: Path, length: int) -> Iterator[bytes]:
    """Yield the complete lines within the first `length` bytes."""
    with regular(path) as log:
        for line in log:
            length -= len(line)
            if length < 0 or not line.endswith(b"\n"):
                return
            yield line


def depth(source: ReportSource) -> Html:
    """Return the section on the links followed since the seed, and the duration of downloads."""
    statistics = source.statistics
    if not statistics.documents:
        return section("depth", "Depth and duration", note("There are no documents yet."))
    depths = statistics.depths  # documents, by links followed
    deepest = max(links for links, documents in enumerate(depths) if documents)
    more = " or more" if deepest == MAX_DEPTH else ""
    by_depth = [
        charts.StackColumn(
            str(links), [documents], f"depth {links}: {numbers.count(documents, 'document')}"
        )
        for links, documents in enumerate(depths[: deepest + 1])
    ]
    by_time = []
    for place in _used_span(statistics.times):
        shortest = numbers.seconds(smallest_number(place) / 1000)
        downloads = statistics.times[place]
        text = f"from {shortest}: {numbers.count(downloads, 'download')}"
        by_time.append(charts.StackColumn(shortest, [downloads], text))
    rows: list[list[Cell]] = [
        [links, documents, documents / statistics.documents]
        for links, documents in enumerate(depths)
        if documents
    ]
    columns = [
        TableColumn("Depth", "number"),
        TableColumn("Documents", "number"),
        TableColumn("Share", "share"),
    ]
    return section(
        "depth",
        "Depth and duration",
        charts.both(
            charts.columns(
                by_depth,
                ("Documents by depth", f"From 0, the seeds, to {deepest} links away{more}."),
                ("links followed since the seed", "documents"),
            ),
            charts.columns(
                by_time,
                (
                    "Downloads by duration",
                    "Answers that ended their URLs, robots.txt included, by the time they took.",
                ),
                ("duration, from the label up to twice as long", "downloads"),
            ),
        ),
        _behind_a_click(table("depth-table", columns, rows, "Documents by depth")),
    )


def extremes(log: LogFindings) -> Html:
    """Return the section on the slowest answers and the largest documents."""
    if not log.slowest and not log.largest:
        return section("extremes", "Slowest and largest", note("There are no answers yet."))
    return section(
        "extremes",
        "Slowest and largest",
        _extremes(
            "slowest-table",
            log.slowest,
            TableColumn("Duration", "seconds"),
            1000,
            "Slowest answers",
        ),
        _extremes(
            "largest-table", log.largest, TableColumn("Bytes", "size"), 1, "Largest documents"
        ),
    )


def _extremes(
    name: str, extremes: list[Extreme], column: TableColumn, divisor: int, caption: str
) -> Html:
    """Return a table of URLs, the largest value first. Values are divided for the table."""
    if not extremes:
        return note(f"{caption}: none yet.")
    rows: list[list[Cell]] = [
        [url.decode("utf-8", "replace"), value / divisor]
        for value, url in sorted(extremes, reverse=True)
    ]
    return table(name, [TableColumn("URL"), column], rows, caption)
