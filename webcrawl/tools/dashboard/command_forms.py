"""The commands that a page can give: its forms are made of the table in crawl/control/commands.py."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, checked

MOST_WORDS, LONGEST = 200, 4096  # words of a command, and characters of all of them
OPTION = re.compile(r"\[(--[a-z]+(?: [A-Z]+)?)\]")  # of a command, which has a field of its own
DESTROYING = {"stop", "exclude", "drop"}  # commands, or a word of one, that cannot be taken back


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
        return not DESTROYING.isdisjoint((self.name, *self.words[:2]))


class Row(Protocol):
    """A row of the table, of which a form is made."""

    @property
    def name(self) -> str: ...

    @property
    def words(self) -> str:
        """The words that follow the name."""

    @property
    def says(self) -> str: ...

    @property
    def least(self) -> int: ...

    @property
    def most(self) -> int | None: ...


def fields(command: Row) -> list[str]:
    """Names of the fields of a form: one for each word, or a single one for any number of them."""
    if _has_options(command):
        return [*OPTION.sub("", command.words).split(), *OPTION.findall(command.words)]
    names = command.words.split()
    if not command.most and command.most is not None:
        return []
    return names if command.least == command.most == len(names) else [command.words or "words"]


def _has_options(command: Row) -> bool:
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


def known(names: Sequence[str] = ()) -> list[Row]:
    """The commands of the table, or those of these names that are in it."""
    return [COMMANDS[name] for name in names if name in COMMANDS] if names else [*COMMANDS.values()]


def check(order: Order) -> None:
    """CommandError for what no crawl would take, before anybody is asked whether it is wanted."""
    checked(order.name, *order.words)
