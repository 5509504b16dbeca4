"""The report's sections on what was not crawled, or not yet, and why; on the disk; and on the settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.base.program import program
from webcrawl.frontier.budgets import domain_of
from webcrawl.frontier.domain_table import FAMILIES
from webcrawl.store.jobdir import left_out
from webcrawl.tools.report import counter_words as words
from webcrawl.tools.report.elements import Cell, Column, note, section, table
from webcrawl.tools.report.log_summary import Extreme, Log
from webcrawl.tools.report.report_source import Source

MIB = 1 << 20
OVER = "{} over budget, with {}"
FOLDED = "{} with folded URLs, whose like brought nothing new: {}"
LET_IN = (
    "Walls are not evaded: one URL of each host is tried now and then, and all are fetched once it opens. An owner "
    "lets this crawl in by its signed requests (Web Bot Auth: BOT_KEY, BOT_AGENT) or by its addresses; the page that "
    f"`{program()} identity page` makes has both."
)


def skipped(source: Source) -> Html:
    """URLs that were found and left out, by reason."""
    figures = source.figures
    rows: list[list[Cell]] = [[rule.words, rule.stage, many] for many, rule in left_out.left_out(figures)]
    rows += [
        [words.status(int(name.removeprefix(left_out.DROPPED))), left_out.Stage.TURN, figures[name]]
        for name in left_out.UNANSWERED
        if figures.get(name)
    ]
    if not rows:
        return section("skipped", "Skipped", note("No URL was left out."))
    rows.sort(key=lambda row: (-int(row[2] or 0), str(row[0])))
    head = [Column("Reason"), Column("By"), Column("Links and URLs", "number")]
    return section(
        "skipped",
        "Skipped",
        table("skipped-table", head, rows, "What was left out, and why"),
        note("Filters count every link that they drop, however often a page repeats it."),
    )


def waiting(source: Source) -> Html:
    """Hosts that are away, domains over their budgets, and the longest queues."""
    return section(
        "waiting",
        "Waiting and given up",
        join(_aside(source), _walls(source), _given_up(source), _budgets(source), _queues(source)),
        note(f"{numbers.count(source.state.damaged, 'host record')} cannot be read: run `{program()} verify`.")
        if source.state.damaged
        else None,
    )


def _aside(source: Source) -> Html:
    urls, hosts = source.aside
    if not hosts:
        return note("No host is set aside.")
    walls = {host.name: f"wall: {host.vendor}" for host in source.state.walls}
    cells: list[list[Cell]] = []
    for host in source.state.aside:
        why = words.status(host.status) if host.status else walls.get(host.name, "asked to wait")
        cells.append([host.name, host.urls, host.failures, why, host.due])
    head = [
        *(Column("Host"), Column("URLs", "number"), Column("Failures in a row", "number"), Column("Because")),
        Column("Next try", "when"),
    ]
    caption = f"{numbers.count(hosts, 'host')} set aside, with {numbers.count(urls, 'URL')}"
    return table("aside-table", head, cells, caption)


def _walls(source: Source) -> Html:
    state = source.state
    if not state.walls:
        return note("No host is behind a wall.")
    cells: list[list[Cell]] = [
        [host.name, f"wall: {host.vendor}", host.answers, host.since, host.urls, host.due] for host in state.walls
    ]
    head = [
        *(Column("Host"), Column("Wall"), Column("Answers", "number"), Column("Since", "when")),
        *(Column("URLs", "number"), Column("Next try", "when")),
    ]
    each = ", ".join(f"{vendor}: {numbers.number(many)}" for vendor, many in state.vendors.most_common())
    caption = f"{numbers.count(state.vendors.total(), 'host')} behind walls ({each})"
    return join(table("walls-table", head, cells, caption), note(LET_IN))


def _given_up(source: Source) -> Html:
    state = source.state
    many = sum(state.given_up_by.values())
    if not many:
        return note("No host was given up.")
    why = ", ".join(f"{numbers.number(one)} {words.status(status)}" for status, one in state.given_up_by.most_common())
    cells: list[list[Cell]] = [[name, words.status(status)] for name, status in state.given_up]
    head = [Column("Host"), Column("Because")]
    return table("given-up-table", head, cells, f"{numbers.count(many, 'host')} given up: {why}")


def _budgets(source: Source) -> Html:
    said = []
    for (domains, urls), what in ((source.state.over_budget, OVER), (source.state.folded, FOLDED)):
        if domains:
            said.append(what.format(numbers.count(domains, "domain"), numbers.count(urls, "URL")))
    if not said:
        return note("No domain is over its budget, and no URL is folded.")
    cells: list[list[Cell]] = [[_of_domain(name), many, rank] for name, many, rank in source.state.domains]
    head = [Column("Domain"), Column("URLs that wait", "number"), Column("Domains that link to it", "number")]
    return table("budget-table", head, cells, "; ".join(said))


def _of_domain(name: str) -> str:
    """The domain of a row, and whether its URLs are folded."""
    return f"{domain_of(name)}{' (folded)' if name.endswith(FAMILIES) else ''}"


def _queues(source: Source) -> Html:
    if not source.state.queues:
        return note("No host has URLs in its queue.")
    cells: list[list[Cell]] = [[host.name, host.urls] for host in source.state.queues[:20]]
    return table("queue-table", [Column("Host"), Column("URLs", "number")], cells, "Hosts with the longest queues")


def disk(source: Source) -> Html:
    """Sizes of what was written, and whether the rest will fit."""
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
    head = [Column("Output"), Column("Files", "number"), Column("Bytes", "size")]
    return section(
        "disk", "Disk", table("output-table", head, cells, "What was written"), _forecast(source, sizes.total())
    )


def _kind(path: str) -> str:
    where = PurePosixPath(path.removesuffix(".open"))
    if where.parts[0] == "logs":
        return path
    return f"{where.parts[0]}/*{''.join(where.suffixes[-2:]) if where.name.endswith('.gz') else where.suffix}"


def _forecast(source: Source, written: int) -> Html:
    statistics = source.statistics
    ended = sum(statistics.outcomes.values())
    if not ended:
        return note("No URL has ended yet, so nothing can be said of what the rest will need.")
    each = written / ended
    need = each * source.queued
    text = (
        f"Each URL that ended took {numbers.size(each)}. The {numbers.number(source.queued)} that are queued would "
        f"need about {numbers.size(need)}, and the links that they lead to come on top."
    )
    if source.free is None:
        return note(text)
    least = _least(source.terms)
    fits = "enough" if source.free - least >= need else "too little"
    pauses = (
        f"the crawl pauses at {numbers.size(least)} (MIN_FREE_DISK), so this is {fits}" if least else f"this is {fits}"
    )
    return note(f"{text} The disk has {numbers.size(source.free)} free; {pauses}.")


def _least(terms: Mapping[str, str]) -> int:
    try:
        return int(float(terms.get("MIN_FREE_DISK", "1024")) * MIB)
    except ValueError:
        return 1024 * MIB


def extremes(log: Log) -> Html:
    """The slowest and the largest answers."""
    if not log.slowest and not log.largest:
        return section("extremes", "Slowest and largest", note("There are no answers yet."))
    return section(
        "extremes",
        "Slowest and largest",
        _extremes("slowest-table", log.slowest, Column("Duration", "seconds"), 1000, "Slowest answers"),
        _extremes("largest-table", log.largest, Column("Bytes", "size"), 1, "Largest documents"),
    )


def _extremes(name: str, found: list[Extreme], column: Column, unit: int, caption: str) -> Html:
    rows: list[list[Cell]] = [
        [url.decode("utf-8", "replace"), value / unit] for value, url in sorted(found, reverse=True)
    ]
    return table(name, [Column("URL"), column], rows, caption) if rows else note(f"{caption}: none yet.")


def terms(source: Source, defaults: Mapping[str, str]) -> Html:
    """With which settings the crawl was last run."""
    own = [name for name in source.terms if name == "spider" or name.startswith("-a ")]
    changed = [
        name for name, value in source.terms.items() if name not in own and name in defaults and defaults[name] != value
    ]
    extra = [name for name in source.terms if name not in own and name not in defaults]
    rows: list[list[Cell]] = [[name, source.terms[name], ""] for name in own]
    rows += [[name, source.terms[name], defaults.get(name, "none")] for name in sorted((*changed, *extra))]
    if not rows:
        return section("settings", "Settings", note("The state does not say with which settings the crawl was run."))
    head = [Column("Setting"), Column("Value"), Column("Default")]
    return section("settings", "Settings", table("terms-table", head, rows, "What differs from the defaults"))
