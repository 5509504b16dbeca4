"""The report's sections on servers and drones: figures 9 and 10 of the Mercator paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import attrgetter

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.base.model import FAILURES
from webcrawl.record.statistics import top_level_domain
from webcrawl.record.tally import BYTES, DOCUMENTS, HostRow, HostTally, NameTally
from webcrawl.store.jobdir.stats_file import OTHERS, STORE_FAILED
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table
from webcrawl.tools.report.report_source import ReportSource

MAX_ROWS = 100  # of a table
DOTS_PER_AXIS = 150  # dots that would overlap are drawn once
MIN_DOWNLOADS = 3  # of a host: the mean duration of fewer says little


def servers(source: ReportSource) -> Html:
    """Return the section on hosts: how content is spread over them (figure 9), and the largest."""
    hosts = source.statistics.hosts
    rows = [*hosts]
    if not any(row.documents for row in rows):
        return section("hosts", "Hosts", note("No host has given a document yet."), _failing(rows))
    return section(
        "hosts",
        "Hosts",
        _exactness(hosts),
        charts.both(
            _spread(hosts, DOCUMENTS, "Documents per server", "documents", numbers.number),
            _spread(hosts, BYTES, "Bytes per server", "bytes", numbers.size),
        ),
        _largest(rows, source.statistics.documents),
        _slowest(rows),
        _failing(rows),
        _scripted(source.statistics.scripted),
    )


def _exactness(hosts: HostTally) -> Html:
    """Return a note on what a point of the charts means, and how exact the figures are."""
    if not hosts.level:
        return note(
            "A point (x, y) means that x servers had at least y documents, or bytes. All hosts are counted exactly."
        )
    documents = numbers.count(hosts.max_missed[DOCUMENTS], "document")
    size = numbers.size(hosts.max_missed[BYTES])
    return note(
        "A point (x, y) means that x servers had at least y documents, or bytes. There are more hosts than are kept by "
        f"name: what the table says of one may be too little by {documents} and {size} at most, and "
        f"no host with more is missing. The small ones are known from a sample of one "
        f"in {numbers.number(1 << hosts.level)}.",
    )


def at_least(hosts: HostTally, measure: int) -> list[tuple[int, int]]:
    """Return pairs of a number of hosts and the value that so many have at least.

    The largest value comes first. `measure` is DOCUMENTS or BYTES.
    """
    hosts_by_value: Counter[int] = Counter()
    for row, weight in hosts.weighted_rows(measure):
        hosts_by_value[(row.documents, row.size)[measure]] += weight
    points = []
    hosts_so_far = 0
    for value in sorted(filter(None, hosts_by_value), reverse=True):
        hosts_so_far += hosts_by_value[value]
        points.append((hosts_so_far, value))
    return points


def _spread(
    hosts: HostTally, measure: int, title: str, unit: str, label: Callable[[float], str]
) -> Html | None:
    """Return the chart of hosts with at least so much, or None if all documents are empty."""
    points = at_least(hosts, measure)
    if not points:
        return None
    _, largest = points[0]
    all_hosts, smallest = points[-1]
    x_axis = charts.powers(1, all_hosts, numbers.number)
    y_axis = charts.powers(smallest, largest, label)
    dots: dict[tuple[int, int], tuple[int, int]] = {}
    for number, value in points:
        column = round(x_axis.place(number) * DOTS_PER_AXIS)
        row = round(y_axis.place(value) * DOTS_PER_AXIS)
        dots.setdefault((column, row), (number, value))
    text = (
        f"The first has {label(largest)}; "
        f"{numbers.number(all_hosts)} have at least {label(smallest)}."
    )
    return charts.dots(
        dots.values(),
        x_axis,
        y_axis,
        (title, text),
        ("servers with at least so much", unit),
    )


def _largest(rows: Iterable[HostRow], all_documents: int) -> Html:
    """Return a table of the hosts that are among the first by documents or by bytes."""
    rows = [row for row in rows if row.documents]
    largest = {
        row.name: row
        for measure in (attrgetter("documents"), attrgetter("size"))
        for row in sorted(rows, key=measure, reverse=True)[:MAX_ROWS]
    }
    cells: list[list[Cell]] = [
        [
            row.name,
            row.documents,
            row.documents / all_documents,
            row.size,
            row.failures,
            row.seconds,
        ]
        for row in sorted(largest.values(), key=lambda row: (-row.documents, row.name))
    ]
    columns = [
        TableColumn("Host"),
        TableColumn("Documents", "number"),
        TableColumn("Share", "part"),
        TableColumn("Bytes", "size"),
        TableColumn("Failures", "number"),
        TableColumn("Mean duration", "seconds"),
    ]
    return table("host-table", columns, cells, "Hosts with most documents or bytes")


def _slowest(rows: Iterable[HostRow]) -> Html:
    """Return a table of the hosts with the longest mean duration of a download."""
    measured = [row for row in rows if row.downloads >= MIN_DOWNLOADS]
    if not measured:
        return note(f"No host has answered {MIN_DOWNLOADS} times yet, so none is called slow.")
    slowest = sorted(measured, key=lambda row: (-row.seconds, row.name))[:MAX_ROWS]
    cells: list[list[Cell]] = [[row.name, row.seconds, row.downloads] for row in slowest]
    columns = [
        TableColumn("Host"),
        TableColumn("Mean duration", "seconds"),
        TableColumn("Downloads", "number"),
    ]
    caption = f"Slowest hosts, of those that answered at least {MIN_DOWNLOADS} times"
    return table("slow-table", columns, cells, caption)


def _failing(rows: Iterable[HostRow]) -> Html:
    """Return a table of the hosts with most failures."""
    failing = [row for row in rows if row.failures]
    if not failing:
        return note("No URL has ended because its host did not answer, or with 5xx.")
    failing.sort(key=lambda row: (-row.failures, row.name))
    cells: list[list[Cell]] = [
        [row.name, row.failures, row.downloads] for row in failing[:MAX_ROWS]
    ]
    columns = [
        TableColumn("Host"),
        TableColumn(
            "Failures", "number", "URLs that ended because the host did not answer, or with 5xx"
        ),
        TableColumn("Answers", "number"),
    ]
    return table("failing-table", columns, cells, "Hosts with most failures")


def _scripted(scripted: NameTally) -> Html | None:
    """Return the hosts whose pages show next to nothing without a browser, if there are any."""
    rows = scripted.rows()
    if not rows:
        return None
    cells: list[list[Cell]] = [[name, pages] for name, pages, _ in rows[:MAX_ROWS]]
    columns = [
        TableColumn("Host"),
        TableColumn("Pages", "number", "that have scripts, and next to no text without them"),
    ]
    caption = "Hosts whose pages seem to need scripts (RENDER)"
    return table("scripted-table", columns, cells, caption)


def domains(source: ReportSource) -> Html:
    """Return the section on hosts and documents by top-level domain (figure 10)."""
    statistics = source.statistics
    if not statistics.documents:
        return section("domains", "Top-level domains", note("There are no documents yet."))
    hosts_by_domain: Counter[str] = Counter()
    for row, weight in statistics.hosts.weighted_rows(DOCUMENTS):
        if row.documents:
            hosts_by_domain[top_level_domain(row.name)] += weight
    all_hosts = sum(hosts_by_domain.values())
    rows = statistics.domains.top(MAX_ROWS)
    # The last row of the statistics may be that of all other domains.
    hosts_by_domain[OTHERS] = all_hosts - sum(hosts_by_domain[name] for name, *_ in rows)
    cells: list[list[Cell]] = [
        [
            _dotted(name),
            hosts_by_domain[name],
            hosts_by_domain[name] / all_hosts,
            documents,
            documents / statistics.documents,
            size,
        ]
        for name, documents, size in rows
    ]
    columns = [
        TableColumn("Domain"),
        TableColumn("Hosts", "number"),
        TableColumn("of hosts", "share"),
        TableColumn("Documents", "number"),
        TableColumn("of documents", "share"),
        TableColumn("Bytes", "size"),
    ]
    return section(
        "domains",
        "Top-level domains",
        join(table("domain-table", columns, cells, "Hosts and documents")),
    )


def _dotted(name: str) -> str:
    """Return a domain with a dot before it; a name in parentheses is no domain."""
    return name if name.startswith("(") else f".{name}"


DRONE_COLUMNS = [
    TableColumn("Drone"),
    TableColumn("Documents", "number"),
    TableColumn("Share", "share"),
    TableColumn("Bytes", "size"),
    TableColumn("URLs ended", "number"),
    TableColumn("Failed", "number", "URLs whose hosts did not answer"),
    TableColumn("Queued", "number"),
    TableColumn("Hosts", "number"),
    TableColumn("Active", "seconds", "time in which anything was downloaded"),
    TableColumn("Last checkpoint", "when"),
    TableColumn("State"),
]


def drones(source: ReportSource) -> Html | None:
    """Return the section with a row for each drone, or None for a crawl that is no hive."""
    if not source.drones:
        return None
    all_documents = max(source.statistics.documents, 1)
    return section(
        "drones",
        "Drones",
        table(
            "drone-table",
            DRONE_COLUMNS,
            [_drone_row(drone, all_documents) for drone in source.drones],
            "What each drone did",
        ),
        note(
            "Hosts are those with a record: one that changed hands leaves a record behind, and so counts twice."
        ),
    )


def _drone_row(drone: ReportSource, all_documents: int) -> list[Cell]:
    """Return the cells of a drone, in the order of DRONE_COLUMNS."""
    statistics = drone.statistics
    return [
        drone.jobdir.name,
        statistics.documents,
        statistics.documents / all_documents,
        statistics.size,
        sum(statistics.outcomes.values()),
        sum(urls for status, urls in statistics.outcomes.items() if status in FAILURES),
        drone.queued,
        drone.state.hosts,
        statistics.series.active,
        drone.at or None,
        _state(drone),
    ]


def _state(drone: ReportSource) -> str:
    if drone.is_clean:
        return "ended"
    return f"failed ({STORE_FAILED})" if drone.has_failed else "running, or killed"
