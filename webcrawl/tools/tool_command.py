"""Base classes of the commands that are no crawl: one for each, and one for those that group several."""

from __future__ import annotations

import argparse
import sys
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand

from webcrawl.base.readable import readable


class ToolCommand(ScrapyCommand):
    """Works in any folder, and starts no crawl. Under a former name it says what it is the same as."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    says: ClassVar[str]
    same_as: ClassVar[str] = ""

    def short_desc(self) -> str:
        return f"Same as {self.same_as}" if self.same_as else self.says

    def long_desc(self) -> str:
        return self.says

    def fail(self, why: object) -> None:
        """Print why nothing could be done, as one line, and end with status 1."""
        sys.stderr.write(f"{readable(' '.join(str(why).split()))}\n")
        self.exitcode = 1


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
            member.settings = self.settings
            own = kinds.add_parser(
                name,
                help=member.says,
                description=member.long_desc(),
                usage=f"scrapy {self.name} {name} {member.syntax()}",
                formatter_class=parser.formatter_class,
                conflict_handler="resolve",
            )
            member.add_options(own)
            own.set_defaults(command=member)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member = opts.command
        self._member.settings = self.settings
        self._member.process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self._member.run(args, opts)
        self.exitcode = self._member.exitcode
