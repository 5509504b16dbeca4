"""Commands that are no crawl: base classes, how they run without Scrapy, how they print."""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TextIO, cast

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import ExitStatus, name_program, program
from webcrawl.base.readable import readable
from webcrawl.base.settings import PREFIX, SETTINGS
from webcrawl.base.settings.setting_kinds import is_whole

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand
    from scrapy.settings import Settings

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
    return (heading, "=" * len(heading))


def run_tool(words: Sequence[str]) -> int | None:
    """Return the exit status of this command line, or None if Scrapy is needed to run it."""
    name, *rest = words
    command = _command(name)
    if command is None:
        return None
    parser = argparse.ArgumentParser(
        formatter_class=Headings,
        conflict_handler="resolve",
        description=command.long_desc()
        if any(word.startswith(("-h", "--h")) for word in rest)
        else None,
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
    """Return a line if no command, ours or Scrapy's, has the name; empty if one has."""
    found = [place for place, word in enumerate(words) if not word.startswith("-")]
    if not found:
        return f"a command comes first: {program()} -h lists them"
    name = words[found[0]]
    if _module(name) is not None:
        return ""
    from scrapy import commands  # noqa: PLC0415 - half a second that other commands need not wait

    known = {*our_commands(), *_names(commands), *entry_points(group="scrapy.commands").names}
    if name in known:
        return ""
    from webcrawl.tools.guesses import instead_of  # noqa: PLC0415 - only for a wrong word

    return f"{program()} has no command {name}: {instead_of(name, words[found[0] + 1 :], sorted(known))}"


def our_commands() -> list[str]:
    """Return the names of all commands of ours."""
    packages = [import_module(f"webcrawl.{room}.commands") for room in ROOMS]
    return [name for package in packages for name in _names(package) if _module(name)]


def _names(package: ModuleType) -> list[str]:
    return [one.name for one in iter_modules(package.__path__)]


def _module(name: str) -> ModuleType | None:
    """Return the module of our command of this name."""
    if not name.isidentifier():
        return None
    for room in ROOMS:
        path = f"webcrawl.{room}.commands.{name}"
        if find_spec(path) is not None:
            module = import_module(path)
            return module if hasattr(module, "Command") else None
    return None


def _command(name: str) -> ToolCommand | None:
    """Return the command of this name, unless Scrapy alone can run it."""
    kind = getattr(_module(name), "Command", None)
    return kind() if isinstance(kind, type) and issubclass(kind, ToolCommand) else None


# As Scrapy has them, which does all that they say (tests/tools/commands/test_without_scrapy.py).
OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
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


def add_loudness(parser: argparse.ArgumentParser) -> None:
    """Add -q and -v, which are short for a level of the log."""
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
    """Scrapy's error for a wrong command line: usage and this line, exit status 2."""
    from scrapy.exceptions import UsageError  # noqa: PLC0415 - it loads all of Scrapy: only when there is one

    return UsageError(why, print_help=False)


class ToolCommand:
    """Works in any folder, and starts no crawl."""

    requires_project = False
    requires_crawler_process = False
    crawler_process = None
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    says: ClassVar[str]
    usage: ClassVar[str] = ""  # what stands behind the name of the command
    takes_words: ClassVar[bool] = False  # of the user's, which may begin with a dash
    # of Scrapy's options, those that the help lists. All are understood; few change what a command
    # does that is no crawl.
    listed_options: ClassVar[frozenset[str]] = frozenset()
    exitcode: int = ExitStatus.DONE

    @cached_property
    def settings(self) -> Settings:
        """Return the settings of the project.

        Scrapy sets them; without it they are read when they are first needed.
        """
        from scrapy.utils.project import get_project_settings  # noqa: PLC0415 - as above

        settings = get_project_settings()
        settings.setdict(self.default_settings, priority="command")
        return settings

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.says

    def long_desc(self) -> str:
        return self.says

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        for names, what in OPTIONS:
            is_listed = names[-1] in self.listed_options
            parser.add_argument(*names, **(what if is_listed else {**what, "help": SUPPRESS}))

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        unknown = next((word for word in args if word.startswith("-")), "")
        if unknown and not self.takes_words:
            raise usage_error(f"unknown option {unknown}")
        given = (opts.set, opts.logfile, opts.loglevel, opts.nolog, opts.pidfile, opts.pdb)
        if any(given) or _environment_has_settings():
            from scrapy.commands import ScrapyCommand  # noqa: PLC0415 - as above

            from webcrawl.adapter.command_line_settings import settings_words  # noqa: PLC0415 - as above

            opts.set[:] = settings_words(self.settings, opts.set)
            ScrapyCommand.process_options(cast("ScrapyCommand", self), args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError

    def fail(self, why: object) -> None:
        """Print why nothing could be done, as one line, and end with status 1."""
        sys.stderr.write(f"{readable(' '.join(str(why).split()))}\n")
        self.exitcode = ExitStatus.FAILED


def need_jobdir(jobdir: Path, is_there: Callable[[Path], bool]) -> None:
    """CannotStart if no crawl and no hive lies there, or the folder cannot be looked at."""
    try:
        found = is_there(jobdir)
    except OSError as error:
        raise CannotStart(str(error)) from error
    if not found:
        raise CannotStart(f"{jobdir}: contains no crawl and no hive")


class CommandGroup(ToolCommand):
    """Runs a command of a group, `scrapy NAME MEMBER …`, with its own options."""

    name: ClassVar[str]
    members: ClassVar[dict[str, type[ToolCommand]]]
    _member: ToolCommand

    def syntax(self) -> str:
        return f"{'|'.join(self.members)} ..."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.add_members(parser)

    def add_members(self, parser: argparse.ArgumentParser) -> None:
        """Add a parser for each member."""
        kinds = parser.add_subparsers(
            title="commands", dest="member", required=True, metavar="|".join(self.members)
        )
        for name, kind in self.members.items():
            member = kind()
            own = kinds.add_parser(
                name,
                help=member.says,
                description=member.long_desc(),
                usage=f"{program()} {self.name} {name} {member.syntax()}",
                formatter_class=parser.formatter_class,
                conflict_handler="resolve",
            )
            member.add_options(own)
            own.set_defaults(command=member)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member = opts.command
        if "settings" in vars(self):
            self._member.settings = self.settings
        self._member.process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member.run(args, opts)
        self.exitcode = self._member.exitcode


def _environment_has_settings() -> bool:
    """Return whether a variable names a setting, for which Scrapy has to be loaded."""
    names = [name.removeprefix(PREFIX) for name in os.environ if name.startswith(PREFIX)]
    return bool(names) and not SETTINGS.keys().isdisjoint(names)


class CannotPrint(OSError):  # noqa: N818 - reads as what it is
    """Standard output takes nothing more, because its disk is full perhaps."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def say(line: str) -> None:
    """Print a line at once, as `say_all` does, escaped: names may contain anything."""
    say_all(f"{readable(line)}\n")


def say_all(text: str | bytes) -> None:
    """Print a whole answer, or what somebody wants of it who reads through a pipe. CannotPrint.

    A reader who has read enough stops nothing: the command goes on, and its exit status says how it
    went. Nor does it matter if standard output is closed (`>&-`).
    """
    output: TextIO | None = sys.stdout
    if output is None:
        return
    try:
        if isinstance(text, bytes):
            output.buffer.write(text)
        else:
            output.write(text)
        output.flush()
    except BrokenPipeError:
        read_enough()
    except OSError as error:
        raise CannotPrint(error.errno, error.strerror or str(error), "standard output") from error


def complain(why: object, *, as_json: bool = False) -> None:
    """Print in one line on standard error why nothing could be done; `as_json` answers, too."""
    line = readable(" ".join(str(why).split()))
    sys.stderr.write(f"{line}\n")
    if as_json:
        with suppress(OSError):  # standard error has it
            say_all(f"{json.dumps({'error': line})}\n")


def read_enough() -> None:
    """Ignore that the reader of what is printed has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_page(path: Path, text: str) -> None:
    """Replace the file as a whole; what is no file, such as /dev/stdout, is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("x", encoding="utf-8") as file:  # follows no link that was put there
            file.write(text)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def port_of(text: str) -> int:
    """Return a port to listen on. Raise CannotStart."""
    if not is_whole(text, 0, 65_535):
        raise CannotStart(f"--port {text}: must be a whole number from 0 to 65535")
    return int(text)


def whole(option: str, text: str, least: int, most: int) -> int:
    """Return a whole number within bounds. Raise UsageError."""
    if not is_whole(text, least, most):
        raise usage_error(f"{option} {text}: must be a whole number from {least} to {most}")
    return int(text)
