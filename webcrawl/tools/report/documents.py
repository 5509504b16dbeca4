"""The report's sections on documents: figures 7 and 8 of the Mercator paper, and copies."""

from __future__ import annotations

from collections.abc import Iterator
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

MOST = 50
NEAR = "logs/neardup.log"
ALIKE = 0.9  # what the note on near-duplicates says how well it finds


def types(source: ReportSource) -> Html:
    """Return the documents by content type (figure 7)."""
    statistics = source.statistics
    if not statistics.documents:
        return section("types", "Content types", note("There are no documents yet."))
    rows: list[list[Cell]] = [
        [name, many, many / statistics.documents, size, size / many]
        for name, many, size in statistics.types.top(MOST)
    ]
    head = [
        *(
            TableColumn("Content type"),
            TableColumn("Documents", "number"),
            TableColumn("Share", "share"),
        ),
        *(TableColumn("Bytes", "size"), TableColumn("Mean", "size")),
    ]
    return section(
        "types", "Content types", table("type-table", head, rows, "Documents by content type")
    )


def sizes(source: ReportSource) -> Html:
    """Return the documents by size (figure 8)."""
    bins = source.statistics.sizes
    if not source.statistics.documents:
        return section("sizes", "Document sizes", note("There are no documents yet."))
    used = [at for at in range(len(bins[0])) if any(group[at] for group in bins)]
    span = range(min(used), max(used) + 1)
    shown = [group for group, values in enumerate(bins) if any(values)]
    stacks = [
        charts.StackColumn(
            numbers.binary(smallest_number(at)),
            [bins[group][at] for group in shown],
            f"from {numbers.binary(smallest_number(at))} bytes: "
            f"{numbers.count(sum(group[at] for group in bins), 'document')}",
        )
        for at in span
    ]
    chart = charts.columns(
        stacks,
        (
            "Documents by size",
            "A document of n bytes is in the last column whose label is not greater than n.",
        ),
        ("bytes, from the label up to twice as many", "documents"),
    )
    names = [GROUPS[group] for group in shown]
    rows: list[list[Cell]] = [
        [
            smallest_number(at),
            *(bins[group][at] for group in shown),
            sum(group[at] for group in bins),
        ]
        for at in span
    ]
    head = [
        TableColumn("From bytes", "number"),
        *(TableColumn(name, "number") for name in names),
        TableColumn("All", "number"),
    ]
    return section(
        "sizes",
        "Document sizes",
        chart,
        charts.legend(names),
        _details(table("size-table", head, rows, "Documents by size and group of types")),
    )


def _details(made: Html) -> Html:
    return tag("details", tag("summary", "As a table"), made)


def copies(source: ReportSource, distance: int = DISTANCE) -> Html:
    """Return bodies that were seen before, and pages whose fingerprints differ in few bits."""
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
    return section("copies", "Duplicates", words, _near(source, distance))


def _near(source: ReportSource, distance: int) -> Html | None:
    """Return how many pages are nearly the same as another, if fingerprints were noted."""
    logs = [
        (crawl.jobdir / NEAR, crawl.outputs[NEAR])
        for crawl in source.crawls
        if NEAR in crawl.outputs
    ]
    if not logs:
        return None
    try:
        found = near_duplicates(
            read_log(chain.from_iterable(_lines(path, length) for path, length in logs)), distance
        )
    except (OSError, ValueError) as error:
        return note(f"{NEAR} cannot be read: {error}.")
    recall = numbers.percent(reported(ALIKE, distance), 1)
    finds = f" Of those that share {numbers.percent(ALIKE, 1)} of their pairs of words, {recall} are found."
    if not found.near:
        none = f"None of {numbers.count(found.pages, 'page')} with a fingerprint is a near-duplicate of another."
        return note(none, finds)
    return note(
        tag("b", numbers.number(found.near)),
        f" of {numbers.count(found.pages, 'page')} with a fingerprint ({numbers.percent(found.near, found.pages)}) are "
        f"near-duplicates of another, {numbers.number(found.equal)} of them with the same fingerprint.",
        finds,
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
    """Return the links followed since the seed, and how long downloads took."""
    statistics = source.statistics
    depths, times = statistics.depths, statistics.times
    if not statistics.documents:
        return section("depth", "Depth and duration", note("There are no documents yet."))
    deepest = max(at for at, many in enumerate(depths) if many)
    more = " or more" if deepest == MAX_DEPTH else ""
    by_depth = [
        charts.StackColumn(str(at), [many], f"depth {at}: {numbers.count(many, 'document')}")
        for at, many in enumerate(depths[: deepest + 1])
    ]
    used = [at for at, many in enumerate(times) if many]
    by_time = [
        charts.StackColumn(
            numbers.seconds(smallest_number(at) / 1000),
            [times[at]],
            f"from {numbers.seconds(smallest_number(at) / 1000)}: {numbers.count(times[at], 'download')}",
        )
        for at in range(min(used), max(used) + 1)
    ]
    rows: list[list[Cell]] = [
        [at, many, many / statistics.documents] for at, many in enumerate(depths) if many
    ]
    head = [
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
        _details(table("depth-table", head, rows, "Documents by depth")),
    )


def extremes(log: LogFindings) -> Html:
    """Return the slowest and the largest answers."""
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
    name: str, found: list[Extreme], column: TableColumn, unit: int, caption: str
) -> Html:
    rows: list[list[Cell]] = [
        [url.decode("utf-8", "replace"), value / unit] for value, url in sorted(found, reverse=True)
    ]
    return (
        table(name, [TableColumn("URL"), column], rows, caption)
        if rows
        else note(f"{caption}: none yet.")
    )
