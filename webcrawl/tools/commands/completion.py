"""`webcrawl completion SHELL`: a script by which a shell completes commands and options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from scrapy.settings import Settings

from webcrawl.base.loading import missing
from webcrawl.base.program import ExitStatus
from webcrawl.tools.tool_command import CommandGroup, ToolCommand, our_commands, print_text

SHELLS = ("bash", "zsh", "fish")
USAGE = f"usage: webcrawl completion {'|'.join(SHELLS)}"


def print_completion(words: Sequence[str]) -> int:
    """Print the script for the shell that `words` name, and return the exit status."""
    if words in (["-h"], ["--help"]):
        print_text(
            f"{USAGE}\n\nPrint a script for the shell, such as: source <(webcrawl completion bash)\n"
        )
        return ExitStatus.DONE
    if len(words) != 1 or words[0] not in SHELLS:
        sys.stderr.write(f"{USAGE}\n")
        return ExitStatus.USAGE
    try:
        from shtab import FILE, complete  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        sys.stderr.write(f"{missing('shtab')}\n")
        return ExitStatus.FAILED
    print_text(complete(_parser(FILE), words[0]))
    return ExitStatus.DONE


def _parser(files: object) -> argparse.ArgumentParser:
    """Return a parser of all commands. `files` is shtab's word for arguments that are files."""
    parser = argparse.ArgumentParser(prog="webcrawl")
    parser.add_argument("--version", action="store_true", help="print the version")
    subparsers = parser.add_subparsers()
    for name in sorted(our_commands()):
        command = import_module(f"webcrawl.commands.{name}").Command()
        if not isinstance(command, ToolCommand):
            command.settings = Settings()  # Scrapy's own commands look at it for their help
        subparser = subparsers.add_parser(
            name, help=command.short_desc(), conflict_handler="resolve"
        )
        if isinstance(command, CommandGroup):
            command.add_members(subparser)
        else:
            command.add_options(subparser)
            subparser.add_argument("words", nargs="*").complete = files  # type: ignore[attr-defined]
    return parser
