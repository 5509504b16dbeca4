"""The tabs of a crawl beside its figures: hosts, errors, seeds and logs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.store.jobdir.crawl_line import FIELDS
from webcrawl.tools.dashboard.answers import Link, answered, table
from webcrawl.tools.dashboard.pages.crawl_page import Shown
from webcrawl.tools.dashboard.pages.frame import button, choice, field
from webcrawl.tools.report.elements import note, section

HOSTS_BY = {"queue": "by queue", "errors": "by errors", "bytes": "by bytes", "delay": "by delay"}
LOGS = ("crawl.log", "errors.log", "skipped.log", "requests.log")
MOST_LINES = 100
Found = Any  # what a crawl answered, or None if it knows no such command


def linker(shown: Shown) -> Link:
    """Links of URLs and hosts of an answer: to what is known of them."""

    def link(name: str, text: str) -> str | None:
        if "://" in text[:12]:
            return shown.at("why", url=text)
        return shown.at("hosts", host=text) if name.lower() == "host" and " " not in text else None

    return link


def hosts_content(shown: Shown, by: str, now: Html, report: Html) -> Html:
    links = {label: shown.at("hosts", by=name) for name, label in HOSTS_BY.items()}
    order = choice("spans", HOSTS_BY[by], links, "Order of the hosts")
    return join(section(None, "Hosts now", now, more=order), report)


def hosts_part(shown: Shown, found: Found, why_not: str) -> Html:
    """What the crawl answers, and the number of URLs in each of the frontier's levels."""
    return join(answered(found, linker(shown)) if found is not None else note(why_not), _levels(shown))


def host_content(shown: Shown, host: str, found: Found, why_not: str, queue: Found) -> Html:
    """One host: its record, its next URLs, and what it can be told."""
    back = tag("a", "All hosts", href=shown.at("hosts"))
    if found is None:
        return section(None, host, note(why_not), tag("p", back))
    verbs = {"pause": "Pause", "resume": "Resume", "retry": "Retry now", "drop": "Drop…"}
    forms = [
        shown.site.form(
            shown.at("commands"),
            tag("input", type="hidden", name="word0", value=shlex.join((host, verb))),
            button(words_, class_="danger" if verb == "drop" else None, name="command", value="host"),
        )
        for verb, words_ in verbs.items()
    ]
    return join(
        section(None, host, answered(found, linker(shown)), more=tag("div", *forms, class_="buttons")),
        section(None, "Its next URLs", answered(queue, linker(shown))) if queue is not None else None,
        tag("p", back),
    )


def _levels(shown: Shown) -> Html:
    levels = shown.sample.figures.get("levels")
    if not isinstance(levels, list) or not levels:
        return Html()
    most = max(*levels, 1)
    rows = [
        tag(
            "tr",
            tag("th", f"Level {at}", scope="row"),
            tag("td", tag("meter", value=str(many), max=str(most), aria_hidden="true")),
            tag("td", numbers.number(many), class_="n"),
        )
        for at, many in enumerate(levels)
    ]
    return join(
        tag("h3", "Front-end: URLs by level, each picked twice as often as the next"),
        tag("table", tag("tbody", *rows), class_="levels"),
    )


def errors_part(shown: Shown, found: Found, lines: Sequence[str]) -> Html:
    """What the crawl answers, and the last tracebacks."""
    log = tag("pre", "\n".join(lines), tabindex="0", class_="log") if lines else note("None.")
    unexpected = section(None, "Unexpected errors: the end of logs/errors.log", log)
    return join(section(None, "Errors now", answered(found, linker(shown))) if found else None, unexpected)


def seeds_part(shown: Shown) -> Html:
    """How far the lists are read."""
    read, bad = int(shown.sample.number("seeds")), int(shown.sample.number("bad_seeds"))
    unread = f", {numbers.count(bad, 'line')} that could not be read" if bad else ""
    return tag("p", f"{numbers.count(read, 'seed')} read from the lists{unread}.", class_="lead")


def seeds_content(shown: Shown, now: Html, report: Html) -> Html:
    """With a field for more of them."""
    if not shown.sample.answers:
        return join(now, report)
    text = tag("textarea", name="seeds", rows="4", required="", spellcheck="false", placeholder="https://example.com/")
    label = tag("label", tag("span", "URLs or domains, one per line"), text)
    more = shown.site.form(shown.at("seeds"), label, button("Add seeds", class_="main"), class_="paste")
    return join(now, section(None, "Add seeds", more), report)


def log_content(shown: Shown, name: str, wanted: str, now: Html) -> Html:
    links = {one: shown.at("log", name=one, find=wanted) for one in LOGS}
    finder = tag(
        "form",
        tag("input", type="hidden", name="name", value=name),
        field("Lines with", "find", wanted, kind="search", placeholder="a host, a status, a word"),
        button("Show"),
        method="get",
        action=shown.at("log"),
        class_="row",
    )
    return section(None, "Log", finder, now, more=choice("spans", name, links, "Which log"))


def lines_part(shown: Shown, name: str, lines: Sequence[str]) -> Html:
    """The latest first; crawl.log as a table."""
    if not lines:
        return note("No such line in the last part of this log, or no such log yet.")
    split = [line.split() for line in lines]
    if name == "crawl.log" and all(len(fields) == FIELDS for fields in split):
        return join(note("The latest first."), table([_row(fields) for fields in split], linker(shown), name))
    return tag("pre", "\n".join(lines), tabindex="0", class_="log")


def _row(fields: Sequence[str]) -> Mapping[str, Any]:
    when, status, size, url, path, _, kind, _, fetched, *_ = fields
    took = fetched.partition("+")[2]
    return {
        "time": when[11:19],
        "status": status,
        "URL": url,
        "size": int(size) if size.isdecimal() else None,
        "took": numbers.seconds(int(took) / 1000) if took.isdecimal() else "-",
        "type": kind,
        "path": path,
    }
