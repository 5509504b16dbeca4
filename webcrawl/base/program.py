"""The running program: its command, its other processes, standard streams and live line."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, TextIO


def open_missing() -> None:
    """Open the null device in the place of each that is closed.

    The next file to be opened would have its number, and what libraries and children print would go
    there: into crawl.db, perhaps.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or _nowhere(1)
    sys.stderr = sys.stderr or _nowhere(2)


def _nowhere(number: int) -> TextIO:
    return os.fdopen(number, "w", errors="replace", closefd=False)


PACKAGE = Path(__file__).parents[1]
# -P: the current folder does not come first. There may be a checkout named `webcrawl`, which Python
# takes for a package without code before it asks the finder of an editable install.
PYTHON = (sys.executable, "-P")


def environment() -> dict[str, str]:
    """Return an environment in which `webcrawl` is this package, and the user's modules are found."""
    root = str(PACKAGE.parent)
    found = [path for path in sys.path if path]
    paths = found if root in found else [root, *found]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


NAME = "WEBCRAWL_PROGRAM"


class ExitStatus(IntEnum):
    """The exit statuses of all commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2  # argparse's, and Scrapy's, for a wrong command line
    NOT_RUNNING = 3
    INTERRUPTED = 130  # a shell's for a program that Ctrl-C ended


EXIT_MEANINGS = {  # for docs/commands.md
    ExitStatus.DONE: "The command is done.",
    ExitStatus.FAILED: "The command failed or was refused. Standard error has the reason in one line.",
    ExitStatus.USAGE: "The command line is wrong. Standard error has the usage and the mistake.",
    ExitStatus.NOT_RUNNING: "No crawl is running there; `hive status` shows the last known state.",
    ExitStatus.INTERRUPTED: "Ctrl-C ended the command. A crawl ends with 0 after one Ctrl-C.",
}


def program() -> str:
    """Return the word before a command."""
    return os.environ.get(NAME, "scrapy")


class Command(Protocol):
    """A command, in a module that has its name."""

    def syntax(self) -> str: ...


def name_program(parser: ArgumentParser, command: Command) -> None:
    """Make usage and errors name the program that the user has run, where Scrapy writes its own."""
    parser.prog = program()
    parser.usage = f"{program()} {type(command).__module__.rpartition('.')[2]} {command.syntax()}"


class LiveLine:
    """A line at the bottom of the terminal that says how far a crawl or a hive has come.

    Log lines that go to the same terminal are printed above it. A terminal that is closed shows
    nothing more, which is no error.
    """

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - here and below: saves 0.04 s without a terminal
        from rich.live import Live  # noqa: PLC0415

        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._moved: list[logging.StreamHandler[Any]] = []

    def start(self) -> None:
        # rich puts another stream in the place of standard error, which prints above the live line
        before = sys.stderr
        self._live.start()
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.setStream(sys.stderr)
                self._moved.append(handler)

    def update(self, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        with suppress(OSError):
            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def stop(self) -> None:
        with suppress(OSError):
            self._live.stop()
        for handler in self._moved:
            handler.setStream(sys.stderr)
