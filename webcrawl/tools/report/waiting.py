"""The report's sections on what became of seeds, what was left out, and what waits, and why."""

from __future__ import annotations

from itertools import islice

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.base.program import program
from webcrawl.frontier.budgets import domain_of
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.record.statistics import host_if_any
from webcrawl.store.jobdir import counter_words
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table
from webcrawl.tools.report.log_summary import LogFindings, SeedRow
from webcrawl.tools.report.report_source import CrawlHosts, ReportSource

OVER = "{} over budget, with {}"
FOLDED = "{} with folded URLs (similar URLs brought nothing new): {}"
LET_IN = (
    "The crawl does not evade block pages: it tries one URL of each host now and then, and "
    "fetches all once a page comes. An owner "
    "lets this crawl in by its signed requests (Web Bot Auth: BOT_KEY, BOT_AGENT) or by its addresses; the page that "
    f"`{program()} identity page` makes has both."
)
PAUSED = "paused by command"
MOST_SEEDS = 2000  # rows of the table
SEED_HEAD = [
    *(
        TableColumn("Seed"),
        TableColumn("Outcome"),
        TableColumn("Found", "number", "URLs that ended and were found from this seed on"),
    ),
    *(
        TableColumn("Fetched", "number", "documents among them"),
        TableColumn("Failed", "number", "no answer, 4xx or 5xx"),
    ),
    TableColumn("Bytes", "size"),
]


def seeds(source: ReportSource, log: LogFindings) -> Html:
    """Return outcomes of seeds, and a row for each: those that failed first."""
    read, known, ended = source.seeds_read, len(log.seeds), log.seeds.ended
    if not known and not read:
        return section(
            "seeds", "Seeds", note("No seed was read from a list, and no URL in crawl.log has one.")
        )
    missing: list[str] = []
    if known < read:
        lists = str(source.seeds.get("src", ""))
        missing = [*islice(log.seeds.missing(lists, read), MOST_SEEDS // 2)]
    rows = [_seed_without_line(url, source.state) for url in missing]
    rows += map(_seed_row, log.seeds.rows(MOST_SEEDS))
    shown = rows[:MOST_SEEDS]
    parts = [_seed_outcomes(log), table("seed-table", SEED_HEAD, shown, "What became of each seed")]
    if len(shown) < known + len(missing):
        parts.append(
            note(
                f"The table has {numbers.number(len(shown))} of {numbers.number(max(known, read))} seeds: first those "
                "without an outcome, then those that failed, then those that gave nothing. All are in logs/crawl.log.",
            ),
        )
    if ended < read:
        parts.append(
            note(
                f"{numbers.count(read - ended, 'seed')} of {numbers.number(read)} read have no outcome yet: they are "
                "queued, were dropped by a filter, or are the same URL as another seed.",
            ),
        )
    if log.seeds.more:
        parts.append(
            note(
                f"{numbers.number(log.seeds.more)} lines belong to further seeds, for which there was no room."
            )
        )
    return section("seeds", "Seeds", join(*parts))


def _seed_outcomes(log: LogFindings) -> Html:
    counts = sorted(log.seeds.outcomes().items(), key=lambda item: (-item[1], item[0]))
    whole = sum(many for _, many in counts)
    cells: list[list[Cell]] = [
        [_outcome_words(status), many, many / whole] for status, many in counts
    ]
    head = [TableColumn("Outcome"), TableColumn("Seeds", "number"), TableColumn("Share", "share")]
    if not cells:
        return note("No seed has an outcome yet.")
    return table("seed-outcome-table", head, cells, "How seeds ended, after their redirects")


def _outcome_words(status: int) -> str:
    return (
        f"{status} {counter_words.status(status)}"
        if status
        else "itself not ended, though URLs found from it have"
    )


def _seed_row(row: SeedRow) -> list[Cell]:
    outcome = _outcome_words(row.status)
    if row.redirected:
        outcome += ", after redirects"
    elif 300 <= row.status < 400 and not row.fetched:
        outcome += ", to a URL seen before or refused"
    return [row.url, outcome, row.found, row.fetched, row.failed, row.size]


def _seed_without_line(url: str, state: CrawlHosts) -> list[Cell]:
    host = host_if_any(url)
    status = state.away.get(host)
    outcome = "no outcome yet"
    if host in state.paused:
        outcome += f": its host is {PAUSED}"
    elif status is not None:
        outcome += (
            f": its host is set aside, {counter_words.failure(status) if status else 'as it asked'}"
        )
    return [url, outcome, 0, 0, 0, 0]


def skipped(source: ReportSource) -> Html:
    """URLs that were found and left out, by reason."""
    figures = source.figures
    rows: list[list[Cell]] = [
        [rule.words, rule.stage, many] for many, rule in counter_words.left_out(figures)
    ]
    rows += [
        [
            counter_words.status(int(name.removeprefix(counter_words.DROPPED))),
            counter_words.Stage.TURN,
            figures[name],
        ]
        for name in counter_words.UNANSWERED
        if figures.get(name)
    ]
    if not rows:
        return section("skipped", "Skipped", note("No URL was left out."))
    rows.sort(key=lambda row: (-int(row[2] or 0), str(row[0])))
    head = [TableColumn("Reason"), TableColumn("By"), TableColumn("Links and URLs", "number")]
    return section(
        "skipped",
        "Skipped",
        table("skipped-table", head, rows, "What was left out, and why"),
        note("Filters count every link that they drop, however often a page repeats it."),
    )


def waiting(source: ReportSource) -> Html:
    """Return hosts that are away, domains over their budgets, and the longest queues."""
    return section(
        "waiting",
        "Waiting and given up",
        join(_aside(source), _walls(source), _given_up(source), _budgets(source), _queues(source)),
        note(
            f"{numbers.count(source.state.damaged, 'host record')} cannot be read: run `{program()} verify`."
        )
        if source.state.damaged
        else None,
    )


def _aside(source: ReportSource) -> Html:
    urls, hosts = source.aside
    if not hosts:
        return note("No host is set aside.")
    walls = {host.name: f"wall: {host.vendor}" for host in source.state.walls}
    cells: list[list[Cell]] = []
    for host in source.state.aside:
        if host.name in source.state.paused:
            cells.append([host.name, host.urls, host.failures, PAUSED, None])
            continue
        why = (
            counter_words.failure(host.status)
            if host.status
            else walls.get(host.name, "asked to wait")
        )
        cells.append([host.name, host.urls, host.failures, why, host.due])
    head = [
        *(
            TableColumn("Host"),
            TableColumn("URLs", "number"),
            TableColumn("Failures in a row", "number"),
            TableColumn("Because"),
        ),
        TableColumn("Next try", "when"),
    ]
    caption = f"{numbers.count(hosts, 'host')} set aside, with {numbers.count(urls, 'URL')}"
    return table("aside-table", head, cells, caption)


def _walls(source: ReportSource) -> Html:
    state = source.state
    if not state.walls:
        return note("No host answers with block pages.")
    cells: list[list[Cell]] = [
        [host.name, f"wall: {host.vendor}", host.answers, host.since, host.urls, host.due]
        for host in state.walls
    ]
    head = [
        *(
            TableColumn("Host"),
            TableColumn("Wall"),
            TableColumn("Answers", "number"),
            TableColumn("Since", "when"),
        ),
        *(TableColumn("URLs", "number"), TableColumn("Next try", "when")),
    ]
    each = ", ".join(
        f"{vendor}: {numbers.number(many)}" for vendor, many in state.vendors.most_common()
    )
    caption = f"{numbers.count(state.vendors.total(), 'host')} behind block pages ({each})"
    return join(table("walls-table", head, cells, caption), note(LET_IN))


def _given_up(source: ReportSource) -> Html:
    state = source.state
    many = sum(state.given_up_by.values())
    if not many:
        return note("No host was given up.")
    why = ", ".join(
        f"{numbers.number(one)} {counter_words.status(status)}"
        for status, one in state.given_up_by.most_common()
    )
    cells: list[list[Cell]] = [
        [name, counter_words.status(status)] for name, status in state.given_up
    ]
    head = [TableColumn("Host"), TableColumn("Because")]
    return table("given-up-table", head, cells, f"{numbers.count(many, 'host')} given up: {why}")


def _budgets(source: ReportSource) -> Html:
    said = []
    for (domains, urls), what in ((source.state.over_budget, OVER), (source.state.folded, FOLDED)):
        if domains:
            said.append(what.format(numbers.count(domains, "domain"), numbers.count(urls, "URL")))
    if not said:
        return note("No domain is over its budget, and no URL is folded.")
    cells: list[list[Cell]] = [
        [_of_domain(name), many, rank] for name, many, rank in source.state.domains
    ]
    head = [
        TableColumn("Domain"),
        TableColumn("URLs that wait", "number"),
        TableColumn("Domains that link to it", "number"),
    ]
    return table("budget-table", head, cells, "; ".join(said))


def _of_domain(name: str) -> str:
    """Return the domain of a row, and whether its URLs are folded."""
    return f"{domain_of(name)}{' (folded)' if name.endswith(FAMILIES) else ''}"


def _queues(source: ReportSource) -> Html:
    if not source.state.queues:
        return note("No host has URLs in its queue.")
    cells: list[list[Cell]] = [[host.name, host.urls] for host in source.state.queues[:20]]
    return table(
        "queue-table",
        [TableColumn("Host"), TableColumn("URLs", "number")],
        cells,
        "Hosts with the longest queues",
    )
