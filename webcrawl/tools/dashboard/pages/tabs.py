"""The tabs of a crawl beside its figures: hosts, errors, seeds, fetchers and logs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from webcrawl.base.program import program
from webcrawl.store.jobdir import stats_file
from webcrawl.store.jobdir.crawl_line import FIELDS
from webcrawl.tools.dashboard.answers import Link, answered, table
from webcrawl.tools.dashboard.log_tails import LOGS, SeedProgress
from webcrawl.tools.dashboard.pages.crawl_page import TABS, Shown
from webcrawl.tools.dashboard.pages.frame import Parts, button, choice, field, note, part, section
from webcrawl.tools.report import counter_words as words
from webcrawl.tools.report import numbers
from webcrawl.tools.report.markup import Html, join, tag

HOSTS_BY = {"queue": "by queue", "errors": "by errors", "bytes": "by bytes", "delay": "by delay"}
SAVED = {"queue": "most_documents", "errors": "most_failures", "bytes": "most_bytes", "delay": "most_documents"}
MOST_SEEDS, MOST_LINES = 500, 100
Found = Any  # what a crawl answered, or None if it knows no such command


def linker(shown: Shown) -> Link:
    """Links of URLs and hosts of an answer: to what is known of them."""

    def link(name: str, text: str) -> str | None:
        if "://" in text[:12]:
            return shown.at("why", url=text)
        return shown.at("hosts", host=text) if name.lower() == "host" and " " not in text else None

    return link


def content(tab: str, parts: Parts) -> Html:
    """A tab of one part, which has its name."""
    return section(TABS[tab], part(tab, parts[tab]))


def hosts_content(shown: Shown, by: str, parts: Parts) -> Html:
    links = {label: shown.at("hosts", by=name) for name, label in HOSTS_BY.items()}
    return section(
        "Hosts",
        part("hosts", parts["hosts"]),
        part("levels", parts["levels"]),
        more=choice("spans", HOSTS_BY[by], links, "Order of the hosts"),
    )


def hosts_part(shown: Shown, by: str, found: Found, why_not: str) -> Html:
    """Live where the crawl answers; else those that the statistics of the last checkpoint name."""
    if found is not None:
        return answered(found, linker(shown))
    rows = _saved_hosts(shown).get(SAVED[by])
    if not isinstance(rows, dict) or not rows:
        return note(why_not, " There are no saved statistics of hosts yet.")
    names = ("documents", "bytes", "failures")
    made = [{"host": host, **dict(zip(names, counts, strict=False))} for host, counts in rows.items()]
    return join(
        note(why_not, f" These had most {SAVED[by].removeprefix('most_')} as of the last checkpoint."),
        table(made, linker(shown)),
    )


def host_content(shown: Shown, host: str, found: Found, why_not: str, queue: Found) -> Html:
    """One host: its record, its next URLs, and what it can be told."""
    back = tag("a", "All hosts", href=shown.at("hosts"))
    if found is None:
        return section(host, note(why_not), tag("p", back))
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
        section(host, answered(found, linker(shown)), more=tag("div", *forms, class_="buttons")),
        section("Its next URLs", answered(queue, linker(shown))) if queue is not None else None,
        tag("p", back),
    )


def _saved_hosts(shown: Shown) -> Mapping[str, Any]:
    """Hosts by the statistics of the last checkpoint; of a hive, what each drone's do."""
    found: dict[str, dict[str, Any]] = {}
    for crawl in shown.known.crawls:
        statistics = stats_file.read(crawl.jobdir).get("statistics")
        hosts = statistics.get("hosts") if isinstance(statistics, dict) else None
        for name, rows in hosts.items() if isinstance(hosts, dict) else ():
            if isinstance(rows, dict):
                found.setdefault(name, {}).update((host, row) for host, row in rows.items() if isinstance(row, list))
    return found


def levels_part(shown: Shown) -> Html:
    """The number of URLs in each of the frontier's levels."""
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


NOTHING_WRONG = "No attempt has ended without an answer yet, and no answer had a flaw."


def errors_part(shown: Shown, found: Found, lines: Sequence[str]) -> Html:
    """The crawl's counts, by whose doing it was, and the last tracebacks."""
    made = []
    for title, names in words.WRONG.items():
        rows = [
            {"what": meaning, "count": int(shown.sample.number(name)), "counter": name}
            for name, meaning in names.items()
            if shown.sample.number(name)
        ]
        if rows:
            made.append(join(tag("h3", title), table(rows, label=title)))
    log = tag("pre", "\n".join(lines), tabindex="0", class_="log") if lines else note("None.")
    return join(
        answered(found, linker(shown)) if found else None,
        *(made or [note(NOTHING_WRONG if shown.sample.figures else "No figures are known yet.")]),
        tag("h3", "Unexpected errors: the end of logs/errors.log"),
        log,
    )


def fetchers_part(shown: Shown, found: Found, why_not: str) -> Html:
    """Downloads under way, and what each is doing."""
    return answered(found, linker(shown)) if found is not None else note(why_not)


def seeds_part(shown: Shown, progress: SeedProgress) -> Html:
    """Progress in the lists, and what became of each seed."""
    read, bad = int(shown.sample.number("seeds")), int(shown.sample.number("bad_seeds"))
    seeds = progress.table
    ended = seeds.ended
    said = f"{numbers.count(read, 'seed')} read from the lists, {numbers.number(ended)} with an outcome"
    rows = [
        {
            "seed": row.url,
            "outcome": f"{row.status} {words.status(row.status)}{' after redirects' if row.redirected else ''}"
            if row.status
            else "not ended yet",
            "found": row.found,
            "fetched": row.fetched,
            "failed": row.failed,
            "received": row.size,
        }
        for row in islice(seeds.rows(MOST_SEEDS), MOST_SEEDS)
    ]
    left = (
        note(f"{numbers.size(progress.left)} of crawl.log are not read yet: this page goes on.")
        if progress.left
        else None
    )
    return join(
        tag("p", said, f", {numbers.count(bad, 'line')} that could not be read" if bad else "", ".", class_="lead"),
        tag("progress", value=str(min(ended, max(read, 1))), max=str(max(read, 1)), aria_label="Seeds with an outcome"),
        left,
        table(rows, linker(shown), "What became of each seed, those that failed first") if rows else None,
        note(f"The first {MOST_SEEDS}; {program()} report has more.") if len(seeds) > MOST_SEEDS else None,
    )


def seeds_content(shown: Shown, parts: Parts) -> Html:
    """And a field for more of them."""
    made = section("Seeds", part("seeds", parts["seeds"]))
    if not shown.sample.answers:
        return made
    text = tag("textarea", name="seeds", rows="4", required="", spellcheck="false", placeholder="https://example.com/")
    label = tag("label", tag("span", "URLs or domains, one per line"), text)
    more = shown.site.form(shown.at("seeds"), label, button("Add seeds", class_="main"), class_="paste")
    return join(made, section("Add seeds", more))


def log_content(shown: Shown, name: str, wanted: str, parts: Parts) -> Html:
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
    return section(
        "Log",
        finder,
        part("log", parts["log"]),
        more=choice("spans", name, links, "Which log"),
    )


def lines_part(shown: Shown, name: str, lines: Sequence[str]) -> Html:
    """The latest first; crawl.log as a table."""
    if not lines:
        return note("No such line in the last part of this log, or no such log yet.")
    split = [line.split() for line in lines]
    if name == "crawl.log" and all(len(fields) == FIELDS for fields in split):
        return table([_row(fields) for fields in split], linker(shown), "The latest first")
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
