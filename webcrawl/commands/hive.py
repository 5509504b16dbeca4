"""`scrapy hive`: one crawl on all cores, and the commands to it.

Scrapy imports every command for any of them, in every project on the machine: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, ClassVar

from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from webcrawl.commands.cannot_start import CannotStart
from webcrawl.hive.errors import HiveError
from webcrawl.hive.slots import MOST_DRONES
from webcrawl.logs.readable import readable
from webcrawl.text.credentials import text_without_credentials

INTERRUPTED = 130


class Command(BaseRunSpiderCommand):
    """`scrapy hive web -n N -a seeds=SRC`: N drones, each an ordinary `scrapy crawl`; docs/hive.md has the rest."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {}

    def syntax(self) -> str:
        return "SPIDER -n N [-a seeds=SRC] [options]"

    def short_desc(self) -> str:
        return "Crawl with many processes that share the web among them"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        ScrapyCommand.add_options(self, parser)
        parser.add_argument("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="as for crawl")
        parser.add_argument("-n", dest="drones", metavar="N", help="how many drones; 0: one per core (default)")
        parser.add_argument("--pin", action="store_true", help="keep each drone on one core")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        ScrapyCommand.process_options(self, args, opts)
        try:
            opts.spargs = arglist_to_dict(opts.spargs)
        except ValueError as error:
            raise UsageError("Invalid -a value, use -a NAME=VALUE", print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            if len(args) != 1 or args[0].startswith("-"):
                raise UsageError("exactly one spider is needed: scrapy hive NAME -n N", print_help=False)
            self.exitcode = self._crawl(args[0], opts)
        except (CannotStart, HiveError) as error:
            sys.stderr.write(f"{readable(text_without_credentials(' '.join(str(error).split())))}\n")
            self.exitcode = 1
        except KeyboardInterrupt:
            self.exitcode = INTERRUPTED

    def _crawl(self, spider: str, opts: argparse.Namespace) -> int:
        from webcrawl.supervisor.plan import Plan  # noqa: PLC0415 - 0.4 s, here and below
        from webcrawl.supervisor.run import HiveRun  # noqa: PLC0415

        assert self.settings is not None  # noqa: S101 - Scrapy sets them before it asks for anything
        if opts.pin and not hasattr(os, "sched_setaffinity"):
            raise CannotStart("--pin: this system keeps no process on a core")
        plan = Plan(self.settings, spider, opts.spargs, _number(opts.drones))
        return HiveRun(self.settings, plan, pin=opts.pin).run()


def _number(text: str | None) -> int:
    """0: not said, or as many as there are cores."""
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and int(text[:9]) <= MOST_DRONES):
        raise CannotStart(f"-n {text}: must be a whole number from 0 (one drone per core) to {MOST_DRONES}")
    return int(text)
