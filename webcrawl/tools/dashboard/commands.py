"""The commands that a page can give (crawl/control/commands.py): their forms and answers."""

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

MOST_ROWS, MOST_DEPTH = 500, 4
LONGEST_TEXT = 2000  # characters
BYTES = {"bytes", "size", "received"}  # figures that are
NOTHING = "Nothing now."
CAPITALS = {"url": "URL", "urls": "URLs", "ip": "IP"}
Link = Callable[[str, str], str | None]  # of a column and its text: where a click leads


def nowhere(name: str, text: str) -> str | None:
    """No text is a link."""
    del name, text
    return None


def answered(answer: Any, link: Link = nowhere, depth: int = 0) -> Html:
    """Return a command's answer as HTML. Its length is bounded, however large the answer is."""
    if depth == MOST_DEPTH or not _has_parts(answer):
        return tag("p", said(answer), class_="answer")
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
    first = answer[:MOST_ROWS]
    if not any(map(_has_parts, answer)):
        return tag("p", ", ".join(map(said, first)), class_="answer")
    return tag(
        "ul", *(tag("li", answered(item, link, depth + 1)) for item in first), _more(len(answer))
    )


def _figures(answer: Mapping[str, Any], link: Link, depth: int) -> Html:
    """Return plain figures side by side, then what has parts, under its name.

    Empty figures are left out.
    """
    rows = []
    rest = []
    for name, value in answer.items():
        if _is_empty(value):
            continue
        if _has_parts(value):
            rest.append(join(tag("h3", words(name)), answered(value, link, depth + 1)))
        else:
            rows.append(tag("div", tag("dt", words(name)), tag("dd", _linked(name, value, link))))
    if not rows and not rest:
        return tag("p", NOTHING, class_="note")
    facts = tag("dl", *rows[:MOST_ROWS], class_="facts") if rows else None
    return join(facts, *rest)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def table(rows: Sequence[Mapping[str, Any]], link: Link = nowhere, caption: str = "Answer") -> Html:
    """Return a row for each mapping, a column for each name in any of them."""
    shown = rows[:MOST_ROWS]
    names = list(dict.fromkeys(chain.from_iterable(shown)))
    columns = []
    for name in names:
        values = [row.get(name) for row in shown]
        columns.append(TableColumn(words(name), _kind(name, values)))
    cells = [[_cell(name, row.get(name), link) for name in names] for row in shown]
    return join(elements.table(None, columns, cells, caption), _more(len(rows)))


def _kind(name: object, values: Sequence[Any]) -> str:
    if not all(value is None or _is_number(value) for value in values):
        return "text"
    return "size" if str(name) in BYTES else "number"


def _cell(name: object, value: Any, link: Link) -> Cell:
    return value if value is None or _is_number(value) else _linked(name, value, link)


def _linked(name: object, value: Any, link: Link) -> Html:
    if _is_number(value) and str(name) in BYTES:
        return join(numbers.size(value))
    where = None
    if isinstance(value, str) and value:
        where = link(str(name), value)
    if where:
        return tag("a", said(value), href=where)
    return join(said(value))


def _more(number: int) -> Html | None:
    if number <= MOST_ROWS:
        return None
    return tag(
        "p", f"The first {numbers.number(MOST_ROWS)} of {numbers.number(number)}.", class_="note"
    )


def said(value: Any) -> str:
    """Return a value in a few words."""
    if _is_empty(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return _number(value)
    text = str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _number(value: float) -> str:
    if isinstance(value, float):
        return numbers.number(float(f"{value:.6g}"))
    return f"{value:,}"


def words(name: object) -> str:
    """Return the name of a figure as people write it."""
    text = " ".join(
        CAPITALS.get(word, word) for word in str(name)[:100].replace("_", " ").split(" ")
    )
    return text[:1].upper() + text[1:] if "://" not in text else text


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


# -- the forms

MOST_WORDS, LONGEST = 200, 4096  # words of a command, and characters of all of them
FOR_HOST = ("host", "queue", "robots")  # commands whose first word is a host
DESTROYING = {  # commands that cannot be taken back, as `host HOST drop` cannot, and what they do
    "stop": "The run ends: downloads in progress have a few seconds. Run the same command to resume.",
    "exclude": (
        "Queued URLs that match this rule are dropped when their turn comes; include does "
        "not bring them back."
    ),
}
DROPPING = "The URLs queued there are given up and do not come back."


@dataclass(frozen=True)
class CommandOrder:
    """A command as somebody wants to give it."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return shlex.join((self.name, *self.words))

    @property
    def destroys(self) -> str:
        """Return what the order does that cannot be taken back: it must be confirmed."""
        if self.name == "host" and self.words[1:2] == ("drop",):
            return DROPPING
        return DESTROYING.get(self.name, "")


def read(form: Mapping[str, str]) -> CommandOrder:
    """Return the order of a form that was sent, whose words are as in a shell.

    CommandError if it cannot be one.
    """
    name, text = form.get("command", ""), form.get("words", "")
    if name not in COMMANDS:
        raise CommandError("there is no such command")
    if len(text) > LONGEST:
        raise CommandError(f"longer than {LONGEST} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"a quotation mark is missing: {error}") from error
    if len(words) > MOST_WORDS:
        raise CommandError(f"more than {MOST_WORDS} words")
    return CommandOrder(name, tuple(words))


def commands_content(shown: ShownCrawl, host: str) -> Html:
    """Return a form for each command."""
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
    words = None
    if command.words:
        value = host if command.name in FOR_HOST else ""
        required = "" if command.least else None
        words = field(command.words, "words", value, autocomplete="off", required=required)
    # The dots say that the command asks once more before it is carried out.
    more, look = ("…", "danger") if command.name in DESTROYING else ("", None)
    give = button(f"{command.name}{more}", class_=look, name="command", value=command.name)
    return shown.site.form(
        shown.at("commands"),
        tag("div", tag("h3", command.name), tag("p", command.says), class_="says"),
        tag("div", words, give, class_="row"),
    )


def sure_content(shown: ShownCrawl, order: CommandOrder, back: str) -> Html:
    """Ask once more before something is done that cannot be taken back."""
    form = shown.site.form(
        shown.at("commands"),
        hidden("words", shlex.join(order.words)),
        hidden("sure", "yes"),
        hidden("back", back),
        button(f"Yes, {order.name}", class_="danger", name="command", value=order.name),
        tag("a", "No, go back", href=shown.at(), class_="button"),
        class_="buttons",
    )
    what = tag("p", tag("code", order.text), class_="order")
    return tag(
        "div", section(None, "Are you sure?", tag("p", order.destroys), what, form), class_="sure"
    )


MOST = 100  # answers kept
WRITTEN = CommandOrder("seeds", ("add", "what was written"))


class CommandSender:
    """Gives commands. Loading the page of an answer again commands nothing anew."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[CommandOrder, Any, str]] = {}

    async def give(self, watch: CrawlWatch, form: Mapping[str, str]) -> str | CommandOrder:
        """Give a command; return the name of its answer, or the order if it must be confirmed."""
        order = CommandOrder(form.get("command", ""))
        try:
            order = read(form)
            if order.destroys and form.get("sure") != "yes":
                checked(order.name, *order.words)  # before anybody is asked whether it is wanted
                return order
            return self._keep(order, await watch.order(order.name, *order.words))
        except (CommandError, NotRunning) as error:
            return self._keep(order, str(error), _heading(error))

    async def paste(self, watch: CrawlWatch, text: str) -> str:
        """Give a crawl or a hive seeds, in a file of its own; return the name of its answer."""
        data = text.strip().encode("utf-8", "replace")
        try:
            return self._keep(WRITTEN, await watch.add_seeds(data))
        except (CommandError, NotRunning) as error:
            return self._keep(WRITTEN, str(error), _heading(error))

    def _keep(self, order: CommandOrder, answer: Any, failed: str = "") -> str:
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        name = secrets.token_urlsafe(6)
        self._kept[name] = order, answer, failed
        return name

    def said(self, shown: ShownCrawl, name: str) -> Html | None:
        """Return the answer of this name, if it is known."""
        if name not in self._kept:
            return None
        order, answer, failed = self._kept[name]
        made = tag("p", str(answer), class_="refused") if failed else answered(answer, shown.link)
        what = tag("p", tag("code", order.text), class_="order")
        return tag("div", section(None, failed or "Answer", what, made), class_="answered")


def _heading(error: Exception) -> str:
    """Return the heading of an order without an answer."""
    return "Perhaps done" if isinstance(error, NoAnswer) else "Refused"
