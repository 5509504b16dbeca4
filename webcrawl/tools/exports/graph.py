"""`scrapy export graph`: the graph of hosts of a crawl."""

from __future__ import annotations

import argparse
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands.console import complain, say
from webcrawl.tools.tool_command import ToolCommand, usage_error


class Command(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line; docs/report.md says what is in the files."""

    says = "Write the graph of a crawl's hosts: hosts.tsv and edges.tsv"

    def syntax(self) -> str:
        return "JOBDIR [-o FOLDER]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", metavar="FOLDER", default="graph", help="where to write it (default: %(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export graph JOBDIR")
        from webcrawl.tools.exports.host_graph import write_graph  # noqa: PLC0415 - Scrapy imports every command for any

        folder = Path(opts.o)
        try:
            graph = write_graph(Path(args[0]), folder)
        except (StoreError, OSError) as error:
            self.fail(error)
            return
        for line in graph.left_out:
            complain(line)
        say(f"{folder}: hosts {len(graph.hosts)}, edges {graph.size}")
