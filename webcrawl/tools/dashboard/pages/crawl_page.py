"""A crawl or hive: its header with the first things one wants to know and to do, and the page of its figures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.crawl.bound import in_words
from webcrawl.store.jobdir.history_line import KINDS, Moment
from webcrawl.store.jobdir.revisit_figures import RevisitFigures, figures_of
from webcrawl.tools import charts
from webcrawl.tools.charts import Line
from webcrawl.tools.dashboard import curves
from webcrawl.tools.dashboard.crawl_states import Known, Sample
from webcrawl.tools.dashboard.pages.frame import Parts, Site, badge, button, choice, note, page, part, section, top
from webcrawl.tools.dashboard.signs import lately, rate_of, signs, waits_for
from webcrawl.tools.report import numbers
from webcrawl.tools.report.markup import Child, Html, join, tag, tiles

FOUND = {"changed": 0, "unchanged": 5, "gone": 3}  # and their colours


def revisit_tiles(stats: Mapping[str, Any]) -> Html | None:
    """Freshness of copies, and what keeps it; `stats` are the figures of a crawl."""
    try:
        figures = figures_of(stats)
        return _revisit_tiles(figures) if figures is not None else None
    except (TypeError, ValueError, OverflowError):  # a file that somebody has written by hand
        return None


def _revisit_tiles(figures: RevisitFigures) -> Html:
    done = figures.unchanged + figures.changed + figures.gone
    announced = figures.signals_true + figures.signals_false
    let_go = f"{numbers.number(figures.let_go)} let go" if figures.sampled else ""
    return tiles(
        (numbers.percent(figures.freshness, 1) if figures.sampled else "-", "of copies fresh", "estimated, by weight"),
        (numbers.seconds(figures.age) if figures.sampled else "-", "mean age", "0 for a fresh copy"),
        (numbers.number(figures.records), "pages fetched again", let_go),
        (charts.per_second(figures.used), "revisits", f"budget {charts.per_second(figures.budget)}"),
        (numbers.percent(figures.changed, done), "changed", f"of {numbers.number(done)} revisits"),
        (
            numbers.percent(figures.signals_true, announced),
            "of announcements true",
            f"{numbers.number(figures.signals_ignored)} not looked at",
        ),
    )


def revisit_plots(
    moments: Sequence[Moment], parts: Sequence[Sequence[Moment]], edges: tuple[float, float]
) -> Html | None:
    """Freshness over time, and what revisits found, if the crawl has ever fetched a page again."""
    if not moments or moments[-1].revisits is None:
        return None
    fresh = curves.between(parts, curves.freshness)
    last = curves.latest(fresh)
    found = []
    for name, colour in FOUND.items():
        curve = curves.between(parts, curves.revisited(name))
        now = curves.latest(curve)
        found.append(Line(name, colour, curve, "" if now is None else charts.per_second(now)))
    return join(
        charts.plot(
            "Fresh copies",
            [Line("Fresh copies", 2, fresh, "" if last is None else _percent(last), filled=True)],
            edges,
            _percent,
            top=95,
        ),
        charts.plot("Revisits per second, by what they found", found, edges, charts.per_second),
    )


def _percent(value: float) -> str:
    return f"{value:.3g} %"


TABS = {
    "": "Overview",
    "hosts": "Hosts",
    "errors": "Errors",
    "seeds": "Seeds",
    "fetchers": "Fetchers",
    "log": "Log",
    "why": "Why?",
    "commands": "Commands",
}
LONGEST = 500  # characters of a sentence
ORDERS = 5  # in force by command, that are named
FIRST = "first"  # where the buttons of the header lead: the first tab, while other forms lead to that of commands
SPANS = {"10 min": 600.0, "1 h": 3600.0, "6 h": 21_600.0, "1 day": 86_400.0, "all": 0.0}
ENDS = dict(
    zip(
        KINDS,
        ("documents", "redirects", "not found (4xx)", "server errors (5xx)", "no answer", "refused by us"),
        strict=True,
    )
)


@dataclass(frozen=True)
class Shown:
    """One crawl at one moment."""

    site: Site
    known: Known
    sample: Sample
    moments: Sequence[Moment]

    def at(self, *parts: str, **query: str | None) -> str:
        """The address of one of its pages."""
        return self.site.at("c", self.known.id, *parts, **query)


def crawl_page(shown: Shown, tab: str, content: Html, events: str | None, said: Html | None = None) -> str:
    """A document of a crawl, with one of the tabs open."""
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
    return page(shown.site, title, header, join(part("signs", warnings(shown)), content), events, said)


def common(shown: Shown) -> dict[str, Html]:
    """The parts that every page of a crawl has."""
    return {"state": state(shown), "signs": warnings(shown)}


def state(shown: Shown) -> Html:
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
        tag("p", waits_for(sample, shown.moments), class_="lead"),
        _bound(sample),
        _buttons(shown) if sample.answers else None,
        class_="state",
    )


def _bound(sample: Sample) -> Html | None:
    """The cause that limits it now, or has limited it in the end; of a hive what has, in all."""
    said = sample.figures.get("bound") or in_words(sample.figures)
    return tag("p", f"Bound by {said}."[:LONGEST], class_="note") if said and isinstance(said, str) else None


def _buttons(shown: Shown) -> Html:
    go = "resume" if shown.sample.state == "paused" else "pause"
    names = {go: go.capitalize(), "checkpoint": "Checkpoint", "stop": "Stop…"}
    styles = {"resume": "main", "stop": "danger"}
    made = [
        button(words, class_=styles.get(name), name="command", value=name, disabled=_unless(shown, name))
        for name, words in names.items()
    ]
    back = tag("input", type="hidden", name="back", value=FIRST)
    return shown.site.form(shown.at("commands"), back, *made, class_="buttons")


def _unless(shown: Shown, name: str) -> str | None:
    return "" if shown.sample.state == "stopping" and name != "checkpoint" else None


def warnings(shown: Shown) -> Html:
    found = [*signs(shown.sample, shown.moments, shown.known.jobdir)]
    in_force = shown.sample.figures.get("in_force")
    orders = [str(line) for line in in_force if line != "pause"] if isinstance(in_force, list) else []
    more = f" and {len(orders) - ORDERS} more" if len(orders) > ORDERS else None
    code = tag("code", "; ".join(orders[:ORDERS]))
    told = tag("p", "In force by command: ", code, more, class_="note") if orders else None
    return join(tag("ul", *(tag("li", one) for one in found), class_="warn") if found else None, told)


def figures(shown: Shown, span: str) -> Parts:
    """The parts of the first tab."""
    return {"tiles": _tiles(shown), "plots": _plots(shown, span), "drones": _drones(shown)}


def figures_content(shown: Shown, span: str, made: Parts) -> Html:
    """The first tab."""
    links = {name: shown.at(span=name) for name in SPANS}
    more = choice("spans", span, links, "Time that the plots show")
    return join(
        part("tiles", made["tiles"]),
        section("Over time", part("plots", made["plots"], class_="plots"), more=more),
        part("drones", made["drones"]),
    )


def span_of(text: str, shown: Shown) -> str:
    """The span that is asked for, or that suits a crawl of this age."""
    if text in SPANS:
        return text
    if not shown.sample.runs or not shown.moments:
        return "all"
    age = time.time() - shown.moments[0].at
    return "10 min" if age < 1200 else "1 h"


def _tiles(shown: Shown) -> Html:
    number = shown.sample.number
    pair = lately(shown.moments)
    speed = curves.rate("bytes")(*pair) if pair and shown.sample.runs else None
    asked, ready, hosts = shown.sample.asked, number("ready"), number("hosts")
    ended = _counts(shown)
    failed = ended["unreachable"] + ended["server_error"]
    share = numbers.percent(failed, sum(ended.values())) if any(ended.values()) else "-"
    waiting = max(hosts - asked - ready, 0)
    runs, speed_now = shown.sample.runs, charts.per_second(rate_of(shown.moments))
    at_work = (
        (numbers.number(asked), "hosts asked now", f"{numbers.number(ready)} ready, {numbers.number(waiting)} waiting")
        if runs
        else (numbers.number(hosts), "hosts in turn", "those with URLs in the back-end")
    )
    made = tiles(
        (numbers.number(number("pages")), "pages", f"{speed_now} now" if runs else "in all"),
        (numbers.number(number("queued")), "URLs queued", f"{numbers.number(number('aside'))} of them set aside"),
        at_work,
        (numbers.number(number("hosts_aside")), "hosts set aside", f"{share} of URLs failed"),
        (numbers.number(number("seen/keys")), "URLs known", f"{numbers.number(number('seeds'))} seeds read"),
        (
            numbers.size(number("bytes")),
            "received",
            "in all" if speed is None else f"{charts.bytes_per_second(speed)} now",
        ),
    )
    return join(made, revisit_tiles(shown.sample.figures))


def _counts(shown: Shown) -> dict[str, float]:
    mix = shown.moments[-1].mix if shown.moments else (0,) * len(KINDS)
    return dict(zip(KINDS, mix, strict=True))


def _plots(shown: Shown, span: str) -> Html:
    moments, now = shown.moments, time.time()
    end = now if shown.sample.runs or not moments else moments[-1].at
    wide = SPANS[span]
    first = moments[0].at if moments else end - 600
    begin = min(max(end - wide, first) if wide else first, end - 60)
    parts = curves.pieces(curves.thinned(moments, begin, end), (end - begin) / curves.SLOTS, first)
    edges = (begin, end)

    def line(name: str, colour: int, curve: curves.Curve, said: object, *, filled: bool = False) -> Line:
        last = curves.latest(curve)
        return Line(name, colour, curve, said(last) if callable(said) and last is not None else "", filled)

    def one(title: str, curve: curves.Curve, said: object, colour: int = 0) -> Html:
        label = said if callable(said) else numbers.number
        return charts.plot(title, [line(title, colour, curve, said, filled=True)], edges, label)

    whole = lambda value: numbers.number(round(value))  # noqa: E731 - a label
    hosts = [
        line("asked", 2, curves.values(parts, lambda one: one.asked), whole),
        line("ready", 1, curves.values(parts, lambda one: one.ready), whole),
        line("waiting", 5, curves.values(parts, lambda one: max(one.hosts - one.asked - one.ready, 0)), whole),
        line("set aside", 0, curves.values(parts, lambda one: one.aside), whole),
    ]
    times = [
        line("half within", 2, curves.between(parts, curves.quantile(0.5)), numbers.seconds),
        line("nine of ten within", 0, curves.between(parts, curves.quantile(0.9)), numbers.seconds),
    ]
    made = join(
        one("Pages per second", curves.between(parts, curves.rate("pages")), charts.per_second),
        one("Received", curves.between(parts, curves.rate("bytes")), charts.bytes_per_second, 2),
        one("URLs queued", curves.values(parts, lambda one: one.queued), whole, 1),
        one("URLs known", curves.values(parts, lambda one: one.seen), whole, 3),
        charts.plot("Hosts", hosts, edges, numbers.number),
        charts.plot("Duration of downloads", times, edges, numbers.seconds),
        charts.stack("How URLs ended", _mix(parts), edges),
    )
    return join(made, revisit_plots(moments, parts, edges))


def _mix(parts: Sequence[Sequence[Moment]]) -> list[Line]:
    made, below = [], 0.0
    for number, (name, curve) in enumerate(zip(ENDS.values(), curves.shares(parts), strict=False)):
        upto = curves.latest(curve)
        now = "" if upto is None else numbers.percent(max(upto - below, 0), 1)
        below = below if upto is None else upto
        made.append(Line(name, (2, 1, 5, 3, 0, 4)[number], curve, now))
    return made or [Line(name, 0, []) for name in ENDS.values()]


def _drones(shown: Shown) -> Html:
    if not shown.known.drones:
        return Html()
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in ("Drone", "State")),
        *(tag("th", name, scope="col", class_="n") for name in ("Pages", "Queued", "Hosts", "Failures")),
    )
    rows = []
    for drone in shown.known.drones:
        sample = shown.sample.drones.get(drone.id)
        cells: list[Child] = [tag("td", tag("a", drone.jobdir.name, href=shown.site.at("c", drone.id)))]
        if sample is not None:
            cells.append(tag("td", badge(sample.state)))
            cells += [
                tag("td", numbers.number(sample.number(name)), class_="n")
                for name in ("pages", "queued", "hosts", "failures")
            ]
        rows.append(tag("tr", *cells))
    made = tag("table", tag("thead", head), tag("tbody", *rows))
    return section(
        "Drones",
        tag("div", made, class_="scroll", tabindex="0", role="region", aria_label="Drones"),
        note("Those whose folders are on this machine."),
    )
