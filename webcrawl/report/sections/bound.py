"""What bounded the crawl: seconds by cause, over all runs, and what would have helped."""

from __future__ import annotations

from webcrawl.profiling.bound_said import HELPS, WORDS, shares
from webcrawl.report.markup import Html
from webcrawl.report.sections.parts import note, section
from webcrawl.report.source import Source
from webcrawl.report.tables import Cell, Column, table

HEAD = [Column("Bound by"), Column("Time", "seconds"), Column("Share", "share"), Column("What helps")]


def bound(source: Source) -> Html:
    """A row for each cause; of a hive the time of all drones."""
    rows: list[list[Cell]] = [
        [WORDS[cause], seconds, share, HELPS[cause]] for cause, (seconds, share) in shares(source.counters).items()
    ]
    if not rows:
        return section("bound", "What bounded it", note("Nobody has looked at it while it ran."))
    return section(
        "bound",
        "What bounded it",
        note("Once a second the crawl names the one thing that it waits for most."),
        table("bound-table", HEAD, rows, "Time of the crawl, by what bounded it"),
    )
