"""Base classes of the commands that are no crawl: one for each, and one for those that group several.

They are Scrapy's commands to Scrapy (webcrawl/commands.py), and run without it, whose import takes longer than most of
them do (tools/tool_run.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import program
from webcrawl.base.readable import readable

if TYPE_CHECKING:
    from scrapy.commands import ScrapyCommand
    from scrapy.settings import Settings

# As Scrapy has them, which does all that they say (tests/tools/commands/test_without_scrapy.py).
OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--logfile",), {"metavar": "FILE", "help": "log file. if omitted stderr will be used"}),
    (("-L", "--loglevel"), {"metavar": "LEVEL", "help": "log level"}),
    (("--nolog",), {"action": "store_true", "help": "disable logging completely"}),
    (("--profile",), {"metavar": "FILE", "help": "write python cProfile stats to FILE"}),
    (("--pidfile",), {"metavar": "FILE", "help": "write process ID to FILE"}),
    (
        ("-s", "--set"),
        {
            "action": "append",
            "default": [],
            "metavar": "NAME=VALUE",
            "help": "set/override setting (may be repeated)",
        },
    ),
    (("--pdb",), {"action": "store_true", "help": "enable pdb on failure (uses ipdb if installed)"}),
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
    takes_words: ClassVar[bool] = False  # of the user's, which may begin with a dash
    exitcode = 0

    @cached_property
    def settings(self) -> Settings:
        """Those of the project. Scrapy sets them; without it they are read when somebody asks for them."""
        from scrapy.utils.project import get_project_settings  # noqa: PLC0415 - as above

        settings = get_project_settings()
        settings.setdict(self.default_settings, priority="command")
        return settings

    def syntax(self) -> str:
        return ""

    def short_desc(self) -> str:
        return self.says

    def long_desc(self) -> str:
        return self.says

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(title="Global Options")
        for names, what in OPTIONS:
            group.add_argument(*names, **what)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        unknown = next((word for word in args if word.startswith("-")), "")
        if unknown and not self.takes_words:
            raise usage_error(f"unknown option {unknown}")
        if any((opts.set, opts.logfile, opts.loglevel, opts.nolog, opts.pidfile, opts.pdb)):
            from scrapy.commands import ScrapyCommand  # noqa: PLC0415 - as above

            from webcrawl.adapter.user_settings import check_given  # noqa: PLC0415 - as above

            check_given(self.settings, opts.set)
            ScrapyCommand.process_options(cast("ScrapyCommand", self), args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError

    def fail(self, why: object) -> None:
        """Print why nothing could be done, as one line, and end with status 1."""
        sys.stderr.write(f"{readable(' '.join(str(why).split()))}\n")
        self.exitcode = 1


def need_jobdir(jobdir: Path, is_there: Callable[[Path], bool]) -> None:
    """CannotStart if no crawl and no hive lies there, or the folder cannot be looked at."""
    try:
        found = is_there(jobdir)
    except OSError as error:
        raise CannotStart(str(error)) from error
    if not found:
        raise CannotStart(f"{jobdir}: no crawl and no hive lies there")


class CommandGroup(ToolCommand):
    """`scrapy NAME MEMBER …` runs a command of the group with its own options, which stand behind its name."""

    name: ClassVar[str]
    members: ClassVar[dict[str, type[ToolCommand]]]
    _member: ToolCommand

    def syntax(self) -> str:
        return f"{'|'.join(self.members)} ..."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(title="commands", dest="member", required=True, metavar="|".join(self.members))
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
