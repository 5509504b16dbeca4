"""The report's sections on the outcomes of seeds, on what was left out, and on what waits and why."""

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

OVER_BUDGET = "{} over budget, with {}"
FOLDED = "{} with folded URLs (similar URLs brought nothing new): {}"
HOW_TO_LET_IN = (
    "The crawl does not evade block pages: it tries one URL of each host now and then, and "
    "fetches all once a page comes. An owner "
    "lets this crawl in by its signed requests (Web Bot Auth: BOT_KEY, BOT_AGENT) or by its addresses; the page that "
    f"`{program()} identity page` makes has both."
)
PAUSED = "paused by command"
LONG_WAIT = "it asked to wait, or your settings make it wait long"
MAX_SEED_ROWS = 2000
MAX_QUEUE_ROWS = 20
SEED_COLUMNS = [
    TableColumn("Seed"),
    TableColumn("Outcome"),
    TableColumn("Found", "number", "URLs that ended and were found from this seed on"),
    TableColumn("Fetched", "number", "documents among them"),
    TableColumn("Failed", "number", "no answer, 4xx or 5xx"),
    TableColumn("Bytes", "size"),
]


def seeds(source: ReportSource, log: LogFindings) -> Html:
    """Return the section on seeds: how many ended how, and a row for each, failed ones first."""
    read = source.seeds_read
    in_log = len(log.seeds)
    if not in_log and not read:
        return section(
            "seeds", "Seeds", note("No seed was read from a list, and no URL in crawl.log has one.")
        )
    without_line: list[str] = []
    if in_log < read:
        lists = str(source.seeds.get("src", ""))
        # Half of the rows at most: the other half is for those with an outcome.
        without_line = [*islice(log.seeds.seeds_without_line(lists, read), MAX_SEED_ROWS // 2)]
    rows = [_seed_without_line(url, source.state) for url in without_line]
    rows += map(_seed_row, log.seeds.rows(MAX_SEED_ROWS))
    shown = rows[:MAX_SEED_ROWS]
    parts = [
        _seed_outcomes(log),
        table("seed-table", SEED_COLUMNS, shown, "What became of each seed"),
    ]
    if len(shown) < in_log + len(without_line):
        all_seeds = max(in_log, read)
        parts.append(
            note(
                f"The table has {numbers.number(len(shown))} of {numbers.number(all_seeds)} seeds: first those "
                "without an outcome, then those that failed, then those that gave nothing. All that "
                "ended are in logs/crawl.log.",
            ),
        )
    without_outcome = read - log.seeds.ended
    if without_outcome > 0:
        parts.append(
            note(
                f"{numbers.count(without_outcome, 'seed')} of {numbers.number(read)} read without "
                "an outcome as a seed: queued, dropped by a filter, the same URL as another seed, "
                "or found by a link first."
            ),
        )
    lines = log.seeds.lines_without_room
    if lines:
        parts.append(
            note(
                f"{numbers.number(lines)} lines belong to further seeds, for which there was no room."
            )
        )
    return section("seeds", "Seeds", join(*parts))


def _seed_outcomes(log: LogFindings) -> Html:
    """Return a table of the seeds by outcome, the most frequent first."""
    counts = sorted(log.seeds.outcomes().items(), key=lambda item: (-item[1], item[0]))
    if not counts:
        return note("No seed has an outcome yet.")
    whole = sum(number for _, number in counts)
    rows: list[list[Cell]] = [
        [_outcome_words(status), number, number / whole] for status, number in counts
    ]
    columns = [
        TableColumn("Outcome"),
        TableColumn("Seeds", "number"),
        TableColumn("Share", "share"),
    ]
    return table("seed-outcome-table", columns, rows, "How seeds ended, after their redirects")


def _outcome_words(status: int) -> str:
    if not status:
        return "itself not ended, though URLs found from it have"
    return f"{status} {counter_words.status(status)}"


def _seed_row(row: SeedRow) -> list[Cell]:
    outcome = _outcome_words(row.status)
    if row.redirected:
        outcome += ", after redirects"
    elif 300 <= row.status < 400 and not row.fetched:
        outcome += ", to a URL seen before or refused"
    return [row.url, outcome, row.found, row.fetched, row.failed, row.size]


def _seed_without_line(url: str, state: CrawlHosts) -> list[Cell]:
    """Return the row of a seed that the log does not have, and why its host is not requested."""
    host = host_if_any(url)
    status = state.deferred_status.get(host)
    outcome = "no outcome as a seed"
    if host in state.paused:
        outcome += f": its host is {PAUSED}"
    elif status is not None:
        reason = counter_words.failure(status) if status else LONG_WAIT
        outcome += f": its host is deferred: {reason}"
    return [url, outcome, 0, 0, 0, 0]


def skipped(source: ReportSource) -> Html:
    """Return the section on URLs that were found and left out, by reason."""
    figures = source.figures
    rows: list[list[Cell]] = [
        [rule.words, rule.stage, number] for number, rule in counter_words.left_out(figures)
    ]
    for name in counter_words.UNANSWERED:
        if figures.get(name):
            status = int(name.removeprefix(counter_words.DROPPED))
            rows.append([counter_words.status(status), counter_words.Stage.TURN, figures[name]])
    if not rows:
        return section("skipped", "Skipped", note("No URL was left out."))
    rows.sort(key=lambda row: (-int(row[2] or 0), str(row[0])))
    columns = [TableColumn("Reason"), TableColumn("By"), TableColumn("Links and URLs", "number")]
    return section(
        "skipped",
        "Skipped",
        table("skipped-table", columns, rows, "What was left out, and why"),
        note("Filters count every link that they drop, however often a page repeats it."),
    )


def waiting(source: ReportSource) -> Html:
    """Return the section on hosts that are not requested now, domains over budget and long queues."""
    damaged = source.state.damaged
    warning = None
    if damaged:
        records = numbers.count(damaged, "host record")
        warning = note(f"{records} cannot be read: run `{program()} verify`.")
    return section(
        "waiting",
        "Waiting and given up",
        join(
            _deferred_hosts(source),
            _blocked_hosts(source.state),
            _hosts_given_up(source.state),
            _budgets(source.state),
            _queues(source.state),
        ),
        warning,
    )


def _deferred_hosts(source: ReportSource) -> Html:
    """Return a table of the deferred hosts, with the reason and the time of the next try."""
    urls, hosts = source.deferred
    if not hosts:
        return note("No host is deferred.")
    vendors = {host.name: host.vendor for host in source.state.blocked}
    rows: list[list[Cell]] = []
    for host in source.state.deferred:
        due: float | None = host.due
        if host.name in source.state.paused:
            reason = PAUSED
            due = None
        elif host.status:
            reason = counter_words.failure(host.status)
        elif host.name in vendors:
            reason = f"block pages: {vendors[host.name]}"
        else:
            reason = LONG_WAIT
        rows.append([host.name, host.urls, host.failures, reason, due])
    columns = [
        TableColumn("Host"),
        TableColumn("URLs", "number"),
        TableColumn("Failures in a row", "number"),
        TableColumn("Because"),
        TableColumn("Next try", "when"),
    ]
    caption = f"{numbers.count(hosts, 'deferred host')} with {numbers.count(urls, 'URL')}"
    return table("deferred-table", columns, rows, caption)


def _blocked_hosts(state: CrawlHosts) -> Html:
    """Return a table of the hosts that answer with block pages, and how an owner can let us in."""
    if not state.blocked:
        return note("No host answers with block pages.")
    rows: list[list[Cell]] = [
        [host.name, host.vendor, host.answers, host.since, host.urls, host.due]
        for host in state.blocked
    ]
    columns = [
        TableColumn("Host"),
        TableColumn("Block page"),
        TableColumn("Answers", "number"),
        TableColumn("Since", "when"),
        TableColumn("URLs", "number"),
        TableColumn("Next try", "when"),
    ]
    vendors = ", ".join(
        f"{vendor}: {numbers.number(hosts)}"
        for vendor, hosts in state.blocked_by_vendor.most_common()
    )
    hosts = numbers.count(state.blocked_by_vendor.total(), "host")
    caption = f"{hosts} behind block pages ({vendors})"
    return join(table("blocked-table", columns, rows, caption), note(HOW_TO_LET_IN))


def _hosts_given_up(state: CrawlHosts) -> Html:
    """Return a table of the hosts that were given up, with the reasons."""
    hosts = sum(state.given_up_by_status.values())
    if not hosts:
        return note("No host was given up.")
    reasons = ", ".join(
        f"{numbers.number(number)} {counter_words.status(status)}"
        for status, number in state.given_up_by_status.most_common()
    )
    rows: list[list[Cell]] = [
        [name, counter_words.status(status)] for name, status in state.given_up
    ]
    columns = [TableColumn("Host"), TableColumn("Because")]
    caption = f"{numbers.count(hosts, 'host')} given up: {reasons}"
    return table("given-up-table", columns, rows, caption)


def _budgets(state: CrawlHosts) -> Html:
    """Return a table of the domains whose URLs wait for a budget, or are folded."""
    captions = []
    for (domains, urls), words in ((state.over_budget, OVER_BUDGET), (state.folded, FOLDED)):
        if domains:
            captions.append(
                words.format(numbers.count(domains, "domain"), numbers.count(urls, "URL"))
            )
    if not captions:
        return note("No domain is over its budget, and no URL is folded.")
    rows: list[list[Cell]] = [
        [_domain_words(name), urls, rank] for name, urls, rank in state.domains
    ]
    columns = [
        TableColumn("Domain"),
        TableColumn("URLs that wait", "number"),
        TableColumn("Domains that link to it", "number"),
    ]
    return table("budget-table", columns, rows, "; ".join(captions))


def _domain_words(name: str) -> str:
    """Return the domain of a row, and whether its URLs are folded."""
    return f"{domain_of(name)}{' (folded)' if name.endswith(FAMILIES) else ''}"


def _queues(state: CrawlHosts) -> Html:
    """Return a table of the hosts with the longest queues."""
    if not state.queues:
        return note("No host has URLs in its queue.")
    rows: list[list[Cell]] = [[host.name, host.urls] for host in state.queues[:MAX_QUEUE_ROWS]]
    columns = [TableColumn("Host"), TableColumn("URLs", "number")]
    return table("queue-table", columns, rows, "Hosts with the longest queues")
