"""Makes the forms of commands (crawl/control/commands.py), gives commands and shows their answers."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.base.program import program
from webcrawl.crawl.control.command import Command, CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.commands import COMMANDS, checked
from webcrawl.tools.dashboard.crawl_page import ShownCrawl
from webcrawl.tools.dashboard.crawls import CrawlWatch
from webcrawl.tools.dashboard.frame import button, field, hidden
from webcrawl.tools.report import elements
from webcrawl.tools.report.elements import Cell, TableColumn, note, section

# -- an answer as markup

MAX_ROWS = 500
MAX_DEPTH = 4  # of mappings and lists within each other
MAX_TEXT_CHARS = 2000
BYTE_FIGURES = {"bytes", "size", "received"}
NOTHING = "Nothing now."
CAPITALS = {"url": "URL", "urls": "URLs", "ip": "IP"}
Link = Callable[[str, str], str | None]  # returns the address for a column and its text, if any


def no_link(column: str, text: str) -> str | None:
    del column, text
    return None


def answer_html(answer: Any, link: Link = no_link, depth: int = 0) -> Html:
    """Return a command's answer as HTML, with at most MAX_ROWS rows and MAX_DEPTH levels."""
    if depth == MAX_DEPTH or not _has_parts(answer):
        return tag("p", value_text(answer), class_="answer")
    if isinstance(answer, Mapping):
        return _figures(answer, link, depth)
    return _items(answer, link, depth)


def _has_parts(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _items(answer: Sequence[Any], link: Link, depth: int) -> Html:
    """Return a list: a table of mappings, a line of plain values, or an item for each value."""
    if not answer:
        return tag("p", NOTHING, class_="note")
    if all(isinstance(item, Mapping) for item in answer):
        return table(answer, link)
    first = answer[:MAX_ROWS]
    if not any(map(_has_parts, answer)):
        return tag("p", ", ".join(map(value_text, first)), class_="answer")
    return tag(
        "ul", *(tag("li", answer_html(item, link, depth + 1)) for item in first), _more(len(answer))
    )


def _figures(answer: Mapping[str, Any], link: Link, depth: int) -> Html:
    """Return plain figures side by side, then each value with parts below its name.

    Empty values are left out.
    """
    plain = []
    with_parts = []
    for name, value in answer.items():
        if _is_empty(value):
            continue
        label = label_of(name)
        if _has_parts(value):
            with_parts.append(join(tag("h3", label), answer_html(value, link, depth + 1)))
        else:
            plain.append(tag("div", tag("dt", label), tag("dd", _linked(name, value, link))))
    if not plain and not with_parts:
        return tag("p", NOTHING, class_="note")
    facts = tag("dl", *plain[:MAX_ROWS], class_="facts") if plain else None
    return join(facts, *with_parts)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def table(rows: Sequence[Mapping[str, Any]], link: Link = no_link, caption: str = "Answer") -> Html:
    """Return a table with a row for each mapping, and a column for each name in any of them."""
    shown = rows[:MAX_ROWS]
    names = list(dict.fromkeys(chain.from_iterable(shown)))
    columns = []
    for name in names:
        values = [row.get(name) for row in shown]
        columns.append(TableColumn(label_of(name), _kind(name, values)))
    cells = [[_cell(name, row.get(name), link) for name in names] for row in shown]
    return join(elements.table(None, columns, cells, caption), _more(len(rows)))


def _kind(name: object, values: Sequence[Any]) -> str:
    if not all(value is None or _is_number(value) for value in values):
        return "text"
    return "size" if str(name) in BYTE_FIGURES else "number"


def _cell(name: object, value: Any, link: Link) -> Cell:
    return value if value is None or _is_number(value) else _linked(name, value, link)


def _linked(name: object, value: Any, link: Link) -> Html:
    """Return a value, as a link to the page on its URL or host if it is one."""
    if _is_number(value) and str(name) in BYTE_FIGURES:
        return join(numbers.size(value))
    address = None
    if isinstance(value, str) and value:
        address = link(str(name), value)
    if address:
        return tag("a", value_text(value), href=address)
    return join(value_text(value))


def _more(number: int) -> Html | None:
    """Return how many rows there are, or None if all are shown."""
    if number <= MAX_ROWS:
        return None
    return tag(
        "p", f"The first {numbers.number(MAX_ROWS)} of {numbers.number(number)}.", class_="note"
    )


def value_text(value: Any) -> str:
    """Return a value as text: yes, no, a number, or at most MAX_TEXT_CHARS characters."""
    if _is_empty(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return _number(value)
    text = str(value)
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…"


def _number(value: float) -> str:
    if isinstance(value, float):
        return numbers.number(float(f"{value:.6g}"))
    return f"{value:,}"


def label_of(name: object) -> str:
    """Return the name of a figure as people write it: `urls_seen` is `URLs seen`."""
    words = str(name)[:100].replace("_", " ").split(" ")
    text = " ".join(CAPITALS.get(word, word) for word in words)
    if "://" in text:
        return text
    return text[:1].upper() + text[1:]


def _is_number(value: Any) -> bool:
    """Return whether a value can be written as a number. Larger ones overflow a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < 1e300


# -- the forms

MAX_WORDS = 200  # of a command
MAX_ORDER_CHARS = 4096  # of all words together
COMMANDS_FOR_HOST = ("host", "queue", "robots")  # their first word is a host
# What commands do that cannot be undone: they must be confirmed, and so must `host HOST drop`.
CONSEQUENCES = {
    "stop": "The run ends: downloads in progress have a few seconds. Run the same command to resume.",
    "exclude": (
        "Queued URLs that match this rule are dropped when their turn comes; include does "
        "not bring them back."
    ),
}
DROP_CONSEQUENCE = "The URLs queued there are given up and do not come back."


@dataclass(frozen=True)
class CommandOrder:
    """A command with its words."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return shlex.join((self.name, *self.words))

    @property
    def consequence(self) -> str:
        """Return what the order does that cannot be undone; empty if it needs no confirmation."""
        if self.name == "host" and self.words[1:2] == ("drop",):
            return DROP_CONSEQUENCE
        return CONSEQUENCES.get(self.name, "")


def read_order(form: Mapping[str, str]) -> CommandOrder:
    """Return the order in a form, whose words are quoted as in a shell. Raise CommandError."""
    name = form.get("command", "")
    text = form.get("words", "")
    if name not in COMMANDS:
        raise CommandError("there is no such command")
    if len(text) > MAX_ORDER_CHARS:
        raise CommandError(f"longer than {MAX_ORDER_CHARS} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"a quotation mark is missing: {error}") from error
    if len(words) > MAX_WORDS:
        raise CommandError(f"more than {MAX_WORDS} words")
    return CommandOrder(name, tuple(words))


def commands_content(shown: ShownCrawl, host: str) -> Html:
    """Return a form for each command. `host` is put into the forms whose first word is a host."""
    if not shown.sample.answers:
        why = "The crawl is not running, or does not accept commands."
        return section(None, "Commands", note(why))
    # Made of the table, so that a new command needs no form.
    forms = [_form(shown, command, host) for command in COMMANDS.values()]
    return section(
        None,
        "Commands",
        note(f"The same commands as those of {program()} ctl."),
        tag("div", *forms, class_="forms"),
    )


def _form(shown: ShownCrawl, command: Command, host: str) -> Html:
    """Return the form of a command: its explanation, a field for its words and a button."""
    words = None
    if command.words:
        value = host if command.name in COMMANDS_FOR_HOST else ""
        required = "" if command.least else None
        words = field(command.words, "words", value, autocomplete="off", required=required)
    label = command.name
    style = None
    if command.name in CONSEQUENCES:
        label = f"{command.name}…"  # dots announce that a confirmation is needed
        style = "danger"
    send = button(label, class_=style, name="command", value=command.name)
    return shown.site.form(
        shown.at("commands"),
        tag("div", tag("h3", command.name), tag("p", command.says), class_="says"),
        tag("div", words, send, class_="row"),
    )


def confirmation_content(shown: ShownCrawl, order: CommandOrder, back: str) -> Html:
    """Return a question whether an order that cannot be undone is meant, with a form to confirm it.

    `back` is the tab on which the answer is to be shown.
    """
    form = shown.site.form(
        shown.at("commands"),
        hidden("words", shlex.join(order.words)),
        hidden("sure", "yes"),
        hidden("back", back),
        button(f"Yes, {order.name}", class_="danger", name="command", value=order.name),
        tag("a", "No, go back", href=shown.at(), class_="button"),
        class_="buttons",
    )
    text = tag("p", tag("code", order.text), class_="order")
    question = section(None, "Are you sure?", tag("p", order.consequence), text, form)
    return tag("div", question, class_="sure")


MAX_ANSWERS = 100  # that are kept
PASTED_SEEDS = CommandOrder("seeds", ("add", "what was written"))


class CommandSender:
    """Gives commands, and keeps their answers by name.

    The browser is redirected to a page that shows the answer of a name. Loading that page again
    does not give the command again.
    """

    def __init__(self) -> None:
        # by name: the order, its answer, and the heading of an error
        self._answers: dict[str, tuple[CommandOrder, Any, str]] = {}

    async def send(self, watch: CrawlWatch, form: Mapping[str, str]) -> str | CommandOrder:
        """Give the command in a form, and return the name of its answer.

        Return the order instead if it must be confirmed.
        """
        order = CommandOrder(form.get("command", ""))
        try:
            order = read_order(form)
            is_confirmed = form.get("sure") == "yes"
            if order.consequence and not is_confirmed:
                checked(order.name, *order.words)  # wrong words are refused before the question
                return order
            return self._keep(order, await watch.order(order.name, *order.words))
        except (CommandError, NotRunning) as error:
            return self._keep(order, str(error), _heading(error))

    async def add_seeds(self, watch: CrawlWatch, text: str) -> str:
        """Give a crawl or a hive the seeds in a text, and return the name of the answer."""
        data = text.strip().encode("utf-8", "replace")
        try:
            return self._keep(PASTED_SEEDS, await watch.add_seeds(data))
        except (CommandError, NotRunning) as error:
            return self._keep(PASTED_SEEDS, str(error), _heading(error))

    def _keep(self, order: CommandOrder, answer: Any, error_heading: str = "") -> str:
        """Keep an answer, drop the oldest ones, and return its name."""
        while len(self._answers) >= MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
        name = secrets.token_urlsafe(6)
        self._answers[name] = order, answer, error_heading
        return name

    def answer_content(self, shown: ShownCrawl, name: str) -> Html | None:
        """Return the answer of this name, or None if it is not kept any more."""
        if name not in self._answers:
            return None
        order, answer, error_heading = self._answers[name]
        content = (
            tag("p", str(answer), class_="refused")
            if error_heading
            else answer_html(answer, shown.link)
        )
        text = tag("p", tag("code", order.text), class_="order")
        return tag(
            "div", section(None, error_heading or "Answer", text, content), class_="answered"
        )


def _heading(error: Exception) -> str:
    """Return the heading above an error. Without an answer, the command may have been carried out."""
    return "Perhaps done" if isinstance(error, NoAnswer) else "Refused"
