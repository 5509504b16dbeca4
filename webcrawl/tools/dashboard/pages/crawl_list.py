"""The first page: all crawls and hives, and how they are."""

from __future__ import annotations

import time
from collections.abc import Sequence

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.base.program import program
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawl_states import Known, Sample, saved_at
from webcrawl.tools.dashboard.pages.frame import Parts, Site, badge, page, part, top
from webcrawl.tools.dashboard.signs import pages_per_second, per_second, rate_of, waits_for
from webcrawl.tools.report.elements import note

ORDER = ("running", "paused", "stopping", "silent", "killed", "gone", "new", "stopped")
Row = tuple[Known, Sample, Sequence[Moment]]


def crawls_page(site: Site, rows: Sequence[Row], where: str) -> str:
    """The document."""
    parts = crawls_parts(site, rows, where)
    header = tag("header", top(site), tag("h1", "Crawls"))
    return page(site, "Crawls", header, part("crawls", parts["crawls"]), site.at("events"))


def crawls_parts(site: Site, rows: Sequence[Row], where: str) -> Parts:
    """The parts that change of it."""
    if not rows:
        found = tag(
            "div",
            tag("h2", "No crawl yet"),
            note("There is none in ", tag("code", where), ". It appears here as soon as one begins:"),
            tag("pre", f"{program()} crawl web -a seeds=seeds/small.txt"),
            class_="empty",
        )
        return {"crawls": found}
    ranked = sorted(rows, key=lambda row: (ORDER.index(row[1].state), row[0].name))
    running = [row for row in ranked if row[1].runs]
    pages = sum(rate_of(moments) for _, _, moments in running)
    said = f"{numbers.number(len(running))} of {numbers.count(len(rows), 'crawl')} running"
    together = f", {per_second(pages)} pages together" if running else ""
    summary = tag("p", f"{said}{together}.", class_="lead")
    return {"crawls": join(summary, tag("ul", *(_card(site, *row) for row in ranked), class_="cards"))}


def _card(site: Site, known: Known, sample: Sample, moments: Sequence[Moment]) -> Html:
    facts = [
        ("pages", numbers.number(sample.number("pages"))),
        ("queued", numbers.number(sample.number("queued"))),
        ("hosts", numbers.number(sample.number("hosts"))),
        ("received", numbers.size(sample.number("bytes"))),
    ]
    kind = f"hive of {numbers.count(len(known.drones), 'drone')}" if known.drones else None
    seen = saved_at(sample.figures) if not sample.answers else None
    return tag(
        "li",
        tag(
            "div",
            tag("h2", tag("a", known.name, href=site.at("c", known.id))),
            tag("span", kind, class_="kind") if kind else None,
            badge(sample.state),
            class_="who",
        ),
        tag("p", waits_for(sample, moments), class_="why"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts), class_="few"),
        tag("p", tag("b", pages_per_second(moments)), class_="speed")
        if sample.runs
        else tag("p", f"{numbers.seconds(max(time.time() - seen, 1))} ago" if seen else "", class_="speed last"),
        class_=f"card {sample.state}",
    )
