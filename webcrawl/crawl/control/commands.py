"""The commands to a crawl that runs: one table, for whoever passes orders on.

A command is a plain function of the crawl and the words after its name. It returns what there is to say, in a line or
as figures, or raises CommandError; then nothing has changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from webcrawl.crawl.control.command import Answer, Command, CommandError
from webcrawl.crawl.control.exclusions import ROWS as OF_LEAVING
from webcrawl.crawl.control.exclusions import Leaves
from webcrawl.crawl.control.host_commands import ROWS as OF_HOSTS
from webcrawl.crawl.control.host_commands import Steered, about, check_about
from webcrawl.crawl.control.in_force import ALIASES, check_set
from webcrawl.crawl.control.sheets import FOR
from webcrawl.crawl.control.sheets import ROWS as OF_SHEETS


class Commanded(Steered, Leaves, Protocol):
    """A crawl that can be commanded. What raises CommandError has done nothing."""

    def stop(self) -> None:
        """Ends the run as Ctrl-C does."""

    def pause(self) -> bool:
        """Hands nothing out any more; False if it was paused already."""

    def resume(self) -> bool:
        """Goes on; False if it was not paused."""

    @property
    def stopped_by(self) -> str:
        """The reason why nothing is fetched, in a few words, or nothing."""

    def checkpoint(self) -> Awaitable[None]:
        """Takes a checkpoint as soon as possible; done when it is taken, which has all that was done before."""

    def seeds(self, *sources: str) -> None:
        """Reads the seeds of more sources: of all, or of none. May raise CommandError."""

    def set(self, name: str, value: str) -> str:
        """Gives a setting another value, which is returned as it is understood. May raise CommandError."""

    def get(self, name: str) -> Mapping[str, Any]:
        """The value of a setting, and who says so. May raise CommandError."""

    def settings(self) -> Sequence[str]:
        """The names of all settings that the crawl reads."""

    def about(self, url: str) -> Mapping[str, Any]:
        """The facts about a canonical URL that the last checkpoint does not have."""

    def status(self) -> Mapping[str, Any]:
        """The progress: `state` (running, paused, stopping), `seconds` of this run, and all counters."""


def stop(crawl: Commanded) -> Answer:
    crawl.stop()
    return "stopping: downloads under way have a few seconds, the rest stays for the next run"


def pause(crawl: Commanded) -> Answer:
    if not crawl.pause():
        return "it is paused already"
    return "paused, after a restart too, until you resume it; downloads under way go on to their ends"


def resume(crawl: Commanded) -> Answer:
    said = "resumed" if crawl.resume() else "it is not paused"
    return f"{said}; but nothing is fetched ({crawl.stopped_by})" if crawl.stopped_by else said


async def checkpoint(crawl: Commanded) -> Answer:
    await crawl.checkpoint()
    return "a checkpoint was taken"


def seeds(crawl: Commanded, *words: str) -> Answer:
    sources = words[1:] if words[0] == "add" and len(words) > 1 else words
    crawl.seeds(*sources)
    return f"seeds will be read from {', '.join(sources)}"


def set_value(crawl: Commanded, name: str, value: str) -> Answer:
    name = ALIASES.get(name, name)
    return f"{name} is {crawl.set(name, value)}"


def get(crawl: Commanded, *names: str) -> Answer:
    if names:
        return crawl.get(*names)
    return {"settings": [crawl.get(name) for name in crawl.settings()]}


def status(crawl: Commanded) -> Answer:
    return crawl.status()


def check_value(name: str, value: str) -> None:
    check_set(ALIASES.get(name, name), value)


def check_sources(*words: str) -> None:
    if words == ("add",):
        raise CommandError("usage: seeds add SRC…")


COMMANDS: dict[str, Command] = {
    one.name: one
    for one in (
        Command("stop", stop, "", "end the run; the same command resumes the crawl"),
        Command("pause", pause, "", "fetch nothing more for now", lasting=True),
        Command("resume", resume, "", "go on after a pause", lasting=True),
        Command("checkpoint", checkpoint, "", "take a checkpoint now"),
        *OF_LEAVING,
        Command("seeds", seeds, "add SRC…", "read more seeds", 1, None, True, check_sources),
        Command("get", get, "[NAME]", "what a setting is and who says so; all of them", 0, 1),
        Command("set", set_value, "NAME VALUE", "change a setting that may change", 2, 2, True, check_value),
        Command("status", status, "", "how it is going"),
        *OF_HOSTS,
        *OF_SHEETS,
        Command(
            "about", about, "URL…", "what only the running process knows of URLs: see why", 1, None, False, check_about
        ),
    )
}


def checked(name: str, *words: str) -> Command:
    """The command of this name, if these words may follow it. Raises CommandError.

    A crawl may refuse it all the same, because of what else is in force there.
    """
    command, words = _row(name, words)
    if command is None:
        raise CommandError(f"{_short(name)!r} is no command; there are: {', '.join(COMMANDS)}")
    if len(words) < command.least or (command.most is not None and len(words) > command.most):
        raise CommandError(f"usage: {command.usage}")
    if any(not word.strip() or not word.isprintable() for word in words):
        raise CommandError(f"usage: {command.usage}; a word is empty, or not one line of text")
    if command.check is not None:
        command.check(*words)
    return command


def obey(crawl: Commanded, name: str, *words: str) -> Answer | Awaitable[Answer]:
    """Carries a command out, or begins to: what takes long is to be awaited. Raises CommandError."""
    return checked(name, *words).run(crawl, *_row(name, words)[1])


def _row(name: str, words: tuple[str, ...]) -> tuple[Command | None, tuple[str, ...]]:
    """The row, and the words that are its own: what is done for one domain only has a row by itself."""
    of_domain = COMMANDS.get(f"{name} {FOR}") if words[:1] == (FOR,) else None
    return (COMMANDS.get(name), words) if of_domain is None else (of_domain, words[1:])


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
