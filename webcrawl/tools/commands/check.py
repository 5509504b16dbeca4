"""`scrapy check`: runs the contracts of spiders."""

from __future__ import annotations

import argparse

from scrapy.commands.check import Command as ScrapysCommand
from scrapy.exceptions import UsageError

from webcrawl.adapter.plain_scrapy import PlainCommand
from webcrawl.base.program import program


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply Scrapy's options. Raise UsageError for a spider that does not exist."""
        from webcrawl.adapter.preflight import spider_names  # noqa: PLC0415 - 0.4 s

        super().process_options(args, opts)
        known = spider_names(self.settings) if self.settings is not None else args
        for name in args:
            if name not in known:
                raise UsageError(
                    f"{name}: no such spider. The files of a crawl are checked by {program()} verify {name}",
                    print_help=False,
                )
