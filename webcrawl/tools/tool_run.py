"""Runs the commands that are no crawl as Scrapy does, without Scrapy: `webcrawl why` answers before it were loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from webcrawl.base.program import name_program, program
from webcrawl.tools.tool_command import ToolCommand

ROOMS = ("tools", "lab")
LIKE = 0.66  # of difflib's measure: `wyh` is like `why`, and a short word is like few others


class Headings(argparse.HelpFormatter):
    """Help that looks as Scrapy's: headings are underlined."""

    def format_help(self) -> str:
        lines = [line for text in super().format_help().splitlines() for line in _underlined(text)]
        return "".join(f"{line}\n" for line in lines)


def _underlined(line: str) -> tuple[str, ...]:
    if line.startswith("usage: "):
        return ("Usage", "=====", f"  {line.removeprefix('usage: ')}")
    if not line.endswith(":") or line.startswith(" "):
        return (line,)
    heading = line[:-1].title()
    return (heading, ("-" if heading == "Global Options" else "=") * len(heading))


def run_tool(words: Sequence[str]) -> int | None:
    """The exit status of this command line; None, and nothing is done, if Scrapy is needed to run it."""
    name, *rest = words
    command = _command(name)
    if command is None:
        return None
    parser = argparse.ArgumentParser(
        formatter_class=Headings,
        conflict_handler="resolve",
        description=command.long_desc() if any(word.startswith(("-h", "--h")) for word in rest) else None,
    )
    name_program(parser, command)
    command.add_options(parser)
    opts, args = parser.parse_known_args(rest)
    if opts.profile:
        return None
    try:
        command.process_options(args, opts)
        command.run(args, opts)
    except Exception as error:
        from scrapy.exceptions import UsageError  # noqa: PLC0415 - it loads all of Scrapy

        if not isinstance(error, UsageError):
            raise
        parser.error(str(error))
    return command.exitcode


def refusal(words: Sequence[str]) -> str:
    """A line if there is no such command, neither here nor among Scrapy's; empty if there is."""
    name = next((word for word in words if not word.startswith("-")), "")
    if not name:
        return f"a command comes first: {program()} -h lists them"
    if _module(name) is not None:
        return ""
    from scrapy import commands  # noqa: PLC0415 - half a second that other commands need not wait

    ours = [one for room in ROOMS for one in _names(import_module(f"webcrawl.{room}.commands")) if _module(one)]
    known = {*ours, *_names(commands), *entry_points(group="scrapy.commands").names}
    if name in known:
        return ""
    close = get_close_matches(name, known, 1, LIKE)
    return f"{program()} has no command {name}: " + (f"is {close[0]} meant?" if close else "-h lists all")


def _names(package: ModuleType) -> list[str]:
    return [one.name for one in iter_modules(package.__path__)]


def _module(name: str) -> ModuleType | None:
    """The module of our command of this name."""
    if not name.isidentifier():
        return None
    found = [path for room in ROOMS if find_spec(path := f"webcrawl.{room}.commands.{name}") is not None]
    module = import_module(found[0]) if found else None
    return module if hasattr(module, "Command") else None


def _command(name: str) -> ToolCommand | None:
    """The command of this name, if it is none of those that Scrapy alone can run."""
    kind = getattr(_module(name), "Command", None)
    return kind() if isinstance(kind, type) and issubclass(kind, ToolCommand) else None
