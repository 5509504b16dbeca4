"""An answer for people: the first line says it, the others say how it comes about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from webcrawl.base.dates import moment
from webcrawl.base.readable import count, readable
from webcrawl.store.jobdir.counter_words import failure
from webcrawl.tools.why.answer import WhyAnswer
from webcrawl.tools.why.url_rules import PASSES, REFUSES, UNASKED

LINES = 20  # of each list; --json has all
VISITS = 5  # of the log, and of the archive; --json has more
WIDTH = 10  # of the names of the lines


def text_of(answer: WhyAnswer) -> str:
    """Return lines without anything that could control a terminal."""
    lines = [f"{answer.state}: {answer.reason}", *_details(answer)]
    return "".join(f"{readable(line)}\n" for line in lines)


def line_of(answer: WhyAnswer) -> str:
    """Return an answer in one line, for lists of URLs."""
    return readable(f"{answer.state:<8} {answer.url}  {answer.reason}")


def _details(answer: WhyAnswer) -> Iterator[str]:
    yield _row("URL", answer.url)
    for name, told in PARTS.items():
        first = True
        for line in told(answer.details):
            yield _row(name if first else "", line)
            first = False


def _row(name: str, text: str) -> str:
    return f"  {name:<{WIDTH}} {text}"


def _form(details: Mapping[str, Any]) -> Iterator[str]:
    form = details["canonical"]
    if form["changes"]:
        yield form["url"]
        yield from form["changes"]
    if "compared" in form:
        yield f"counts as {form['compared']}"


def _filters(details: Mapping[str, Any]) -> Iterator[str]:
    filters = details.get("filters", [])
    others = [one for one in filters if one["verdict"] != PASSES]
    if filters and not others:
        names = ", ".join(one["name"] for one in filters)
        yield f"all {len(filters)} accept it: {names}"
    for one in others:
        if one["verdict"] == REFUSES:
            yield f"{one['name']} rejects it: {one['rule']}"
        elif one["verdict"] == UNASKED:
            yield f"{one['name']} could not be asked: {one['rule']}"


def _found(details: Mapping[str, Any]) -> Iterator[str]:
    found = details.get("found")
    if found is None:
        return
    if found.get("via"):
        way = ""
        if found.get("path") and found.get("seed"):
            way = f" (path {found['path']} from {found['seed']})"
        yield f"on {found['via']}{way}"
    elif "path" in found:
        yield "as a seed, or by a spider"


def _seen(details: Mapping[str, Any]) -> Iterator[str]:
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
    robots = details.get("robots")
    if robots is None:
        return
    if robots["rule"] is None:
        why = ", no rule matches" if robots["verdict"] == "allowed" else ""
        yield f"{robots['verdict']}{why}"
    else:
        line = f", line {robots['line']} of" if robots["line"] else ", a rule of"
        yield f"{robots['verdict']} by {robots['rule']}{line} {robots['url']}"
    if robots["fetched"] is not None:
        yield f"fetched at {moment(robots['fetched'])}"
    yield from robots["use"]
    if robots["failed_tries"]:
        since = " since" if robots["fetched"] is not None else ""
        yield f"could not be fetched{since}, tried {count(robots['failed_tries'], 'time')}"


def _host(details: Mapping[str, Any]) -> Iterator[str]:
    host = details.get("host")
    if host is None:
        return
    paused = "paused by command; " if host["paused"] else ""
    pages = count(host["pages"], "page")
    queued = count(host["queued"], "URL")
    yield f"{host['host']}: {paused}{host['health_in_words']}; {pages}, {queued} queued"
    at_once = host["connections"]["at_once"]
    several = f", {at_once} requests at once" if at_once > 1 else ""
    yield f"one request every {host['delay']['seconds']:g} s ({host['delay']['because']}){several}"
    is_to_be_asked = host["queued"] or details.get("queue")
    if host["next_turn"] and is_to_be_asked and not host["paused"]:
        yield f"not before {moment(host['next_turn'])}"
    if host["protocol"]:
        yield "speaks only HTTP/2"
    if host["rendering"]:
        yield f"rendered: {host['rendering']}"
    if host["last_failure"]:
        yield f"last failed at {moment(host['last_failure']['at'])}: {failure(host['last_failure']['status'])}"
    yield from map(_origin, host["origins"])


def _origin(origin: Mapping[str, Any]) -> str:
    """Return the line of an origin that fails or waits while others of its host do not."""
    last = origin["last_failure"]
    status = f", the last one: {failure(last['status'])}" if last and last["status"] else ""
    until = f", not before {moment(origin['next_turn'])}" if origin["next_turn"] else ""
    queued = count(origin["queued"], "URL")
    return f"{origin['origin']} alone: {origin['health_in_words']}{status}; {queued} queued{until}"


def _domain(details: Mapping[str, Any]) -> Iterator[str]:
    domain = details.get("budget")
    if domain is None or domain["budget"] is None:
        return
    over = f", {count(domain['over_budget'], 'URL')} over it" if domain["over_budget"] else ""
    pages = count(domain["budget"], "page")
    links = count(domain["linked_from"], "other domain")
    yield f"{domain['domain']}: {domain['used']:,} of {pages}{over}; {links} known to link to it"


def _scores(details: Mapping[str, Any]) -> Iterator[str]:
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
    yield from details.get("log", [])[-VISITS:]
    yield from _before(details, "log")
    for one in details.get("skipped", [])[-LINES:]:
        yield f"left out at {moment(one['time'])}: {one['reason']}, on {one['via'] or 'no page'}"


def _archive(details: Mapping[str, Any]) -> Iterator[str]:
    for one in details.get("archive", [])[-VISITS:]:
        what = f"{one['status'] or 'a record'}, {moment(one['date'])}"
        yield f"{what}: byte {one['offset']:,} of {one['file']}, {one['length']:,} bytes"
        if "command" in one:
            yield one["command"]
        elif "stored" in one:
            yield f"the file is in the store: {one['stored']}"
        else:
            yield "the file is no longer here"
    yield from _before(details, "archive")


def _before(details: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield how many earlier ones are not shown."""
    more = details.get("counts", {}).get(name, 0) - VISITS
    if more > 0:
        yield f"and {more:,} earlier ones"


def _drone(details: Mapping[str, Any]) -> Iterator[str]:
    if "drone" in details:
        foreign = "" if details["owned"] else ", which does not own this URL"
        yield f"{details['drone']}{foreign}"


def _list(name: str) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    return lambda details: details.get(name, [])[:LINES]


def _now(details: Mapping[str, Any]) -> Iterator[str]:
    yield details["now"]


def _as_of(details: Mapping[str, Any]) -> Iterator[str]:
    if details["as_of"]:
        live = ", and the running crawl" if details.get("live") else ""
        yield f"the checkpoint of {moment(details['as_of'])}{live}"


def _again(details: Mapping[str, Any]) -> Iterator[str]:
    again = details.get("again")
    if again is None:
        return
    if again["due"] is None:
        yield "not within the budget; the policy decides again once per month"
    else:
        yield f"due {moment(again['due'])}, earlier or later as the budget allows"
    visits = count(again["visits"], "visit")
    yield (
        f"last fetched {moment(again['fetched'])}; changed at {again['changes']:,} of "
        f"{visits} since the first"
    )


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
    "again": _again,
    "drone": _drone,
    "if found": _now,
    "as of": _as_of,
    "looked at": _list("looked"),
    "note": _list("odd"),
}
