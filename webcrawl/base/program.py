"""The program itself: the command that the user has run, its other processes, and its standard streams."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Protocol, TextIO


def open_missing() -> None:
    """Opens the null device in the place of each that is closed.

    The next file to be opened would have its number, and what libraries and children print would go there: into
    crawl.db, perhaps.
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
# -P: the current folder does not come first. There may be a checkout named `webcrawl`, which Python takes for a package
# without code before it asks the finder of an editable install.
PYTHON = (sys.executable, "-P")


def environment() -> dict[str, str]:
    """Return the environment in which `webcrawl` is this package, and the user's modules are found as here."""
    root = str(PACKAGE.parent)
    found = [path for path in sys.path if path]
    paths = found if root in found else [root, *found]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


NAME = "WEBCRAWL_PROGRAM"
INTERRUPTED = 130  # a shell's exit status for a program that Ctrl-C ended


def program() -> str:
    """The word before a command."""
    return os.environ.get(NAME, "scrapy")


class Command(Protocol):
    """A command, in a module that has its name."""

    def syntax(self) -> str: ...


def name_program(parser: ArgumentParser, command: Command) -> None:
    """Has usage and errors name the program that the user has run: Scrapy writes its own name there."""
    parser.prog = program()
    parser.usage = f"{program()} {type(command).__module__.rpartition('.')[2]} {command.syntax()}"
