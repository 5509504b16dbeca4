"""`scrapy runspider`, with the checks and the exit status of `scrapy crawl`."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from scrapy import Spider
from scrapy.commands.runspider import Command as RunSpiderCommand
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.spider import iter_spider_classes

from webcrawl.base.program import program
from webcrawl.tools.commands.crawl import Command as CrawlCommand


class Command(CrawlCommand):
    """Runs the last spider of a Python file as `crawl` does, in a JOBDIR of its own."""

    begins_from_urls = False
    requires_project = RunSpiderCommand.requires_project
    default_settings = RunSpiderCommand.default_settings

    def syntax(self) -> str:
        return "[options] <spider_file>"

    def short_desc(self) -> str:
        return "Run a spider from a Python file"

    def spider(self, args: list[str], opts: argparse.Namespace, settings: Settings) -> type[Spider]:
        """Return the last spider of the file. Raise UsageError if there is none."""
        del opts, settings
        if len(args) != 1:
            raise UsageError(
                f"exactly one file is needed: {program()} runspider FILE", print_help=False
            )
        spiders = list(iter_spider_classes(_module(Path(args[0]))))
        if not spiders:
            raise UsageError(f"no spider found in file: {args[0]}", print_help=False)
        return spiders[-1]


def _module(path: Path) -> ModuleType:
    """Import a file, which may import modules of its folder. Raise UsageError if it cannot be."""
    if not path.exists():
        raise UsageError(f"file not found: {path}", print_help=False)
    if path.suffix not in (".py", ".pyw"):
        raise UsageError(f"not a Python source file: {path}", print_help=False)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return import_module(path.stem)
    except ImportError as error:
        raise UsageError(f"unable to load {str(path)!r}: {error}", print_help=False) from error
    finally:
        sys.path.pop(0)
