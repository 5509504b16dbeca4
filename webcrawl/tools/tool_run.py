"""Runs the commands that are no crawl as Scrapy does, without Scrapy: `webcrawl why` answers before it were loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from webcrawl.base.program import program
from webcrawl.tools.tool_command import ToolCommand

ROOMS = ("tools", "lab")


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
        usage=f"{program()} {name} {command.syntax()}",
        conflict_handler="resolve",
        description=command.long_desc() if any(word.startswith(("-h", "--h")) for word in rest) else None,
    )
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


def _command(name: str) -> ToolCommand | None:
    """The command of this name, if it is none of those that Scrapy alone can run."""
    if not name.isidentifier():
        return None
    found = [path for room in ROOMS if find_spec(path := f"webcrawl.{room}.commands.{name}") is not None]
    kind = getattr(import_module(found[0]), "Command", None) if found else None
    return kind() if isinstance(kind, type) and issubclass(kind, ToolCommand) else None
