"""The account for a site's owner: an HTML page that can be sent, and CSV for calculations."""

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
from webcrawl.store.jobdir.crawl_line import DUPLICATE, TRUNCATED, CrawlLine
from webcrawl.tools.report.elements import TableColumn, note, section, standalone_page, table
from webcrawl.tools.site_account import AccountRow, SiteAccount, unknown

# nothing is loaded, and there is no script
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MOST = 5000  # requests on the page, of which the CSV has all; and URLs that robots.txt forbids
SETTINGS = (
    *(
        "USER_AGENT",
        "POLITENESS_POLICY",
        "POLITENESS_FACTOR",
        "POLITENESS_MIN_DELAY",
        "POLITENESS_MAX_DELAY",
    ),
    *(
        "CRAWL_DELAY_MAX",
        "RETRY_AFTER_MAX",
        "ROBOTSTXT_OBEY",
        "HOST_MAX_PAGES",
        "OUTPUTS",
        "PURPOSE",
    ),
)
READ = (
    "The crawler reads a host's robots.txt before anything else, and again when its copy expires."
)
UNREAD = "The last run did not read robots.txt (ROBOTSTXT_OBEY)."


def page(account: SiteAccount, now: float) -> str:
    """Return the whole document. It has no script, and asks no other server for anything."""
    header = tag(
        "header",
        tag("p", "Account of a crawl", class_="kind"),
        tag("h1", account.site.name),
        tag("p", *_lead(account), class_="lead"),
    )
    parts = (
        _doubts(account),
        *_wishes(account, now),
        *map(note, _figures(account)),
        *_rules(account),
    )
    footer = tag(
        "footer", note(f"Made by {program()} account at {numbers.when(now)}. Times are UTC.")
    )
    body = tag("body", header, tag("main", *parts, _requests(account)), footer)
    return standalone_page(f"Requests to {account.site.name}", body, POLICY)


def _lead(account: SiteAccount) -> list[str]:
    if not account.requests:
        return ["There is no record of a request to this site."]
    first = account.first
    all_known = (
        "Requests" if account.unlogged or account.partly or account.absent else "All requests"
    )
    words = [
        f"{all_known} to this site and the names below it, from {numbers.when(account.requests[0].at)} to "
    ]
    words.append(f"{numbers.when(account.requests[-1].at)}.")
    if first is not None:
        via = (
            f"a link on {first.via}"
            if first.via
            else "a list of addresses from which the crawl started"
        )
        words.append(f" The first page found was {first.url}, through {via}.")
        if first.via and first.seed:
            words.append(f" The crawl got there from {first.seed}.")
    return words


def _doubts(account: SiteAccount) -> Html | None:
    """Return a warning about what is not known, which stands before anything else."""
    found = []
    for since, until, drone in account.gaps:
        begin = numbers.when(since) if since else "its start"
        end = "now" if until == float("inf") else numbers.when(until)
        who = f"the part of the crawler called {drone}" if drone else "the crawler"
        found.append(
            f"Between {begin} and {end} {who} was running or stopped abruptly. All its requests from that"
            " time are listed. Where the outcome is missing, the answer is not known, and the "
            "very last requests"
            " may not have been sent."
        )
    if account.unlogged:
        found.append(
            "The crawl kept no log of requests (its OUTPUTS has no `requests`). Requests that "
            "were repeated after a"
            " failure, requests after the last checkpoint before an abrupt stop or until now, and "
            "the waits before"
            " each are not listed."
        )
    if account.partly:
        found.append(
            "The log of requests is incomplete: it was started later than the crawl, or a part of it was moved"
            " away. For the time that it lacks, requests that were repeated after a failure, and "
            "the waits before each,"
            " are not listed."
        )
    if account.absent:
        names = ", ".join(account.absent)
        found.append(
            f"The files of these parts of the crawler are missing, so their requests are not listed: {names}."
        )
    return tag("div", *map(note, found), class_="warn") if found else None


def _wishes(account: SiteAccount, now: float) -> Iterator[Html]:
    """Who asked that the site, or a part of it, be left alone."""
    for one in account.wishes:
        since = f" since {numbers.when(one.since)}" if one.since else ""
        by = f", by {one.by}" if one.by else ""
        why = f" ({one.why})" if one.why else ""
        until = f", until {numbers.when(one.until)}" if one.until else ", permanently"
        over = "" if one.holds(now) else "; this has expired"
        yield note(
            "Excluded from the crawl",
            since,
            ": ",
            tag("code", one.rule),
            by,
            why,
            until,
            over,
            ".",
        )


def _figures(account: SiteAccount) -> Iterator[str]:
    """Yield the sums of the table."""
    requests = account.requests
    answers = [one.end.size for one in requests if one.end is not None and one.end.size is not None]
    received = f"{numbers.count(len(answers), 'answer')} of {numbers.size(sum(answers))}"
    yield (
        f"{numbers.count(len(requests), 'request')}, {numbers.number(len(account.robots))} of them for robots.txt; "
        f"{received}."
    )
    waited = [one.waited for one in requests if one.waited is not None]
    if waited:
        yield f"The shortest wait after an answer, before the next request, was {numbers.seconds(min(waited))}."
    yield UNREAD if account.terms.get("ROBOTSTXT_OBEY") == "off" else READ
    if refused := len(account.refused):
        yield (
            "URLs that were not requested because robots.txt forbids it: "
            f"{numbers.number(refused)}. The table lists them too."
        )


def _rules(account: SiteAccount) -> Iterator[Html]:
    """Explain the names of rules in the table, and list the settings that decide on the waits."""
    rules = {request.rule for request in account.requests}
    named = [f"{rule}: {FOR_OWNERS.get(rule, rule)}" for rule in sorted(rules) if rule]
    if named:
        yield note(
            "A wait is the time between the end of a host's answer and the next request to it. "
            f"Rules: {'; '.join(named)}."
        )
    connections = [name for name in account.terms if _is_ours(account, name)]
    if connections:
        yield note("With HOST_CONNECTIONS, each of several connections has its own waits.")
    terms = _terms(account, (*SETTINGS, *connections))
    if terms:
        yield note("The crawl was set to ", tag("code", ", ".join(terms)), ".")


def _terms(account: SiteAccount, names: Iterable[str]) -> list[str]:
    return [f"{name}={account.terms[name]}" for name in names if name in account.terms]


def _is_ours(account: SiteAccount, setting: str) -> bool:
    """Return whether a setting gives hosts of this site several connections.

    An owner need not know of other sites.
    """
    name, _, host = setting.partition(" ")
    if name != "HOST_CONNECTIONS" or not host:
        return False
    site = account.site.name
    return _is_within(site, host) or _is_within(host, site)


def _is_within(host: str, domain: str) -> bool:
    return f".{host}".endswith(f".{domain}")


def _requests(account: SiteAccount) -> Html:
    columns = (
        *(
            TableColumn("Time"),
            TableColumn("Request"),
            TableColumn("Status", "code"),
            TableColumn("Bytes", "size"),
        ),
        *(
            TableColumn("Waited", "seconds"),
            TableColumn("Needed", "seconds"),
            TableColumn("Rule"),
            TableColumn("Kept"),
            TableColumn("Outcome"),
        ),
    )
    shown = account.requests[-MOST:]
    left = len(account.requests) - len(shown)
    rows = [(one.at, _row(account, one)) for one in shown]
    rows += [(one.at, _unasked(one)) for one in account.refused[-MOST:]]
    more = (
        f"These are the last {numbers.number(MOST)}; the CSV file also has the "
        f"{numbers.number(left)} before them."
    )
    return section(
        "requests",
        "Every request",
        note(more) if left else None,
        table(
            "requests",
            columns,
            [row for _, row in sorted(rows, key=itemgetter(0))],
            "In the order of time",
        ),
    )


def _row(account: SiteAccount, one: AccountRow) -> tuple[str | float | None, ...]:
    again = f" (try {one.tries + 1})" if one.tries else ""
    status, size = (one.end.status, one.end.size) if one.end is not None else (None, None)
    return (
        *(numbers.when(one.at), f"{one.method} {one.url}{again}", status, size),
        *(
            one.waited,
            one.needed,
            one.rule or None,
            kept(one),
            outcome(one, lost=unknown(account, one)),
        ),
    )


def _unasked(end: CrawlLine) -> tuple[str | float | None, ...]:
    """Return the row of a URL that robots.txt kept the crawl from."""
    return (
        numbers.when(end.at),
        end.url,
        end.status,
        *(None,) * 4,
        "nothing",
        "not requested: robots.txt forbids it",
    )


def outcome(one: AccountRow, *, lost: bool) -> str:
    """Return the end of the request in words; `lost`: a kill may have taken the answer."""
    if one.end is None:
        return (
            "not known: the crawler stopped abruptly" if lost else "no complete answer, or retried"
        )
    status = one.end.status
    return "answered" if status > 0 else f"failed ({status})"


def kept(one: AccountRow) -> str:
    """Return the part of the answer that the crawl keeps, in words."""
    end = one.end
    if end is None or end.size is None:
        return "nothing"
    notes = end.annotations
    if any(note.startswith("withheld:") for note in notes):
        return "only the head: the owner forbids the rest"
    if DUPLICATE in notes:
        return "a note that it is the same as another page"
    if end.status == 304:
        return "a note that it has not changed"
    return (
        "head and body"
        if not any(note.startswith(TRUNCATED) for note in notes)
        else "head and part of the body"
    )


COLUMNS = (
    *(
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
    ),
    *("robots_txt", "kept", "digest", "found_on", "path", "notes", "outcome"),
)


def csv_lines(account: SiteAccount) -> Iterator[str]:
    """Yield lines as RFC 4180 has them."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for one in account.requests:
        writer.writerow(map(in_sheet, _sheet_row(account, one)))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _sheet_row(account: SiteAccount, one: AccountRow) -> list[object]:
    end = one.end
    done: list[object] = ["", "", ""] if end is None else [end.status, end.size, end.seconds]
    about = ["", "", "", ""] if end is None else [end.digest, end.via, end.path, end.notes]
    return [
        *(iso(one.at), one.method, one.url, *done, one.waited, one.needed, one.rule, one.tries),
        *(int(one.path.endswith("P")), kept(one), *about, outcome(one, lost=unknown(account, one))),
    ]
