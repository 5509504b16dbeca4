"""Makes the account for a site's owner: an HTML page to be sent, and CSV for calculations."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from operator import itemgetter

from webcrawl.base import numbers
from webcrawl.base.dates import iso
from webcrawl.base.markup import Html, tag
from webcrawl.base.program import program
from webcrawl.base.readable import in_sheet
from webcrawl.frontier.wait_words import FOR_OWNERS
from webcrawl.store.jobdir.crawl_line import (
    DUPLICATE,
    REVISIT,
    TRUNCATED,
    WITHHELD,
    CrawlLine,
)
from webcrawl.store.jobdir.index_line import NOT_MODIFIED
from webcrawl.tools.report.elements import (
    Cell,
    TableColumn,
    note,
    section,
    standalone_page,
    table,
)
from webcrawl.tools.site_account import AccountRow, SiteAccount, may_have_lost_end

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # no script, and nothing is loaded
# Requests on the page, and URLs that robots.txt forbids. The CSV file has all requests.
MAX_ROWS = 5000
SETTINGS = (
    "USER_AGENT",
    "POLITENESS_POLICY",
    "POLITENESS_FACTOR",
    "POLITENESS_MIN_DELAY",
    "POLITENESS_MAX_DELAY",
    "CRAWL_DELAY_MAX",
    "RETRY_AFTER_MAX",
    "ROBOTSTXT_OBEY",
    "HOST_MAX_PAGES",
    "OUTPUTS",
    "PURPOSE",
)
ROBOTS_IS_READ = (
    "The crawler reads a host's robots.txt before anything else, and again when its copy expires."
)
ROBOTS_IS_NOT_READ = "The last run did not read robots.txt (ROBOTSTXT_OBEY)."


def page(account: SiteAccount, now: float) -> str:
    """Return the whole document. It has no script, and loads nothing from other servers."""
    header = tag(
        "header",
        tag("p", "Account of a crawl", class_="kind"),
        tag("h1", account.site.name),
        tag("p", *_lead(account), class_="lead"),
    )
    parts = (
        _doubts(account),
        *_optouts(account, now),
        *map(note, _figures(account)),
        *_rules(account),
    )
    footer = tag(
        "footer", note(f"Made by {program()} account at {numbers.when(now)}. Times are UTC.")
    )
    body = tag("body", header, tag("main", *parts, _requests(account)), footer)
    return standalone_page(f"Requests to {account.site.name}", body, POLICY)


def _lead(account: SiteAccount) -> list[str]:
    """Return sentences on the time of the requests, and on how the crawl found the site."""
    if not account.requests:
        return ["There is no record of a request to this site."]
    which = "Requests" if account.lacks_lines or account.absent else "All requests"
    begin = numbers.when(account.requests[0].at)
    end = numbers.when(account.requests[-1].at)
    sentences = [f"{which} to this site and the names below it, from {begin} to {end}."]
    first = account.first
    if first is not None:
        origin = "a list of addresses from which the crawl started"
        if first.via:
            origin = f"a link on {first.via}"
        sentences.append(f" The first page found was {first.url}, through {origin}.")
        if first.via and first.seed:
            sentences.append(f" The crawl got there from {first.seed}.")
    return sentences


def _doubts(account: SiteAccount) -> Html | None:
    """Return a warning about what is not known, or None if all is. It stands above all else."""
    sentences = []
    all_listed = "" if account.lacks_lines else " All its requests from that time are listed."
    for since, until, drone in account.gaps:
        begin = numbers.when(since) if since else "its start"
        end = "now" if until == float("inf") else numbers.when(until)
        who = f"the part of the crawler called {drone}" if drone else "the crawler"
        sentences.append(
            f"Between {begin} and {end} {who} was running or stopped abruptly.{all_listed} Where the "
            "outcome is missing, the answer is not known, and the very last requests may not have "
            "been sent."
        )
    if account.without_log:
        sentences.append(
            "There is no log of requests: the crawl kept none (OUTPUTS without `requests`), or it was "
            "moved away. Requests that "
            "were repeated after a"
            " failure, requests after the last checkpoint before an abrupt stop or until now, and "
            "the waits before"
            " each are not listed."
        )
    if account.with_partial_log:
        sentences.append(
            "The log of requests is incomplete: it was started later than the crawl, or a part of it was moved"
            " away. For the time that it lacks, requests that were repeated after a failure, and "
            "the waits before each,"
            " are not listed."
        )
    if account.absent:
        names = ", ".join(account.absent)
        sentences.append(
            f"The files of these parts of the crawler are missing, so their requests are not listed: {names}."
        )
    return tag("div", *map(note, sentences), class_="warn") if sentences else None


def _optouts(account: SiteAccount, now: float) -> Iterator[Html]:
    """Yield a sentence on each opt-out of the site or of a part of it: since when, and by whom."""
    for optout in account.optouts:
        since = f" since {numbers.when(optout.since)}" if optout.since else ""
        by = f", by {optout.by}" if optout.by else ""
        why = f" ({optout.why})" if optout.why else ""
        until = f", until {numbers.when(optout.until)}" if optout.until else ", permanently"
        expired = "" if optout.holds(now) else "; this has expired"
        rule = tag("code", optout.rule)
        yield note("Excluded from the crawl", since, ": ", rule, by, why, until, expired, ".")


def _figures(account: SiteAccount) -> Iterator[str]:
    """Yield sentences on the number of requests, the bytes, the waits and robots.txt."""
    requests = account.requests
    ends = [request.end for request in requests if request.end is not None]
    sizes = [end.size for end in ends if end.size is not None]
    # An answer before a retry is in the archive, but no line tells its size
    answers = f"{numbers.number(len(sizes))} with a final answer, {numbers.size(sum(sizes))} in all"
    yield (
        f"{numbers.count(len(requests), 'request')}, {numbers.number(len(account.robots))} of them for robots.txt; "
        f"{answers}."
    )
    waits = [request.waited for request in requests if request.waited is not None]
    if waits:
        yield f"The shortest wait after an answer, before the next request, was {numbers.seconds(min(waits))}."
    reads_robots = account.terms.get("ROBOTSTXT_OBEY") != "off"
    yield ROBOTS_IS_READ if reads_robots else ROBOTS_IS_NOT_READ
    forbidden = len(account.forbidden)
    if forbidden:
        yield (
            "URLs that were not requested because robots.txt forbids it: "
            f"{numbers.number(forbidden)}. The table lists them too."
        )


def _rules(account: SiteAccount) -> Iterator[Html]:
    """Yield an explanation of the rules in the table, and the settings that decide on waits."""
    rules = {request.rule for request in account.requests}
    explained = [f"{rule}: {FOR_OWNERS.get(rule, rule)}" for rule in sorted(rules) if rule]
    if explained:
        yield note(
            "A wait is the time between the end of a host's answer and the next request to it. "
            f"Rules: {'; '.join(explained)}."
        )
    connections = [name for name in account.terms if _gives_connections(account, name)]
    if connections:
        yield note("With HOST_CONNECTIONS, each of several connections has its own waits.")
    terms = _terms(account, (*SETTINGS, *connections))
    if terms:
        yield note("The crawl was set to ", tag("code", ", ".join(terms)), ".")


def _terms(account: SiteAccount, names: Iterable[str]) -> list[str]:
    return [f"{name}={account.terms[name]}" for name in names if name in account.terms]


def _gives_connections(account: SiteAccount, setting: str) -> bool:
    """Return whether a setting gives hosts of this site several connections.

    Such settings of other sites are left out: they are no business of this owner.
    """
    name, _, host = setting.partition(" ")
    if name != "HOST_CONNECTIONS" or not host:
        return False
    site = account.site.name
    return _is_within(site, host) or _is_within(host, site)


def _is_within(host: str, domain: str) -> bool:
    return f".{host}".endswith(f".{domain}")


COLUMNS = (
    TableColumn("Time"),
    TableColumn("Request"),
    TableColumn("Status", "code"),
    TableColumn("Bytes", "size"),
    TableColumn("Waited", "seconds"),
    TableColumn("Needed", "seconds"),
    TableColumn("Rule"),
    TableColumn("Kept"),
    TableColumn("Outcome"),
)


def _requests(account: SiteAccount) -> Html:
    """Return the table of the last requests, and of the URLs that robots.txt forbids."""
    shown = account.requests[-MAX_ROWS:]
    left_out = len(account.requests) - len(shown)
    rows = [(request.at, _row(account, request)) for request in shown]
    rows += [(end.at, _forbidden_row(end)) for end in account.forbidden[-MAX_ROWS:]]
    more = (
        f"These are the last {numbers.number(MAX_ROWS)}; the CSV file also has the "
        f"{numbers.number(left_out)} before them."
    )
    return section(
        "requests",
        "Every request",
        note(more) if left_out else None,
        table(
            "requests",
            COLUMNS,
            [row for _, row in sorted(rows, key=itemgetter(0))],
            "In the order of time",
        ),
    )


def _row(account: SiteAccount, request: AccountRow) -> list[Cell]:
    """Return the cells of a request, in the order of COLUMNS."""
    attempt = f" (try {request.tries + 1})" if request.tries else ""
    end = request.end
    return [
        numbers.when(request.at),
        f"{request.method} {request.url}{attempt}",
        end.status if end is not None else None,
        end.size if end is not None else None,
        request.waited,
        request.needed,
        request.rule or None,
        _kept(account, request),
        outcome(request, is_lost=may_have_lost_end(account, request)),
    ]


def _forbidden_row(end: CrawlLine) -> list[Cell]:
    """Return the cells of a URL that robots.txt forbids, in the order of COLUMNS."""
    return [
        numbers.when(end.at),
        end.url,
        end.status,
        None,
        None,
        None,
        None,
        "nothing",
        "not requested: robots.txt forbids it",
    ]


def outcome(request: AccountRow, *, is_lost: bool) -> str:
    """Return how a request ended, in words. `is_lost` tells that a kill may have lost the answer."""
    if request.end is None:
        if is_lost:
            return "not known: the crawler stopped abruptly"
        return "no complete answer, or retried"
    status = request.end.status
    return "answered" if status > 0 else f"failed ({status})"


def _kept(account: SiteAccount, request: AccountRow) -> str:
    """Return the part of the answer that the archive keeps, in words, as far as that is known."""
    if may_have_lost_end(account, request):
        return "not known"
    has_failed = request.end is not None and request.end.size is None
    return kept(request) if account.has_archive or has_failed else "not archived"


def kept(request: AccountRow) -> str:
    """Return the part of the answer that an archive keeps, in words."""
    end = request.end
    if end is None:  # the archive has the answers before a retry, too
        return "the answer, if one came"
    if end.size is None:
        return "nothing"
    notes = end.annotations
    words = {
        "only the head: the owner forbids the rest": _has(notes, f"{WITHHELD}:"),
        # The archive has the body again if it knew the other page only from an earlier run
        "head, and a body that another page has too": DUPLICATE in notes,
        "a note that it has not changed": end.status == NOT_MODIFIED,
        "head, and a body that has not changed": REVISIT in notes and "unchanged" in notes,
        "head, and a body that an earlier crawl has": _has(notes, "since:"),
        "head and part of the body": _has(notes, TRUNCATED),
    }
    return next((said for said, is_so in words.items() if is_so), "head and body")


def _has(notes: Iterable[str], start: str) -> bool:
    return any(note.startswith(start) for note in notes)


CSV_COLUMNS = (
    "time",
    "method",
    "url",
    "status",
    "bytes",
    "seconds",
    "waited",
    "wait_needed",
    "rule",
    "tries_before",
    "robots_txt",
    "kept",
    "digest",
    "found_on",
    "path",
    "notes",
    "outcome",
)


def csv_lines(account: SiteAccount) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), some of them together.

    Values that a spreadsheet would take for formulas are made harmless.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(CSV_COLUMNS)
    for request in account.requests:
        writer.writerow(map(in_sheet, _csv_row(account, request)))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _csv_row(account: SiteAccount, request: AccountRow) -> list[object]:
    """Return the values of a request, in the order of CSV_COLUMNS."""
    end = request.end
    of_answer: list[object] = ["", "", ""]
    of_log_line = ["", "", "", ""]
    if end is not None:
        of_answer = [end.status, end.size, end.seconds]
        of_log_line = [end.digest, end.via, end.path, end.notes]
    return [
        iso(request.at),
        request.method,
        request.url,
        *of_answer,
        request.waited,
        request.needed,
        request.rule,
        request.tries,
        int(request.path.endswith("P")),
        _kept(account, request),
        *of_log_line,
        outcome(request, is_lost=may_have_lost_end(account, request)),
    ]
