"""Base classes of the commands that start no crawl, and functions by which they print and fail.

Such a command runs without Scrapy, whose import takes half a second, unless it needs a setting.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import SUPPRESS
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TextIO, cast

from webcrawl.base.errors import CannotStart, of_file
from webcrawl.base.program import ExitStatus, name_program, program
from webcrawl.base.readable import readable
from webcrawl.base.settings import PREFIX, SETTINGS
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.tools.file_replacement import replace_file

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand
    from scrapy.settings import Settings

COMMAND_PACKAGES = ("webcrawl.tools.commands", "webcrawl.lab.commands")
MAX_PORT = 65_535


class UnderlinedHeadings(argparse.HelpFormatter):
    """Formats help as Scrapy does, with underlined headings."""

    def format_help(self) -> str:
        lines = [line for text in super().format_help().splitlines() for line in _underlined(text)]
        return "".join(f"{line}\n" for line in lines)


def _underlined(line: str) -> tuple[str, ...]:
    """Return the lines that stand for one line of argparse's help."""
    if line.startswith("usage: "):
        return ("Usage", "=====", f"  {line.removeprefix('usage: ')}")
    if not line.endswith(":") or line.startswith(" "):
        return (line,)
    heading = line[:-1].title()
    return (heading, "=" * len(heading))


def run_tool(words: Sequence[str]) -> int | None:
    """Run a command line without Scrapy. Return its exit status, or None if Scrapy must run it."""
    name, *rest = words
    command = _tool_command_named(name)
    if command is None:
        return None
    asks_for_help = any(word.startswith(("-h", "--h")) for word in rest)
    parser = argparse.ArgumentParser(
        formatter_class=UnderlinedHeadings,
        conflict_handler="resolve",
        description=command.long_desc() if asks_for_help else None,
    )
    name_program(parser, command)
    command.add_options(parser)
    opts, args = parser.parse_known_args(rest)
    if opts.profile:  # Scrapy has the profiler
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


def unknown_command(words: Sequence[str]) -> str:
    """Return an error in one line if neither we nor Scrapy have the command; empty if one does."""
    place = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if place is None:
        return f"a command comes first: {program()} -h lists them"
    name = words[place]
    if _command_module(name) is not None:
        return ""
    from scrapy import commands  # noqa: PLC0415 - half a second that other commands need not wait

    of_scrapy = _module_names(commands)
    of_packages = entry_points(group="scrapy.commands").names
    known = {*our_commands(), *of_scrapy, *of_packages}
    if name in known:
        return ""
    from webcrawl.tools.guesses import instead_of  # noqa: PLC0415 - only for a wrong word

    return (
        f"{program()} has no command {name}: {instead_of(name, words[place + 1 :], sorted(known))}"
    )


def our_commands() -> list[str]:
    """Return the names of all commands in this package."""
    packages = [import_module(path) for path in COMMAND_PACKAGES]
    names = [name for package in packages for name in _module_names(package)]
    return [name for name in names if _command_module(name)]


def _module_names(package: ModuleType) -> list[str]:
    return [module.name for module in iter_modules(package.__path__)]


def _command_module(name: str) -> ModuleType | None:
    if not name.isidentifier():
        return None
    for package in COMMAND_PACKAGES:
        path = f"{package}.{name}"
        if find_spec(path) is not None:
            module = import_module(path)
            return module if hasattr(module, "Command") else None
    return None


def _tool_command_named(name: str) -> ToolCommand | None:
    """Return the command of this name, or None if Scrapy alone can run it."""
    kind = getattr(_command_module(name), "Command", None)
    if isinstance(kind, type) and issubclass(kind, ToolCommand):
        return kind()
    return None


# Scrapy's global options: tests/tools/commands/test_without_scrapy.py compares them with Scrapy's.
SCRAPY_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--logfile",), {"metavar": "FILE", "help": "write the log to FILE, not to standard error"}),
    (("-L", "--loglevel"), {"metavar": "LEVEL", "help": "log from this level on (default: INFO)"}),
    (("--nolog",), {"action": "store_true"}),
    (("--profile",), {"metavar": "FILE"}),
    (("--pidfile",), {"metavar": "FILE"}),
    (
        ("-s", "--set"),
        {
            "action": "append",
            "default": [],
            "metavar": "NAME=VALUE",
            "help": "set a setting (may be repeated)",
        },
    ),
    (("--pdb",), {"action": "store_true"}),
)
SETTINGS_OPTION = frozenset({"--set"})
LOG_OPTIONS = frozenset({"--logfile", "--loglevel"})


def add_verbosity_options(parser: argparse.ArgumentParser) -> None:
    """Add -q and -v, which set the level of the log."""
    parser.add_argument(
        "-q",
        "--quiet",
        dest="loglevel",
        action="store_const",
        const="WARNING",
        help="log only what goes wrong",
    )
    parser.add_argument(
        "-v", "--verbose", dest="loglevel", action="store_const", const="DEBUG", help="log more"
    )


def usage_error(why: str) -> Exception:
    """Return Scrapy's error for a wrong command line, to be raised by the caller.

    The process prints the usage and `why`, and exits with status 2.
    """
    from scrapy.exceptions import UsageError  # noqa: PLC0415 - it loads all of Scrapy: only when there is one

    return UsageError(why, print_help=False)


class ToolCommand:
    """A command that works in any folder and starts no crawl."""

    requires_project = False
    requires_crawler_process = False
    crawler_process = None
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    summary: ClassVar[str]  # one sentence, for the list of commands
    usage: ClassVar[str] = ""  # the arguments, which follow the name of the command
    accepts_dashed_words: ClassVar[bool] = False  # arguments may begin with a dash
    # The help lists these of Scrapy's options. All of them are accepted, but few have an effect on
    # a command that starts no crawl.
    listed_options: ClassVar[frozenset[str]] = frozenset()
    exitcode: int = ExitStatus.DONE

    @cached_property
    def settings(self) -> Settings:
        """Return the settings of the project.

        Scrapy assigns this attribute. Without Scrapy, the settings are read at the first access.
        """
        from scrapy.utils.project import get_project_settings  # noqa: PLC0415 - as above

        settings = get_project_settings()
        settings.setdict(self.default_settings, priority="command")
        return settings

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.summary

    def long_desc(self) -> str:
        return self.summary

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        for names, arguments in SCRAPY_OPTIONS:
            is_listed = names[-1] in self.listed_options
            shown = arguments if is_listed else {**arguments, "help": SUPPRESS}
            parser.add_argument(*names, **shown)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply Scrapy's options if there are any. Raise UsageError for an unknown option."""
        unknown = next((word for word in args if word.startswith("-")), "")
        if unknown and not self.accepts_dashed_words:
            raise usage_error(f"unknown option {unknown}")
        needs_scrapy = any(
            (opts.set, opts.logfile, opts.loglevel, opts.nolog, opts.pidfile, opts.pdb)
        )
        if needs_scrapy or _environment_has_settings():
            from scrapy.commands import ScrapyCommand  # noqa: PLC0415 - as above

            from webcrawl.adapter.command_line_settings import settings_words  # noqa: PLC0415 - as above

            opts.set[:] = settings_words(self.settings, opts.set)
            ScrapyCommand.process_options(cast("ScrapyCommand", self), args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError

    def fail(self, why: object) -> None:
        """Print the reason of a failure as one line, and set exit status 1."""
        print_error(why)
        self.exitcode = ExitStatus.FAILED


def require_jobdir(jobdir: Path, is_jobdir: Callable[[Path], bool]) -> None:
    """Raise CannotStart if a folder has neither crawl nor hive, or cannot be read."""
    try:
        found = is_jobdir(jobdir)
    except OSError as error:
        raise CannotStart(of_file(error)) from error
    if not found:
        raise CannotStart(f"{jobdir}: contains no crawl and no hive")


class CommandGroup(ToolCommand):
    """A command with subcommands, each with its own options: `scrapy NAME MEMBER …`."""

    name: ClassVar[str]
    members: ClassVar[dict[str, type[ToolCommand]]]
    _member: ToolCommand  # the one that the command line names

    def syntax(self) -> str:
        return f"{'|'.join(self.members)} ..."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.add_members(parser)

    def add_members(self, parser: argparse.ArgumentParser) -> None:
        subparsers = parser.add_subparsers(
            title="commands", dest="member", required=True, metavar="|".join(self.members)
        )
        for name, kind in self.members.items():
            member = kind()
            subparser = subparsers.add_parser(
                name,
                help=member.summary,
                description=member.long_desc(),
                usage=f"{program()} {self.name} {name} {member.syntax()}",
                formatter_class=parser.formatter_class,
                conflict_handler="resolve",
            )
            member.add_options(subparser)
            subparser.set_defaults(command=member)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member = opts.command
        has_settings = "settings" in vars(self)  # asking for the property would load Scrapy
        if has_settings:
            self._member.settings = self.settings
        self._member.process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member.run(args, opts)
        self.exitcode = self._member.exitcode


def _environment_has_settings() -> bool:
    """Return whether an environment variable names a setting, which only Scrapy can read."""
    names = [name.removeprefix(PREFIX) for name in os.environ if name.startswith(PREFIX)]
    return bool(names) and not SETTINGS.keys().isdisjoint(names)


class CannotPrint(OSError):  # noqa: N818 - reads as what it is
    """Raised when standard output cannot be written, for instance because its disk is full."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def print_line(line: str) -> None:
    """Print a line at once, with control characters escaped. Raise CannotPrint."""
    print_text(f"{readable(line)}\n")


def print_text(text: str | bytes) -> None:
    """Print a text at once. Raise CannotPrint if standard output cannot be written.

    A closed pipe or a closed standard output (`>&-`) is no error: the command continues, and its
    exit status says how it went.
    """
    try:
        write_text(text)
        write_out()
    except BrokenPipeError:
        discard_further_output()


def write_text(text: str | bytes) -> None:
    """Write a text that may wait in memory for `write_out`, for commands that print many lines.

    Raise BrokenPipeError if nobody reads them any more: to print the rest is needless. Raise
    CannotPrint if standard output cannot be written.
    """
    output: TextIO | None = sys.stdout
    if output is None:
        return
    with _output_errors():
        if isinstance(text, bytes):
            output.buffer.write(text)
        else:
            output.write(text)


def write_out() -> None:
    """Print what still waits in memory. Raise as `write_text` does."""
    output: TextIO | None = sys.stdout
    if output is not None:
        with _output_errors():
            output.flush()


@contextmanager
def _output_errors() -> Iterator[None]:
    """Raise CannotPrint for an error other than a closed pipe, and discard what waits in memory."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_further_output()
        raise CannotPrint(error.errno, error.strerror or str(error), "standard output") from error


def print_error(why: object, *, as_json: bool = False) -> None:
    """Print the reason of a failure as one line on standard error.

    `as_json` prints it on standard output too, as a JSON object.
    """
    words = of_file(why) if isinstance(why, OSError) else str(why)
    line = readable(" ".join(words.split()))
    sys.stderr.write(f"{line}\n")
    if as_json:
        with suppress(OSError):  # standard error has it
            print_text(f"{json.dumps({'error': line})}\n")


def discard_further_output() -> None:
    """Send what is still to be printed nowhere, once standard output cannot be written.

    Python flushes standard output at exit. It would report the error again, and newer versions
    would end with exit status 120.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_page(path: Path, text: str) -> None:
    """Replace a file as a whole. A device or a pipe, such as /dev/stdout, is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    replace_file(path, (text,))


def port_of(text: str) -> int:
    """Return the value of --port. Raise CannotStart if it is no port."""
    if not is_whole(text, 0, MAX_PORT):
        raise CannotStart(f"--port {text}: must be a whole number from 0 to {MAX_PORT}")
    return int(text)


def whole_number(option: str, text: str, least: int, most: int) -> int:
    """Return the value of an option. Raise UsageError if it is no whole number within bounds."""
    if not is_whole(text, least, most):
        raise usage_error(f"{option} {text}: must be a whole number from {least} to {most}")
    return int(text)
