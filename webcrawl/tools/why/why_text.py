"""An answer as text: the first line is the answer, the others are the facts behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from webcrawl.base.dates import moment
from webcrawl.base.readable import count, readable
from webcrawl.store.jobdir.counter_words import failure
from webcrawl.tools.why.answer import WhyAnswer
from webcrawl.tools.why.url_rules import PASSES, REFUSES, UNASKED

MAX_LINES = 20  # of each list; --json has all
MAX_VISITS = 5  # lines of the log, and records of the archive; --json has more
NAME_WIDTH = 10  # characters of the names that lines begin with


def text_of(answer: WhyAnswer) -> str:
    """Return an answer in lines, without anything that could control a terminal."""
    lines = [f"{answer.state}: {answer.reason}", *_details(answer)]
    return "".join(f"{readable(line)}\n" for line in lines)


def line_of(answer: WhyAnswer) -> str:
    """Return an answer in one line, for lists of URLs."""
    return readable(f"{answer.state:<8} {answer.url}  {answer.reason}")


def _details(answer: WhyAnswer) -> Iterator[str]:
    """Yield the lines of all parts; the first line of each begins with the part's name."""
    yield _row("URL", answer.url)
    for name, lines_of in PARTS.items():
        for number, line in enumerate(lines_of(answer.details)):
            yield _row("" if number else name, line)


def _row(name: str, text: str) -> str:
    return f"  {name:<{NAME_WIDTH}} {text}"


def _form(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the canonical form, if the text had another, and the form that is compared."""
    form = details["canonical"]
    if form["changes"]:
        yield form["url"]
        yield from form["changes"]
    if "compared" in form:
        yield f"counts as {form['compared']}"


def _filters(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield each filter that does not accept the URL, or that all accept it."""
    filters = details.get("filters", [])
    others = [entry for entry in filters if entry["verdict"] != PASSES]
    if filters and not others:
        names = ", ".join(entry["name"] for entry in filters)
        yield f"all {len(filters)} accept it: {names}"
    for entry in others:
        if entry["verdict"] == REFUSES:
            yield f"{entry['name']} rejects it: {entry['rule']}"
        elif entry["verdict"] == UNASKED:
            yield f"{entry['name']} could not be asked: {entry['rule']}"


def _found(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page on which the URL was found, and the path to it."""
    found = details.get("found")
    if found is None:
        return
    if found.get("via"):
        path = ""
        if found.get("path") and found.get("seed"):
            path = f" (path {found['path']} from {found['seed']})"
        yield f"on {found['via']}{path}"
    elif "path" in found:
        yield "as a seed, or by a spider"


def _seen(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether the crawl knows the URL, and where that shows."""
    seen = details.get("seen")
    if seen is None or not details["canonical"]["url"]:
        return
    if not seen["known"]:
        yield "no"
    elif seen["where"]:
        yield f"yes: {seen['where']}"
    else:
        yield "yes"


def _queue(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URL's place in its queue, and which attempt comes next."""
    queue = details.get("queue")
    if queue is None:
        return
    level = f" at level {queue['level']}" if "level" in queue else ""
    yield f"{queue['place']:,} of {queue['of']:,}{level}"
    if "not_before" in queue:
        yield f"not before {moment(queue['not_before'])}"
    if queue["attempt"] > 1:
        yield f"this will be attempt {queue['attempt']}"


def _robots(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield what robots.txt says of the URL and of its use, and how old that is."""
    robots = details.get("robots")
    if robots is None:
        return
    if robots["rule"] is not None:
        place = f"line {robots['line']} of" if robots["line"] else "a rule of"
        yield f"{robots['verdict']} by {robots['rule']}, {place} {robots['url']}"
    elif robots["verdict"] == "allowed":
        yield "allowed, no rule matches"
    else:
        yield robots["verdict"]
    if robots["fetched"] is not None:
        yield f"fetched at {moment(robots['fetched'])}"
    yield from robots["use"]
    if robots["failed_tries"]:
        since = " since" if robots["fetched"] is not None else ""
        yield f"could not be fetched{since}, tried {count(robots['failed_tries'], 'time')}"


def _host(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the host's state, its pace, and what keeps the URL waiting."""
    host = details.get("host")
    if host is None:
        return
    paused = "paused by command; " if host["paused"] else ""
    fetched = count(host["pages"], "URL")  # HOST_MAX_PAGES counts answers of any status
    yield f"{host['host']}: {paused}{host['health_in_words']}; {fetched} fetched, {host['queued']:,} queued"
    yield _pace(host["delay"], host["connections"]["at_once"])
    # A paused host has a next turn too, and is not requested then.
    is_waited_for = host["queued"] or details.get("queue")
    if host["next_turn"] and is_waited_for and not host["paused"]:
        yield f"not before {moment(host['next_turn'])}"
    if host["protocol"]:
        yield "speaks only HTTP/2"
    if host["rendering"]:
        yield f"rendered: {host['rendering']}"
    last = host["last_failure"]
    if last:
        yield f"last failed at {moment(last['at'])}: {failure(last['status'])}"
    yield from map(_origin, host["origins"])


def _pace(delay: Mapping[str, Any], at_once: int) -> str:
    several = f", {at_once} requests at once" if at_once > 1 else ""
    return f"one request every {delay['seconds']:g} s ({delay['because']}){several}"


def _origin(origin: Mapping[str, Any]) -> str:
    """Return the line of an origin that fails or waits while others of its host do not."""
    last = origin["last_failure"]
    has_status = last and last["status"]
    status = f", the last one: {failure(last['status'])}" if has_status else ""
    until = f", not before {moment(origin['next_turn'])}" if origin["next_turn"] else ""
    queued = count(origin["queued"], "URL")
    return f"{origin['origin']} alone: {origin['health_in_words']}{status}; {queued} queued{until}"


def _domain(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield how much of its budget the domain has used."""
    domain = details.get("budget")
    if domain is None or domain["budget"] is None:
        return
    over = f", {count(domain['over_budget'], 'URL')} over it" if domain["over_budget"] else ""
    pages = count(domain["budget"], "page")
    links = count(domain["linked_from"], "other domain")
    yield f"{domain['domain']}: {domain['used']:,} of {pages}{over}; {links} known to link to it"


def _scores(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the scores of the page and of its site, and the priority of a URL that waits."""
    scores = details.get("scores")
    if scores is None:
        return
    if scores["score"] is not None:
        yield f"{scores['score']:.3f}"
    if scores["worth"] is not None:
        yield f"priority {scores['worth']:.3f}, by the pages that link to it and by its site"
    if scores["site_pages"]:
        yield f"{scores['site']:.3f} is the mean of {count(scores['site_pages'], 'page')} of its site"


def _log(details: Mapping[str, Any]) -> Iterator[str]:
    yield from details.get("log", [])[-MAX_VISITS:]
    yield from _earlier(details, "log")
    for skip in details.get("skipped", [])[-MAX_LINES:]:
        page = skip["via"] or "no page"
        yield f"left out at {moment(skip['time'])}: {skip['reason']}, on {page}"


def _archive(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the place of each record in the archive, and the command that prints it."""
    for record in details.get("archive", [])[-MAX_VISITS:]:
        what = f"{record['status'] or 'a record'}, {moment(record['date'])}"
        yield f"{what}: byte {record['offset']:,} of {record['file']}, {record['length']:,} bytes"
        if "command" in record:
            yield record["command"]
        elif "stored" in record:
            yield f"the file is in the store: {record['stored']}"
        else:
            yield "the file is no longer here"
    yield from _earlier(details, "archive")


def _earlier(details: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield how many earlier lines of the log, or records of the archive, are not shown, if any."""
    more = details.get("counts", {}).get(name, 0) - MAX_VISITS
    if more > 0:
        yield f"and {more:,} earlier ones"


def _drone(details: Mapping[str, Any]) -> Iterator[str]:
    if "drone" in details:
        foreign = "" if details["owned"] else ", which does not own this URL"
        yield f"{details['drone']}{foreign}"


def _list(name: str) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    """Return what gives the lines of a part that is a list of lines."""
    return lambda details: details.get(name, [])[:MAX_LINES]


def _now(details: Mapping[str, Any]) -> Iterator[str]:
    yield details["now"]


def _as_of(details: Mapping[str, Any]) -> Iterator[str]:
    if details["as_of"]:
        live = ", and the running crawl" if details.get("live") else ""
        yield f"the checkpoint of {moment(details['as_of'])}{live}"


def _revisit(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield when the page is fetched again, and how often it was found to have changed."""
    revisit = details.get("again")
    if revisit is None:
        return
    if revisit["due"] is None:
        yield "not within the budget; the policy decides again once per month"
    else:
        yield f"due {moment(revisit['due'])}, earlier or later as the budget allows"
    visits = count(revisit["visits"], "visit")
    yield (
        f"last fetched {moment(revisit['fetched'])}; changed at {revisit['changes']:,} of "
        f"{visits} since the first"
    )


# The lines of each part, by the part's name.
PARTS: dict[str, Callable[[Mapping[str, Any]], Iterator[str] | Sequence[str]]] = {
    "form": _form,
    "filters": _filters,
    "found": _found,
    "seen": _seen,
    "queue": _queue,
    "robots": _robots,
    "host": _host,
    "domain": _domain,
    "score": _scores,
    "log": _log,
    "archive": _archive,
    "again": _revisit,
    "drone": _drone,
    "if found": _now,
    "as of": _as_of,
    "looked at": _list("looked"),
    "note": _list("odd"),
}
