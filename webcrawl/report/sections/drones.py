"""What each drone of a hive did."""

from __future__ import annotations

from webcrawl.report.markup import Html
from webcrawl.report.sections.parts import note, section
from webcrawl.report.source import Source
from webcrawl.report.tables import Cell, Column, table
from webcrawl.statistics.statistics import FAILURES

HEAD = [
    *(Column("Drone"), Column("Documents", "number"), Column("Share", "share"), Column("Bytes", "size")),
    *(Column("URLs ended", "number"), Column("Failed", "number", "URLs without an answer"), Column("Queued", "number")),
    *(Column("Hosts", "number"), Column("Active", "seconds", "time in which anything was downloaded")),
    *(Column("Last checkpoint", "when"), Column("State")),
]


def drones(source: Source) -> Html | None:
    """A row for each; nothing for a crawl that is no hive."""
    if not source.drones:
        return None
    whole = max(source.statistics.documents, 1)
    return section(
        "drones",
        "Drones",
        table("drone-table", HEAD, [_row(drone, whole) for drone in source.drones], "What each drone did"),
        note("Hosts are those with a record: one that changed hands leaves a record behind, and so counts twice."),
    )


def _row(drone: Source, whole: int) -> list[Cell]:
    statistics, series = drone.statistics, drone.statistics.series
    return [
        drone.jobdir.name,
        statistics.documents,
        statistics.documents / whole,
        statistics.size,
        sum(statistics.outcomes.values()),
        sum(many for status, many in statistics.outcomes.items() if status in FAILURES),
        drone.queued,
        drone.state.hosts,
        sum(map(bool, series.downloads)) * series.width / 1000,
        drone.at or None,
        "ended" if drone.clean else "running, or killed",
    ]
