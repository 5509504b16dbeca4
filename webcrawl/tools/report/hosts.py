"""The report's sections on servers and drones: figures 9 and 10 of the Mercator paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import attrgetter

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.base.model import FAILURES
from webcrawl.record.statistics import top_level_domain
from webcrawl.record.tally import HostRow, HostTally, NameTally
from webcrawl.store.jobdir.stats_file import OTHERS
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table
from webcrawl.tools.report.report_source import ReportSource

MOST = 100  # rows of a table
POINTS = 150  # dots of a chart
SLOW = 3  # downloads of a host from which on their mean says something


def servers(source: ReportSource) -> Html:
    """Return the spread of content over servers (figure 9), and the first of them."""
    hosts = source.statistics.hosts
    rows = [*hosts]
    if not any(row.documents for row in rows):
        return section("hosts", "Hosts", note("No host has given a document yet."), _failing(rows))
    return section(
        "hosts",
        "Hosts",
        _exactness(hosts),
        charts.both(
            _spread(hosts, 0, "Documents per server", "documents", numbers.number),
            _spread(hosts, 1, "Bytes per server", "bytes", numbers.size),
        ),
        _first(rows, source.statistics.documents),
        _slowest(rows),
        _failing(rows),
        _scripted(source.statistics.scripted),
    )


def _exactness(hosts: HostTally) -> Html:
    if not hosts.level:
        return note(
            "A point (x, y) means that x servers had at least y documents, or bytes. All hosts are counted exactly."
        )
    return note(
        "A point (x, y) means that x servers had at least y documents, or bytes. There are more hosts than are kept by "
        f"name: what the table says of one may be too little by {numbers.count(hosts.max_missed[0], 'document')} and "
        f"{numbers.size(hosts.max_missed[1])} at most, and no host with more is missing. The small ones are known from "
        f"a sample of one in {numbers.number(1 << hosts.level)}.",
    )


def at_least(hosts: HostTally, measure: int) -> list[tuple[int, int]]:
    """Return (hosts, value) for each value: how many hosts have at least so much, largest first."""
    weights: Counter[int] = Counter()
    for row, weight in hosts.weighted_rows(measure):
        weights[(row.documents, row.size)[measure]] += weight
    found, reached = [], 0
    for value in sorted(filter(None, weights), reverse=True):
        reached += weights[value]
        found.append((reached, value))
    return found


def _spread(
    hosts: HostTally, measure: int, title: str, unit: str, label: Callable[[float], str]
) -> Html | None:
    points = at_least(hosts, measure)
    if not points:  # all documents are empty
        return None
    x = charts.powers(1, points[-1][0], numbers.number)
    y = charts.powers(points[-1][1], points[0][1], label)
    shown: dict[tuple[int, int], tuple[int, int]] = {}
    for many, value in points:
        shown.setdefault(
            (round(x.place(many) * POINTS), round(y.place(value) * POINTS)), (many, value)
        )
    (_, largest), (many, least) = points[0], points[-1]
    return charts.dots(
        shown.values(),
        x,
        y,
        (
            title,
            f"The first has {label(largest)}; {numbers.number(many)} have at least {label(least)}.",
        ),
        ("servers with at least so much", unit),
    )


def _first(rows: Iterable[HostRow], documents: int) -> Html:
    rows = [row for row in rows if row.documents]
    first = {
        row.name: row
        for by in (attrgetter("documents"), attrgetter("size"))
        for row in sorted(rows, key=by, reverse=True)[:MOST]
    }
    cells: list[list[Cell]] = [
        [row.name, row.documents, row.documents / documents, row.size, row.failures, row.seconds]
        for row in sorted(first.values(), key=lambda row: (-row.documents, row.name))
    ]
    head = [
        *(
            TableColumn("Host"),
            TableColumn("Documents", "number"),
            TableColumn("Share", "part"),
            TableColumn("Bytes", "size"),
        ),
        *(TableColumn("Failures", "number"), TableColumn("Mean duration", "seconds")),
    ]
    return table("host-table", head, cells, "Hosts with most documents or bytes")


def _slowest(rows: Iterable[HostRow]) -> Html:
    slow = sorted(
        (row for row in rows if row.downloads >= SLOW), key=lambda row: (-row.seconds, row.name)
    )
    if not slow:
        return note(f"No host has answered {SLOW} times yet, so none is called slow.")
    cells: list[list[Cell]] = [[row.name, row.seconds, row.downloads] for row in slow[:MOST]]
    head = [
        TableColumn("Host"),
        TableColumn("Mean duration", "seconds"),
        TableColumn("Downloads", "number"),
    ]
    return table(
        "slow-table", head, cells, f"Slowest hosts, of those that answered at least {SLOW} times"
    )


def _failing(rows: Iterable[HostRow]) -> Html:
    failing = sorted(
        (row for row in rows if row.failures), key=lambda row: (-row.failures, row.name)
    )
    if not failing:
        return note("No URL has ended without an answer, or with 5xx.")
    cells: list[list[Cell]] = [[row.name, row.failures, row.downloads] for row in failing[:MOST]]
    head = [
        *(
            TableColumn("Host"),
            TableColumn("Failures", "number", "URLs that ended without an answer, or with 5xx"),
        ),
        TableColumn("Answers", "number"),
    ]
    return table("failing-table", head, cells, "Hosts with most failures")


def _scripted(scripted: NameTally) -> Html | None:
    """Return the hosts whose pages show next to nothing without a browser, if there are any."""
    rows = scripted.rows()
    if not rows:
        return None
    cells: list[list[Cell]] = [[name, many] for name, many, _ in rows[:MOST]]
    head = [
        TableColumn("Host"),
        TableColumn("Pages", "number", "that have scripts, and next to no text without them"),
    ]
    return table("scripted-table", head, cells, "Hosts whose pages seem to need scripts (RENDER)")


def domains(source: ReportSource) -> Html:
    """Return hosts and documents by top-level domain (figure 10)."""
    statistics = source.statistics
    if not statistics.documents:
        return section("domains", "Top-level domains", note("There are no documents yet."))
    hosts: Counter[str] = Counter()
    for row, weight in statistics.hosts.weighted_rows(0):
        if row.documents:
            hosts[top_level_domain(row.name)] += weight
    whole = sum(hosts.values())
    rows = statistics.domains.top(MOST)
    hosts[OTHERS] = whole - sum(hosts[name] for name, *_ in rows)
    cells: list[list[Cell]] = [
        [_dotted(name), hosts[name], hosts[name] / whole, many, many / statistics.documents, size]
        for name, many, size in rows
    ]
    head = [
        *(
            TableColumn("Domain"),
            TableColumn("Hosts", "number"),
            TableColumn("of hosts", "share"),
            TableColumn("Documents", "number"),
        ),
        *(TableColumn("of documents", "share"), TableColumn("Bytes", "size")),
    ]
    return section(
        "domains",
        "Top-level domains",
        join(table("domain-table", head, cells, "Hosts and documents")),
    )


def _dotted(name: str) -> str:
    return name if name.startswith("(") else f".{name}"


HEAD = [
    *(
        TableColumn("Drone"),
        TableColumn("Documents", "number"),
        TableColumn("Share", "share"),
        TableColumn("Bytes", "size"),
    ),
    *(
        TableColumn("URLs ended", "number"),
        TableColumn("Failed", "number", "URLs without an answer"),
        TableColumn("Queued", "number"),
    ),
    *(
        TableColumn("Hosts", "number"),
        TableColumn("Active", "seconds", "time in which anything was downloaded"),
    ),
    *(TableColumn("Last checkpoint", "when"), TableColumn("State")),
]


def drones(source: ReportSource) -> Html | None:
    """Return a row for each drone; nothing for a crawl that is no hive."""
    if not source.drones:
        return None
    whole = max(source.statistics.documents, 1)
    return section(
        "drones",
        "Drones",
        table(
            "drone-table",
            HEAD,
            [_row(drone, whole) for drone in source.drones],
            "What each drone did",
        ),
        note(
            "Hosts are those with a record: one that changed hands leaves a record behind, and so counts twice."
        ),
    )


def _row(drone: ReportSource, whole: int) -> list[Cell]:
    statistics = drone.statistics
    return [
        drone.jobdir.name,
        statistics.documents,
        statistics.documents / whole,
        statistics.size,
        sum(statistics.outcomes.values()),
        sum(many for status, many in statistics.outcomes.items() if status in FAILURES),
        drone.queued,
        drone.state.hosts,
        statistics.series.active,
        drone.at or None,
        "ended" if drone.clean else "running, or killed",
    ]
