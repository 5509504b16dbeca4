"""The commands that a page can give, by the table in crawl/control/commands.py, and the pages on which that is done."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.base.markup import Html, join, tag
from webcrawl.base.program import program
from webcrawl.crawl.control.command import Command, CommandError
from webcrawl.crawl.control.commands import COMMANDS, checked
from webcrawl.tools.dashboard.answers import answered
from webcrawl.tools.dashboard.pages.crawl_page import Shown
from webcrawl.tools.dashboard.pages.frame import button, field
from webcrawl.tools.dashboard.pages.tabs import linker
from webcrawl.tools.report.elements import note, section

MOST_WORDS, LONGEST = 200, 4096  # words of a command, and characters of all of them
OPTION = re.compile(r"\[(--[a-z]+(?: [A-Z]+)?)\]")  # of a command, which has a field of its own
DESTROYING = {"stop", "exclude"}  # commands that cannot be taken back, as `host HOST drop` cannot


@dataclass(frozen=True)
class Order:
    """A command as somebody wants to give it."""

    name: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return shlex.join((self.name, *self.words))

    @property
    def destroys(self) -> bool:
        """True if somebody must say twice that it is wanted."""
        return self.name in DESTROYING or (self.name == "host" and self.words[1:2] == ("drop",))


def fields(command: Command) -> list[str]:
    """Names of the fields of a form: one for each word, or a single one for any number of them."""
    if _has_options(command):
        return [*OPTION.sub("", command.words).split(), *OPTION.findall(command.words)]
    names = command.words.split()
    if not command.most and command.most is not None:
        return []
    return names if command.least == command.most == len(names) else [command.words or "words"]


def _has_options(command: Command) -> bool:
    """True if options follow the words of a command."""
    return not command.words.startswith("[") and OPTION.search(command.words) is not None


def read(form: Mapping[str, str]) -> Order:
    """The order of a form that was sent. CommandError if it cannot be one."""
    name = form.get("command", "")
    command = COMMANDS.get(name)
    if command is None:
        raise CommandError("there is no such command")
    given = [form.get(f"word{at}", "").strip() for at in range(len(fields(command)))]
    if sum(map(len, given)) > LONGEST:
        raise CommandError(f"longer than {LONGEST} characters")
    if _has_options(command):
        return Order(name, tuple(_with_options(fields(command), given)))
    words = given if len(given) != 1 or command.most == 1 else _split(given[0])
    while words and not words[-1]:
        words.pop()
    if len(words) > MOST_WORDS:
        raise CommandError(f"more than {MOST_WORDS} words")
    return Order(name, tuple(words))


def _with_options(names: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """The words of a command that were written into such fields."""
    for name, text in zip(names, given, strict=True):
        option, _, value = name.partition(" ")
        if not name.startswith("--"):
            yield text
        elif text and value:
            yield f"{option}={text}"
        elif text:
            yield option


def sent(order: Order) -> list[tuple[int, str]]:
    """The words as the fields of the order's form have them."""
    command = COMMANDS[order.name]
    if _has_options(command):
        options = [name.partition(" ")[0] for name in fields(command)]
        rest = [word.partition("=") for word in order.words if word.startswith("--")]
        plain = [word for word in order.words if not word.startswith("--")]
        return [*enumerate(plain), *((options.index(name), value or "yes") for name, _, value in rest)]
    if len(fields(command)) == 1 and command.most != 1:
        return [(0, order.text.removeprefix(order.name).strip())]
    return [*enumerate(order.words)]


def _split(text: str) -> list[str]:
    """As a shell would, without its other powers: quotes keep a word with spaces together."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommandError(f"a quote is missing: {error}") from error


def check(order: Order) -> None:
    """CommandError for what no crawl would take, before anybody is asked whether it is wanted."""
    checked(order.name, *order.words)


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
    return section(None, "Why?", form, answer)


def commands_content(shown: Shown, host: str) -> Html:
    """A form for each command."""
    if not shown.sample.answers:
        why = "Nobody is there to command: the crawl does not run, or does not listen."
        return section(None, "Commands", note(why))
    made = [_form(shown, command, host) for command in COMMANDS.values()]
    return section(None, "Commands", note(f"As {program()} ctl gives them."), tag("div", *made, class_="forms"))


def _form(shown: Shown, command: Command, host: str) -> Html:
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
    return tag("div", section(None, "Are you sure?", tag("p", SURE[order.name]), what, form), class_="sure")


SURE = {
    "stop": "The run ends: downloads under way have a few seconds. Run the same command to resume.",
    "exclude": "Queued URLs that this rule names are dropped as they come up; include does not bring them back.",
    "host": "The URLs that wait there are given up, and do not come back.",
}


def answer_content(shown: Shown, order: Order, answer: Any, failed: str = "") -> Html:
    """The crawl's answer to an order; `failed`: what became of it instead, in a word or two."""
    made = tag("p", str(answer), class_="refused") if failed else answered(answer, linker(shown))
    return section(None, failed or "Answer", tag("p", tag("code", order.text), class_="order"), made)
