"""`scrapy simweb`: serves the synthetic web."""

from __future__ import annotations

import argparse
import sys
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError


class Command(ScrapyCommand):
    """Serves until interrupted; docs/simweb.md describes the web."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Serve the synthetic web: hosts siteN.test on loopback, with their own name server"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        from webcrawl.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        cli.add_arguments(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unexpected argument: {args[0]}")
        from webcrawl.simweb import cli  # noqa: PLC0415 - as above

        try:
            cli.run(opts)
        except cli.UsageError as error:
            sys.stderr.write(f"{error}\n")
            self.exitcode = 1
