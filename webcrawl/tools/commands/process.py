"""`webcrawl process`: runs modules and pipelines over archives, without crawling.

Scrapy imports every command for any of them: what only this one needs is imported later.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.misc import load_object

from webcrawl.base.errors import CannotStart
from webcrawl.base.outputs import ONLY_FETCHED
from webcrawl.base.program import ExitStatus, name_program, program
from webcrawl.base.readable import count
from webcrawl.base.settings.setting_kinds import words
from webcrawl.crawl.default_jobdir import default_jobdir
from webcrawl.tools.commands.crawl import Command as CrawlCommand
from webcrawl.tools.tool_command import add_verbosity_options

if TYPE_CHECKING:
    from webcrawl.record.shards import Shard
    from webcrawl.urls.exclusion_rules import Forgotten

ADDON = "webcrawl.WebcrawlAddon"


class Command(CrawlCommand):
    """Makes a Page of each answer in the archives and sends it through the pipelines.

    No request is made. Exit status 1 if a part of the archives cannot be read, once the rest is
    processed.
    """

    begins_from_urls = False
    requires_project = False
    _shard: Shard | None = None

    def syntax(self) -> str:
        return "[options] WARC ..."

    def short_desc(self) -> str:
        return "Run pipelines over existing WARC and WACZ files"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add Scrapy's options, --shard, -q and -v."""
        BaseRunSpiderCommand.add_options(self, parser)
        name_program(parser, self)
        add_verbosity_options(parser)
        parser.add_argument(
            "--shard",
            metavar="K/N",
            help="process the K-th of N shares of the files, K from 1 to N; the other shares are "
            "processed by other runs, on this machine or others; JOBDIR: crawls/process-K-of-N",
        )

    def spider(self, args: list[str], opts: argparse.Namespace, settings: Settings) -> type[Spider]:
        """Find the archive files, and return the spider that reads them.

        Raise UsageError for a wrong command line, CannotStart if there is no archive.
        """
        if not args:
            raise UsageError(
                f"which archives? {program()} process FILE ..., or a folder of WARC files",
                print_help=False,
            )
        from webcrawl.adapter.archive_reading import RereadingSpider  # noqa: PLC0415 - 0.4 s, here and below
        from webcrawl.record.shards import Shard  # noqa: PLC0415
        from webcrawl.record.warc.archive_files import NoArchive, archive_files  # noqa: PLC0415
        from webcrawl.tools.absent_archives import absent_archives  # noqa: PLC0415

        if opts.shard is not None:
            try:
                self._shard = Shard.read(opts.shard)
            except ValueError as error:
                raise UsageError(f"--shard {error}", print_help=False) from error
            if not settings["JOBDIR"]:
                name = f"process-{self._shard.number}-of-{self._shard.count}"
                settings.set("JOBDIR", default_jobdir(name), "cmdline")
        notices = [notice for argument in args for notice in absent_archives(argument)]
        try:
            self._files, duplicates = archive_files(args)
        except NoArchive as error:
            raise CannotStart("; ".join((str(error), *notices))) from error
        for notice in notices:
            sys.stderr.write(f"{notice}\n")
        for path in duplicates:
            sys.stderr.write(f"{path}: named more than once: read once\n")
        return RereadingSpider

    def check(self, settings: Settings, opts: argparse.Namespace) -> None:
        """Check the settings, and hand the files and opt-outs to the spider. Raise CannotStart."""
        from webcrawl.adapter.preflight import preflight_rereading  # noqa: PLC0415
        from webcrawl.adapter.scheduler import FrontierScheduler  # noqa: PLC0415
        from webcrawl.crawl.last_run import share_of  # noqa: PLC0415

        if opts.spargs:
            raise CannotStart(
                f"-a {next(iter(opts.spargs))}=…: archives have no arguments; settings are -s NAME=VALUE"
            )
        if settings.getpriority("OUTPUTS") == SETTINGS_PRIORITIES["cmdline"]:
            left_out = sorted(ONLY_FETCHED.intersection(words(str(settings["OUTPUTS"]).lower())))
            if left_out:
                sys.stderr.write(
                    f"OUTPUTS: {', '.join(left_out)}: only a crawl can write that: left out\n"
                )
        if issubclass(load_object(settings["SCHEDULER"]), FrontierScheduler):
            preflight_rereading(settings, self._spider, share_of(self._shard))
        else:  # the add-on makes the crawl, and checks it
            settings.set("ADDONS", {ADDON: 300, **settings.getdict("ADDONS")}, "cmdline")
        opts.spargs["files"] = self._files
        if self._shard is not None:
            opts.spargs["shard"] = self._shard
            if not any(map(self._shard.has, self._files)):
                sys.stderr.write(
                    f"--shard {self._shard}: has none of the {count(len(self._files), 'file')}\n"
                )
        opts.spargs["forgotten"] = self._forgotten()

    def _forgotten(self) -> Forgotten:
        """Return the opt-outs in the states of the crawls to which the archives belong.

        Raise CannotStart if a state cannot be read.
        """
        from webcrawl.store.errors import StoreError  # noqa: PLC0415
        from webcrawl.tools.optout_records import crawls_with, records_of  # noqa: PLC0415
        from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415

        try:
            return Forgotten(records_of(crawls_with(self._files)))
        except StoreError as error:
            raise CannotStart(f"{error}: it may say who wants to be forgotten") from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from webcrawl.adapter.archive_reading import LOST_STAT  # noqa: PLC0415

        super().run(args, opts)
        # A crawl that could not begin may have no stats
        if not self.exitcode and self._crawler.stats.get_value(LOST_STAT, 0):
            self.exitcode = ExitStatus.FAILED
