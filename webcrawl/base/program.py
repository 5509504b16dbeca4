"""The command that the user has run, for hints that name what to run next.

`webcrawl` says so in the environment, where the processes that it starts find it; everything else is Scrapy's.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Protocol

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
