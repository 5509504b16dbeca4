"""The list of all crawls, and of each its header and figures: what to know and do first."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.base.program import program
from webcrawl.base.readable import as_sentence
from webcrawl.crawl.bound import in_words
from webcrawl.crawl.progress import stopped_by, waits_for
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawls import CrawlSample, WatchedCrawl, saved_at, told
from webcrawl.tools.dashboard.frame import (
    DashboardAddress,
    Parts,
    badge,
    button,
    choice,
    hidden,
    page,
    part,
    top,
)
from webcrawl.tools.report.elements import Cell, TableColumn, note, section, table, tiles
from webcrawl.tools.report.report_source import free_bytes

ORDER = ("running", "paused", "stopping", "silent", "killed", "gone", "new", "stopped")


@dataclass(frozen=True)
class ShownCrawl:
    """A crawl as its page shows it at one moment."""

    site: DashboardAddress
    known: WatchedCrawl
    sample: CrawlSample
    moments: Sequence[Moment]

    def at(self, *parts: str, **query: str | None) -> str:
        return self.site.at("c", self.known.id, *parts, **query)

    def link(self, name: str, text: str) -> str | None:
        """Return the address of what is known of a URL or host; `name` is its column."""
        if "://" in text[:12]:
            return self.at("why", url=text)
        return self.at("hosts", host=text) if name.lower() == "host" and " " not in text else None


def crawls_page(site: DashboardAddress, crawls: Sequence[ShownCrawl], where: str) -> str:
    parts = crawls_parts(crawls, where)
    header = tag("header", top(site), tag("h1", "Crawls"))
    return page(site, "Crawls", header, part("crawls", parts["crawls"]), site.at("events"))


def crawls_parts(crawls: Sequence[ShownCrawl], where: str) -> Parts:
    """Return the parts that change of it."""
    if not crawls:
        found = tag(
            "div",
            tag("h2", "No crawl yet"),
            note(
                "There is no crawl in ",
                tag("code", where),
                ". A crawl appears here as soon as it starts:",
            ),
            tag("pre", f"{program()} crawl web -a seeds=seeds/small.txt"),
            class_="empty",
        )
        return {"crawls": found}
    ranked = sorted(crawls, key=lambda one: (ORDER.index(one.sample.state), one.known.name))
    running = [one for one in ranked if one.sample.runs]
    pages = sum(rate_of(one.moments) for one in running)
    said = f"{numbers.number(len(running))} of {numbers.count(len(crawls), 'crawl')} running"
    together = f", {per_second(pages)} pages together" if running else ""
    summary = tag("p", f"{said}{together}.", class_="lead")
    return {"crawls": join(summary, tag("ul", *map(_card, ranked), class_="cards"))}


def _card(shown: ShownCrawl) -> Html:
    known, sample = shown.known, shown.sample
    facts = [
        ("pages", numbers.number(sample.number("pages"))),
        ("queued", numbers.number(sample.number("queued"))),
        ("hosts", numbers.number(sample.number("hosts"))),
        ("received", numbers.size(sample.number("bytes"))),
    ]
    kind = f"hive of {numbers.count(len(known.drones), 'drone')}" if known.drones else None
    seen = saved_at(sample.figures) if not sample.answers else None
    since = f"{numbers.seconds(max(time.time() - seen, 1))} ago" if seen else ""
    return tag(
        "li",
        tag(
            "div",
            tag("h2", tag("a", known.name, href=shown.at())),
            tag("span", kind, class_="kind") if kind else None,
            badge(sample.state),
            class_="who",
        ),
        tag("p", does(sample, shown.moments), class_="why"),
        tag(
            "dl",
            *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts),
            class_="few",
        ),
        tag("p", tag("b", pages_per_second(shown.moments)), class_="speed")
        if sample.runs
        else tag("p", since, class_="speed last"),
        class_=f"card {sample.state}",
    )


TABS = {
    "": "Overview",
    "hosts": "Hosts",
    "errors": "Errors",
    "seeds": "Seeds",
    "log": "Log",
    "search": "Search",
    "why": "Why?",
    "commands": "Commands",
}
LONGEST = 500  # characters of a sentence
ORDERS = 5  # in force by command, that are named
# where the buttons of the header lead: the first tab, while other forms lead to that of commands
FIRST = "first"
FAILED = ("server_error", "unreachable")  # kinds of ends that are failures


def crawl_page(
    shown: ShownCrawl, tab: str, content: Html, events: str | None, said: Html | None = None
) -> str:
    """Return the document of a crawl, with one of the tabs open."""
    links = {words: shown.at(name) if name else shown.at() for name, words in TABS.items()}
    header = tag(
        "header",
        top(
            shown.site,
            tag("span", "/", class_="slash", aria_hidden="true"),
            tag("span", shown.known.name, class_="crumb"),
        ),
        part("state", state(shown)),
        choice("tabs", TABS[tab], links, "Pages of this crawl"),
    )
    title = f"{shown.known.name}: {TABS[tab]}"
    return page(
        shown.site, title, header, join(part("signs", warnings(shown)), content), events, said
    )


def common(shown: ShownCrawl) -> dict[str, Html]:
    """Return the parts that every page of a crawl has."""
    return {"state": state(shown), "signs": warnings(shown)}


def state(shown: ShownCrawl) -> Html:
    """Is it running, what is it waiting for, and the buttons for both."""
    sample = shown.sample
    return tag(
        "div",
        tag(
            "div",
            tag("h1", shown.known.name.rpartition("/")[2]),
            badge(sample.state),
            class_="who",
        ),
        tag("p", does(sample, shown.moments), class_="lead"),
        _bound(sample),
        _buttons(shown) if sample.answers else None,
        class_="state",
    )


def _bound(sample: CrawlSample) -> Html | None:
    """Return what limits the crawl now, or limited it in the end; of a hive what does in all."""
    said = sample.figures.get("bound") or in_words(sample.figures)
    return (
        tag("p", f"Bound by {said}."[:LONGEST], class_="note")
        if said and isinstance(said, str)
        else None
    )


def _buttons(shown: ShownCrawl) -> Html:
    go = "resume" if shown.sample.state == "paused" else "pause"
    names = {go: go.capitalize(), "checkpoint": "Checkpoint", "stop": "Stop…"}
    styles = {"resume": "main", "stop": "danger"}
    made = [
        button(
            words,
            class_=styles.get(name),
            name="command",
            value=name,
            disabled=_unless(shown, name),
        )
        for name, words in names.items()
    ]
    return shown.site.form(shown.at("commands"), hidden("back", FIRST), *made, class_="buttons")


def _unless(shown: ShownCrawl, name: str) -> str | None:
    return "" if shown.sample.state == "stopping" and name != "checkpoint" else None


def warnings(shown: ShownCrawl) -> Html:
    found = [tag("li", one) for one in signs(shown.sample, shown.moments, shown.known.jobdir)]
    warned = tag("ul", *found, class_="warn") if found else None
    return join(warned, _orders_in_force(shown.sample.figures.get("in_force")))


def _orders_in_force(in_force: object) -> Html | None:
    """Return a note on the orders that last, but for a pause, which the state says."""
    if not isinstance(in_force, list):
        return None
    orders = [str(line) for line in in_force if line != "pause"]
    if not orders:
        return None
    more = f" and {len(orders) - ORDERS} more" if len(orders) > ORDERS else None
    code = tag("code", "; ".join(orders[:ORDERS]))
    return tag("p", "In force by command: ", code, more, class_="note")


def figures_part(shown: ShownCrawl) -> Html:
    """Return the figures of the first tab as they are now; the report's sections follow them."""
    number, runs = shown.sample.number, shown.sample.runs
    turns = shown.sample.turns
    at_work = (numbers.number(number("hosts")), "hosts in turn", "those with URLs in the back-end")
    if runs:
        others = f"{numbers.number(turns.ready)} ready, {numbers.number(turns.waiting)} waiting"
        at_work = (numbers.number(turns.asked), "hosts asked now", others)
    seen = told(shown.sample)
    failed = (
        numbers.percent(sum(seen.mix[kind] for kind in FAILED), sum(seen.mix.values()))
        if seen is not None
        else "-"
    )
    pages_now = f"{pages_per_second(shown.moments)} now" if runs else "in all"
    received = bytes_per_second(shown.moments) if runs else None
    made = tiles(
        (numbers.number(number("pages")), "pages", pages_now),
        (
            numbers.number(number("queued")),
            "URLs queued",
            f"{numbers.number(number('aside'))} of them set aside",
        ),
        at_work,
        (numbers.number(number("hosts_aside")), "hosts set aside", f"{failed} of URLs failed"),
        (
            numbers.number(number("seen/keys")),
            "URLs known",
            f"{numbers.number(number('seeds'))} seeds read",
        ),
        (numbers.size(number("bytes")), "received", f"{received} now" if received else "in all"),
    )
    return join(made, _drones(shown))


def _drones(shown: ShownCrawl) -> Html | None:
    if not shown.known.drones:
        return None
    names = ("pages", "queued", "hosts", "failures")
    head = [
        TableColumn("Drone"),
        TableColumn("State"),
        *(TableColumn(name.capitalize(), "number") for name in names),
    ]
    rows: list[list[Cell]] = []
    for drone in shown.known.drones:
        sample = shown.sample.drones.get(drone.id)
        link = tag("a", drone.jobdir.name, href=shown.site.at("c", drone.id))
        state, counts = (
            (badge(sample.state), map(sample.number, names))
            if sample is not None
            else (None, (None,) * 4)
        )
        rows.append([link, state, *counts])
    return section(
        None,
        "Drones",
        table(None, head, rows, "Drones"),
        note("Only drones whose folders are on this machine."),
    )


# -- in words

RECENT = 30.0  # seconds of which the present rate is
STILL = 60.0  # seconds without a page, with URLs queued, that are worth a word
UNREACHED = 0.5  # share of failures among what ended lately that is worth a word
FEW = 20  # ends that say nothing yet
LITTLE_DISK = 2 << 30  # bytes


def lately(moments: Sequence[Moment], seconds: float = RECENT) -> tuple[Moment, Moment] | None:
    """Return the last moment and one about so many seconds before; None if there are not two."""
    if len(moments) < 2:
        return None
    last = moments[-1]
    before = next(
        (one for one in reversed(moments[:-1]) if last.at - one.at >= seconds), moments[0]
    )
    return (before, last) if 0 < last.at - before.at < 4 * seconds else None


def rate_of(moments: Sequence[Moment]) -> float:
    """Return the pages per second, lately."""
    return _growth(moments, "pages") or 0.0


def _growth(moments: Sequence[Moment], name: str) -> float | None:
    """Return by how much a figure grows per second, lately; None if it is not known yet."""
    pair = lately(moments)
    if pair is None:
        return None
    before, last = pair
    return max(last.figures[name] - before.figures[name], 0) / (last.at - before.at)


def pages_per_second(moments: Sequence[Moment]) -> str:
    """Return the present rate in words."""
    return per_second(rate_of(moments))


def per_second(rate: float) -> str:
    """Return a rate with as many digits as say something."""
    return f"{numbers.number(float(f'{rate:.3g}'))}/s"


def bytes_per_second(moments: Sequence[Moment]) -> str | None:
    """Return the rate of bytes received, or None if it is not known yet."""
    rate = _growth(moments, "bytes")
    return None if rate is None else f"{numbers.size(rate)}/s"


def does(sample: CrawlSample, moments: Sequence[Moment]) -> str:
    """Return a sentence on what a crawl does, or waits for."""
    match sample.state:
        case "silent" | "new" | "killed" | "gone":
            said = sample.note
        case "stopped":
            said = _end(sample)
        case "stopping":
            said = f"finishing {numbers.count(int(sample.number('in_flight')), 'download')} in progress"
        case "paused":
            said = "paused: fetches nothing until it is resumed"
        case _:
            said = str(sample.figures.get("trouble") or "") or _turns(sample, rate_of(moments))
    return as_sentence(said)


def _end(sample: CrawlSample) -> str:
    reason, queued = sample.note, int(sample.number("queued"))
    if reason != "finished":
        return stopped_by(reason) or f"ended: {reason}"
    alike = " or folded" if sample.number("over_budget/folded") else ""
    left = (
        f"{numbers.count(queued, 'URL')} of hosts set aside or over their domains' budgets{alike}"
    )
    return f"finished, except for {left}" if queued else "finished: nothing is left to fetch"


def _turns(sample: CrawlSample, rate: float) -> str:
    """Return whose turn it is, of a crawl that may fetch."""
    queued = int(sample.number("queued"))
    turns = sample.turns
    if not queued and not turns.asked:
        return "nothing is queued: the crawl is looking for more, or is about to end"
    if not turns.asked and queued == int(sample.number("aside")):
        # Without a time, all of them are paused by command.
        later = "wait until they are resumed"
        if sample.number("aside_due"):
            later = "are retried now and then"
        return f"all {numbers.number(queued)} queued URLs are of hosts set aside, which {later}"
    said = waits_for(sample.figures) or str(turns)
    if rate:
        said = f"{numbers.number(float(f'{rate:.2g}'))} pages per second; {said}"
    return said


def signs(sample: CrawlSample, moments: Sequence[Moment], jobdir: Path) -> Iterator[str]:
    """Yield sentences on what is wrong, or may be."""
    if sample.note and sample.answers:
        yield as_sentence(sample.note)
    errors = int(sample.number("errors"))
    if errors:
        yield f"{numbers.count(errors, 'unexpected error')}, see logs/errors.log."
    free = free_bytes(jobdir)
    if free is not None and free < LITTLE_DISK:
        yield f"The disk has {numbers.size(free)} left."
    pair = lately(moments, STILL) if sample.state == "running" else None
    if pair is not None:
        yield from _signs_between(*pair)


def _signs_between(before: Moment, last: Moment) -> Iterator[str]:
    """Yield what is wrong with a running crawl, by what it did between two moments."""
    queued = last.figures["queued"]
    if last.figures["pages"] == before.figures["pages"] and queued:
        seconds = numbers.seconds(last.at - before.at)
        yield f"No page in {seconds}, though {numbers.number(queued)} URLs are queued."
    ended = sum(last.mix.values()) - sum(before.mix.values())
    unreached = last.mix["unreachable"] - before.mix["unreachable"]
    if ended >= FEW and unreached > UNREACHED * ended:
        share = numbers.percent(unreached, ended)
        yield (
            f"{share} of the URLs that ended recently got no answer: the hosts or our own network "
            "may be down."
        )
