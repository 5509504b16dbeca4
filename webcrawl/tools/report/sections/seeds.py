"""The report's section on seeds: how each of them ended."""

from __future__ import annotations

from itertools import islice

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.record.statistics.statistics import host_of
from webcrawl.tools.report import counter_words as words
from webcrawl.tools.report.elements import Cell, Column, note, section, table
from webcrawl.tools.report.log_summary import Log, SeedRow
from webcrawl.tools.report.report_source import Source, State

MOST = 2000  # rows of the table

HEAD = [
    *(Column("Seed"), Column("Outcome"), Column("Found", "number", "URLs that ended and were found from this seed on")),
    *(Column("Fetched", "number", "documents among them"), Column("Failed", "number", "no answer, 4xx or 5xx")),
    Column("Bytes", "size"),
]


def seeds(source: Source, log: Log) -> Html:
    """Outcomes of seeds, and a row for each: those that failed first."""
    read, known, ended = source.seeds_read, len(log.seeds), log.seeds.ended
    if not known and not read:
        return section("seeds", "Seeds", note("No seed was read from a list, and no URL in crawl.log has one."))
    missing = [*islice(log.seeds.missing(str(source.seeds.get("src", "")), read), MOST // 2)] if known < read else []
    rows = [*map(_row, log.seeds.rows(MOST))]
    rows = [_unknown(url, source.state) for url in missing] + rows
    shown = rows[:MOST]
    parts = [_summary(log), table("seed-table", HEAD, shown, "What became of each seed")]
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
        parts.append(note(f"{numbers.number(log.seeds.more)} lines are of further seeds, for which there was no room."))
    return section("seeds", "Seeds", join(*parts))


def _summary(log: Log) -> Html:
    counts = sorted(log.seeds.outcomes().items(), key=lambda item: (-item[1], item[0]))
    whole = sum(many for _, many in counts)
    cells: list[list[Cell]] = [[_words(status), many, many / whole] for status, many in counts]
    head = [Column("Outcome"), Column("Seeds", "number"), Column("Share", "share")]
    if not cells:
        return note("No seed has an outcome yet.")
    return table("seed-outcome-table", head, cells, "How seeds ended, after their redirects")


def _words(status: int) -> str:
    return f"{status} {words.status(status)}" if status else "itself not ended, though URLs found from it have"


def _row(row: SeedRow) -> list[Cell]:
    outcome = _words(row.status)
    if row.redirected:
        outcome += ", after redirects"
    elif 300 <= row.status < 400 and not row.fetched:
        outcome += ", to a URL seen before or refused"
    return [row.url, outcome, row.found, row.fetched, row.failed, row.size]


def _unknown(url: str, state: State) -> list[Cell]:
    status = state.away.get(host_of(url))
    why = f": its host is set aside, {words.status(status) if status else 'as it asked'}" if status is not None else ""
    return [url, f"no outcome yet{why}", 0, 0, 0, 0]
