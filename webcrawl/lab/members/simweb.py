"""`scrapy lab simweb`: serves the synthetic web."""

from __future__ import annotations

import argparse
import sys

from webcrawl.tools.tool_command import ToolCommand, usage_error


class Command(ToolCommand):
    """Serves until interrupted; docs/simweb.md describes the web."""

    says = "Serve the synthetic web: hosts siteN.test on loopback, with their own name server"

    def syntax(self) -> str:
        return "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        cli.add_arguments(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise usage_error(f"unexpected argument: {args[0]}")
        from webcrawl.lab.simweb import cli  # noqa: PLC0415 - Scrapy imports every command for any: 0.1 s

        try:
            cli.run(opts)
        except cli.UsageError as error:
            sys.stderr.write(f"{error}\n")
            self.exitcode = 1
