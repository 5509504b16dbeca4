"""Pages on which something is asked or commanded: why a URL, and all commands of the table."""

from __future__ import annotations

from typing import Any

from webcrawl.base.program import program
from webcrawl.tools.dashboard.answers import answered
from webcrawl.tools.dashboard.command_forms import DESTROYING, Order, Row, fields, known, sent
from webcrawl.tools.dashboard.pages.crawl_page import Shown
from webcrawl.tools.dashboard.pages.frame import button, field, note, section
from webcrawl.tools.dashboard.pages.tabs import linker
from webcrawl.tools.report.markup import Html, join, tag

FOR_HOST = ("host", "queue", "robots")  # commands whose first word is a host


def why_content(shown: Shown, url: str, found: Any, failed: str) -> Html:
    """Everything that is known of one URL."""
    form = tag(
        "form",
        field("URL", "url", url, kind="text", inputmode="url", required="", placeholder="https://example.com/page"),
        button("Why?", class_="main"),
        method="get",
        action=shown.at("why"),
        class_="row",
    )
    if failed:
        answer: Html | None = tag("p", failed, class_="refused")
    elif found is None:
        answer = note(
            "What became of it, or will, and why: filters, queue, robots.txt, its host, its log lines, its record."
        )
    elif isinstance(found, dict) and "state" in found:
        rest = {name: value for name, value in found.items() if name not in ("state", "reason", "url")}
        answer = join(
            tag("p", tag("b", str(found["state"])), ": ", str(found.get("reason", "")), class_="verdict"),
            answered(rest, linker(shown)),
        )
    else:
        answer = answered(found, linker(shown))
    return section("Why?", form, answer)


def commands_content(shown: Shown, host: str) -> Html:
    """A form for each command."""
    if not shown.sample.answers:
        why = "Nobody is there to command: the crawl does not run, or does not listen."
        return section("Commands", note(why))
    made = [_form(shown, command, host) for command in known()]
    return section("Commands", note(f"As {program()} ctl gives them."), tag("div", *made, class_="forms"))


def _form(shown: Shown, command: Row, host: str) -> Html:
    names = fields(command)
    value = host if command.name in FOR_HOST else ""
    inputs = [
        field(
            name, f"word{at}", value if not at else "", autocomplete="off", required="" if at < command.least else None
        )
        for at, name in enumerate(names)
    ]
    destroys = command.name in DESTROYING
    return shown.site.form(
        shown.at("commands"),
        tag("div", tag("h3", command.name), tag("p", command.says), class_="says"),
        tag(
            "div",
            *inputs,
            button(
                f"{command.name}{'…' if destroys else ''}",
                class_="danger" if destroys else None,
                name="command",
                value=command.name,
            ),
            class_="row",
        ),
    )


def sure_content(shown: Shown, order: Order, back: str) -> Html:
    """Asks once more before something is done that cannot be taken back."""
    hidden = [tag("input", type="hidden", name=f"word{at}", value=word) for at, word in sent(order)]
    form = shown.site.form(
        shown.at("commands"),
        *hidden,
        tag("input", type="hidden", name="sure", value="yes"),
        tag("input", type="hidden", name="back", value=back),
        button(f"Yes, {order.name}", class_="danger", name="command", value=order.name),
        tag("a", "No, go back", href=shown.at(), class_="button"),
        class_="buttons",
    )
    what = tag("p", tag("code", order.text), class_="order")
    return tag("div", section("Are you sure?", tag("p", SURE.get(order.name, SURE["drop"])), what, form), class_="sure")


SURE = {
    "stop": "The run ends: downloads under way are finished. Run the same command to resume.",
    "exclude": "Queued URLs that this rule names are dropped as they come up; include does not bring them back.",
    "drop": "The URLs that wait there are given up, and do not come back.",
}


def answer_content(shown: Shown, order: Order, answer: Any, *, refused: bool) -> Html:
    """The crawl's answer to an order."""
    made = tag("p", str(answer), class_="refused") if refused else answered(answer, linker(shown))
    return section("Refused" if refused else "Answer", tag("p", tag("code", order.text), class_="order"), made)
