"""Makes the list of all crawls, and the header and the first tab of each crawl's page."""

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
from webcrawl.tools.dashboard.crawls import CrawlSample, WatchedCrawl, moment_of_sample, saved_at
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
from webcrawl.tools.report.report_source import free_bytes_of

STATES_IN_ORDER = ("running", "paused", "stopping", "silent", "killed", "gone", "new", "stopped")


@dataclass(frozen=True)
class ShownCrawl:
    """A crawl as its page shows it at one moment."""

    site: DashboardAddress
    crawl: WatchedCrawl
    sample: CrawlSample
    moments: Sequence[Moment]  # of the last minutes

    def at(self, *parts: str, **query: str | None) -> str:
        """Return the address of a page of this crawl."""
        return self.site.at("c", self.crawl.id, *parts, **query)

    def link(self, column: str, text: str) -> str | None:
        """Return the address of the page on a URL or a host; None for a text that is neither."""
        if "://" in text[:12]:
            return self.at("why", url=text)
        is_host = column.lower() == "host" and " " not in text
        return self.at("hosts", host=text) if is_host else None


def crawls_page(site: DashboardAddress, crawls: Sequence[ShownCrawl], folder: str) -> str:
    """Return the document that lists all crawls; `folder` is where they were searched."""
    parts = crawls_parts(crawls, folder)
    header = tag("header", top(site), tag("h1", "Crawls"))
    return page(site, "Crawls", header, part("crawls", parts["crawls"]), site.at("events"))


def crawls_parts(crawls: Sequence[ShownCrawl], folder: str) -> Parts:
    """Return the parts of the list that change while its page is open."""
    if not crawls:
        empty = tag(
            "div",
            tag("h2", "No crawl yet"),
            note(
                "There is no crawl in ",
                tag("code", folder),
                ". A crawl appears here as soon as it starts:",
            ),
            tag("pre", f"{program()} crawl web -a seeds=seeds/small.txt"),
            class_="empty",
        )
        return {"crawls": empty}
    ranked = sorted(
        crawls, key=lambda shown: (STATES_IN_ORDER.index(shown.sample.state), shown.crawl.name)
    )
    running = [shown for shown in ranked if shown.sample.runs]
    summary = f"{numbers.number(len(running))} of {numbers.count(len(crawls), 'crawl')} running"
    if running:
        pages = sum(rate_of(shown.moments) for shown in running)
        summary += f", {per_second(pages)} pages together"
    lead = tag("p", f"{summary}.", class_="lead")
    return {"crawls": join(lead, tag("ul", *map(_card, ranked), class_="cards"))}


def _card(shown: ShownCrawl) -> Html:
    """Return the entry of a crawl in the list: name, state, activity and main figures."""
    crawl = shown.crawl
    sample = shown.sample
    facts = [
        ("pages", numbers.number(sample.number("pages"))),
        ("queued", numbers.number(sample.number("queued"))),
        ("hosts", numbers.number(sample.number("hosts"))),
        ("received", numbers.size(sample.number("bytes"))),
    ]
    kind = f"hive of {numbers.count(len(crawl.drones), 'drone')}" if crawl.drones else None
    if sample.runs:
        speed = tag("p", tag("b", pages_per_second(shown.moments)), class_="speed")
    else:
        saved = saved_at(sample.figures)
        age = f"{numbers.seconds(max(time.time() - saved, 1))} ago" if saved else ""
        speed = tag("p", age, class_="speed last")
    return tag(
        "li",
        tag(
            "div",
            tag("h2", tag("a", crawl.name, href=shown.at())),
            tag("span", kind, class_="kind") if kind else None,
            badge(sample.state),
            class_="who",
        ),
        tag("p", activity_of(sample, shown.moments), class_="why"),
        tag(
            "dl",
            *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts),
            class_="few",
        ),
        speed,
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
MAX_SENTENCE_CHARS = 500
MAX_NAMED_ORDERS = 5  # of those in force
# The answer to a button of the header is shown on the first tab; answers to other forms are shown
# on the tab of commands.
FIRST_TAB = "first"
FAILURE_KINDS = ("server_error", "unreachable")  # of the ends of URLs


def crawl_page(
    shown: ShownCrawl, tab: str, content: Html, events: str | None, answer: Html | None = None
) -> str:
    """Return the document of a crawl with a tab open.

    `events` is the address of its updates, if there are any. `answer` is that to a command.
    """
    links = {title: shown.at(name) if name else shown.at() for name, title in TABS.items()}
    header = tag(
        "header",
        top(
            shown.site,
            tag("span", "/", class_="slash", aria_hidden="true"),
            tag("span", shown.crawl.name, class_="crumb"),
        ),
        part("state", state_header(shown)),
        choice("tabs", TABS[tab], links, "Pages of this crawl"),
    )
    title = f"{shown.crawl.name}: {TABS[tab]}"
    return page(
        shown.site, title, header, join(part("signs", warnings(shown)), content), events, answer
    )


def common_parts(shown: ShownCrawl) -> dict[str, Html]:
    """Return the parts that change on every page of a crawl."""
    return {"state": state_header(shown), "signs": warnings(shown)}


def state_header(shown: ShownCrawl) -> Html:
    """Return name, state and activity of a crawl, what it is bound by, and buttons to command it."""
    sample = shown.sample
    return tag(
        "div",
        tag(
            "div",
            tag("h1", shown.crawl.name.rpartition("/")[2]),
            badge(sample.state),
            class_="who",
        ),
        tag("p", activity_of(sample, shown.moments), class_="lead"),
        _bound(sample),
        _buttons(shown) if sample.answers else None,
        class_="state",
    )


def _bound(sample: CrawlSample) -> Html | None:
    """Return what bounds the crawl now, or what bounded it over its whole time, if it tells."""
    causes = sample.figures.get("bound") or in_words(sample.figures)
    if not causes or not isinstance(causes, str):
        return None
    return tag("p", f"Bound by {causes}."[:MAX_SENTENCE_CHARS], class_="note")


def _buttons(shown: ShownCrawl) -> Html:
    """Return the form with the buttons of the header."""
    toggle = "resume" if shown.sample.state == "paused" else "pause"
    labels = {toggle: toggle.capitalize(), "checkpoint": "Checkpoint", "stop": "Stop…"}
    styles = {"resume": "main", "stop": "danger"}
    is_stopping = shown.sample.state == "stopping"
    buttons = [
        button(
            label,
            class_=styles.get(command),
            name="command",
            value=command,
            disabled="" if is_stopping and command != "checkpoint" else None,
        )
        for command, label in labels.items()
    ]
    back = hidden("back", FIRST_TAB)
    return shown.site.form(shown.at("commands"), back, *buttons, class_="buttons")


def warnings(shown: ShownCrawl) -> Html:
    """Return what is wrong with a crawl, and the orders that are in force."""
    sentences = warning_sentences(shown.sample, shown.moments, shown.crawl.jobdir)
    items = [tag("li", sentence) for sentence in sentences]
    warned = tag("ul", *items, class_="warn") if items else None
    return join(warned, _orders_in_force(shown.sample.figures.get("in_force")))


def _orders_in_force(in_force: object) -> Html | None:
    """Return a note on the orders in force, without a pause, which the state shows already."""
    if not isinstance(in_force, list):
        return None
    orders = [str(line) for line in in_force if line != "pause"]
    if not orders:
        return None
    left_out = len(orders) - MAX_NAMED_ORDERS
    more = f" and {left_out} more" if left_out > 0 else None
    code = tag("code", "; ".join(orders[:MAX_NAMED_ORDERS]))
    return tag("p", "In force by command: ", code, more, class_="note")


def figures_part(shown: ShownCrawl) -> Html:
    """Return the figures of the first tab as they are now. The report's sections follow them."""
    number = shown.sample.number
    runs = shown.sample.runs
    if runs:
        turns = shown.sample.turns
        others = f"{numbers.number(turns.ready)} ready, {numbers.number(turns.waiting)} waiting"
        hosts = (numbers.number(turns.active), "hosts active now", others)
    else:
        in_turn = numbers.number(number("hosts"))
        hosts = (in_turn, "hosts in turn", "those with URLs in the back-end")
    failed = "-"
    moment = moment_of_sample(shown.sample)
    if moment is not None:
        failures = sum(moment.mix[kind] for kind in FAILURE_KINDS)
        failed = numbers.percent(failures, sum(moment.mix.values()))
    page_rate = f"{pages_per_second(shown.moments)} now" if runs else "in all"
    byte_rate = bytes_per_second(shown.moments) if runs else None
    figures = tiles(
        (numbers.number(number("pages")), "pages", page_rate),
        (
            numbers.number(number("queued")),
            "URLs queued",
            f"{numbers.number(number('deferred'))} of them deferred",
        ),
        hosts,
        (numbers.number(number("hosts_deferred")), "deferred hosts", f"{failed} of URLs failed"),
        (
            numbers.number(number("seen/keys")),
            "URLs known",
            f"{numbers.number(number('seeds'))} seeds read",
        ),
        (numbers.size(number("bytes")), "received", f"{byte_rate} now" if byte_rate else "in all"),
    )
    return join(figures, _drones(shown))


def _drones(shown: ShownCrawl) -> Html | None:
    """Return a table of the drones of a hive, or None for a single crawl."""
    if not shown.crawl.drones:
        return None
    names = ("pages", "queued", "hosts", "failures")
    columns = [
        TableColumn("Drone"),
        TableColumn("State"),
        *(TableColumn(name.capitalize(), "number") for name in names),
    ]
    rows: list[list[Cell]] = []
    for drone in shown.crawl.drones:
        link = tag("a", drone.jobdir.name, href=shown.site.at("c", drone.id))
        sample = shown.sample.drones.get(drone.id)
        if sample is None:  # it has joined since
            rows.append([link, None, *(None for _ in names)])
        else:
            rows.append([link, badge(sample.state), *map(sample.number, names)])
    return section(
        None,
        "Drones",
        table(None, columns, rows, "Drones"),
        note("Only drones whose folders are on this machine."),
    )


# -- in words

RATE_SECONDS = 30.0  # the present rate is the mean of so long
# A crawl with queued URLs that has got no page for so long has a warning.
STALLED_SECONDS = 60.0
# More URLs than this share ending without an answer is a warning, once MIN_ENDS have ended.
MAX_UNREACHED_SHARE = 0.5
MIN_ENDS = 20
LOW_DISK_BYTES = 2 << 30


def recent_span(
    moments: Sequence[Moment], seconds: float = RATE_SECONDS
) -> tuple[Moment, Moment] | None:
    """Return the last moment and one at least so many seconds before, or the first one.

    Return None if there are not two moments, or if they are more than four times as far apart.
    """
    if len(moments) < 2:
        return None
    last = moments[-1]
    old_enough = (one for one in reversed(moments[:-1]) if last.at - one.at >= seconds)
    before = next(old_enough, moments[0])
    is_recent = 0 < last.at - before.at < 4 * seconds
    return (before, last) if is_recent else None


def rate_of(moments: Sequence[Moment]) -> float:
    """Return the present rate of pages per second; 0 if it is not known yet."""
    return _growth_rate(moments, "pages") or 0.0


def _growth_rate(moments: Sequence[Moment], name: str) -> float | None:
    """Return by how much a figure grows per second now, or None if it is not known yet."""
    span = recent_span(moments)
    if span is None:
        return None
    before, last = span
    return max(last.figures[name] - before.figures[name], 0) / (last.at - before.at)


def pages_per_second(moments: Sequence[Moment]) -> str:
    """Return the present rate of pages in words."""
    return per_second(rate_of(moments))


def per_second(rate: float) -> str:
    """Return a rate with three significant digits."""
    return f"{numbers.number(float(f'{rate:.3g}'))}/s"


def bytes_per_second(moments: Sequence[Moment]) -> str | None:
    """Return the rate of bytes received, or None if it is not known yet."""
    rate = _growth_rate(moments, "bytes")
    return None if rate is None else f"{numbers.size(rate)}/s"


def activity_of(sample: CrawlSample, moments: Sequence[Moment]) -> str:
    """Return a sentence on what a crawl does, or what it waits for."""
    match sample.state:
        case "silent" | "new" | "killed" | "gone":
            words = sample.note
        case "stopped":
            words = _end_words(sample)
        case "stopping":
            downloads = numbers.count(int(sample.number("in_flight")), "download")
            words = f"finishing {downloads} in progress"
        case "paused":
            words = "paused: fetches nothing until it is resumed"
        case _:
            words = str(sample.figures.get("trouble") or "")
            if not words:
                words = _turn_words(sample, rate_of(moments))
    return as_sentence(words)


def _end_words(sample: CrawlSample) -> str:
    """Return how the last run ended, and which URLs are left."""
    reason = sample.note
    if reason != "finished":
        is_work_left = sample.figures.get("work_left") is not False
        return stopped_by(reason, is_work_left=is_work_left) or f"ended: {reason}"
    queued = int(sample.number("queued"))
    if not queued:
        return "finished: nothing is left to fetch"
    folded = " or folded" if sample.number("over_budget/folded") else ""
    urls = numbers.count(queued, "URL")
    return f"finished, except for {urls} of deferred hosts or over their domains' budgets{folded}"


def _turn_words(sample: CrawlSample, rate: float) -> str:
    """Return the rate of a running crawl, and how many hosts are active, are ready and wait."""
    queued = int(sample.number("queued"))
    turns = sample.turns
    if not queued and not turns.active:
        return "nothing is queued: the crawl is looking for more, or is about to end"
    if not turns.active and queued == int(sample.number("deferred")):
        # Without a time, all of them are paused by command.
        later = "wait until they are resumed"
        if sample.number("deferred_due"):
            later = "are retried now and then"
        return f"{numbers.count(queued, 'URL')} queued, all of deferred hosts, which {later}"
    words = waits_for(sample.figures) or str(turns)
    if rate:
        words = f"{numbers.number(float(f'{rate:.2g}'))} pages per second; {words}"
    return words


def warning_sentences(
    sample: CrawlSample, moments: Sequence[Moment], jobdir: Path
) -> Iterator[str]:
    """Yield sentences on what is wrong with a crawl, or may be."""
    if sample.note and sample.answers:
        yield as_sentence(sample.note)
    errors = int(sample.number("errors"))
    if errors:
        yield f"{numbers.count(errors, 'unexpected error')}, see logs/errors.log."
    free = free_bytes_of(jobdir)
    if free is not None and free < LOW_DISK_BYTES:
        yield f"The disk has {numbers.size(free)} left."
    span = recent_span(moments, STALLED_SECONDS) if sample.state == "running" else None
    if span is not None:
        yield from _warnings_between(*span)


def _warnings_between(before: Moment, last: Moment) -> Iterator[str]:
    """Yield what is wrong with a running crawl, by what it did between two moments."""
    queued = last.figures["queued"]
    if last.figures["pages"] == before.figures["pages"] and queued:
        seconds = numbers.seconds(last.at - before.at)
        yield f"No page in {seconds}, though the queue has {numbers.count(int(queued), 'URL')}."
    ended = sum(last.mix.values()) - sum(before.mix.values())
    unreached = last.mix["unreachable"] - before.mix["unreachable"]
    if ended >= MIN_ENDS and unreached > MAX_UNREACHED_SHARE * ended:
        share = numbers.percent(unreached, ended)
        yield (
            f"{share} of the URLs that ended recently got no answer: the hosts or our own network "
            "may be down."
        )
