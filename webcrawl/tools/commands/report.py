"""`scrapy report`: one HTML page on a crawl."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands import account, dashboard
from webcrawl.tools.commands.console import complain, say, say_all, whole, write_page
from webcrawl.tools.tool_command import ToolCommand, usage_error

NAME = "report.html"
FARTHEST = 6  # bits: beyond, too many fingerprints that have nothing in common share what they are sorted by


class Command(ToolCommand):
    """Reads the last checkpoint and changes nothing of the crawl; docs/report.md says what is on the page."""

    says = "Make one HTML page on a crawl, running or not: figures, hosts, seeds, what went wrong"

    def syntax(self) -> str:
        return "JOBDIR [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", "--output", metavar="FILE", help=f"where to write it (default: JOBDIR/{NAME}); - prints it"
        )

        parser.add_argument(
            "--graph", metavar="FOLDER", help="write the graph of hosts in place of the page (hosts.tsv, edges.tsv)"
        )

        parser.add_argument(
            "--near", default="4", metavar="BITS", help="in which near-duplicates differ at most, 0 to 6 (%(default)s)"
        )
        parser.add_argument(
            "--for", dest="site", metavar="SITE", help="in place of the page, an account for SITE's owner"
        )
        parser.add_argument("--live", action="store_true", help="serve crawls in a browser: figures, hosts, commands")
        parser.add_argument("--port", default="8700", metavar="N", help="of --live; 0: any that is free (%(default)s)")
        parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="of --live: where (%(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.live and (opts.site is not None or opts.graph is not None or opts.output is not None):
            raise usage_error("--live serves pages; it writes none")
        if opts.live:
            self._delegate(dashboard.Command(), args, opts)
            return
        if opts.site is not None:
            if opts.graph is not None:
                raise usage_error("--for or --graph")
            opts.offsets = False
            self._delegate(account.Command(), [*args, opts.site], opts)
            return
        if len(args) != 1:
            raise usage_error(f"one folder: {program()} report JOBDIR")
        jobdir, near = Path(args[0]), whole("--near", opts.near, 0, FARTHEST)
        try:
            if opts.graph is None:
                self._page(jobdir, opts.output, near)
            else:
                self._graph(jobdir, Path(opts.graph))
        except (StoreError, OSError) as error:
            self.fail(error)

    def _delegate(self, other: ToolCommand, args: list[str], opts: argparse.Namespace) -> None:
        other.settings = self.settings
        other.run(args, opts)
        self.exitcode = other.exitcode

    def _graph(self, jobdir: Path, folder: Path) -> None:
        from webcrawl.tools.report.graph import write_graph  # noqa: PLC0415 - as below

        graph = write_graph(jobdir, folder)
        for line in graph.left_out:
            complain(line)
        say(f"{folder}: hosts {len(graph.hosts)}, edges {graph.size}")

    def _page(self, jobdir: Path, output: str | None, near: int) -> None:
        from webcrawl.tools.report.report_page import report  # noqa: PLC0415 - Scrapy imports every command for any: 0.2 s

        target = None if output == "-" else _target(jobdir, output)
        text = report(jobdir, _defaults(), time.time(), near)
        if target is None:
            say_all(text.encode())
            return
        try:
            write_page(target, text)
        except OSError as error:
            elsewhere = "; -o FILE writes the report elsewhere, -o - prints it" if output is None else ""
            self.fail(f"{target}: {error.strerror or error}{elsewhere}")
            return
        say(str(target))


def _defaults() -> Mapping[str, str]:
    """The defaults of all settings, as the state keeps them."""
    from scrapy.settings import Settings  # noqa: PLC0415 - as above, and what follows

    from webcrawl import settings  # noqa: PLC0415
    from webcrawl.adapter.values import plain_values  # noqa: PLC0415
    from webcrawl.crawl.last_run import terms_of  # noqa: PLC0415

    ours = Settings()
    ours.setmodule(settings, "project")
    return terms_of("web", {}, plain_values(ours, "web"))


def _target(jobdir: Path, name: str | None) -> Path:
    """The path to write to; OSError if nothing may be written there."""
    path = jobdir / NAME if name is None else Path(name)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a folder, not a file to write to")
    inside = path.resolve().is_relative_to(jobdir.resolve())
    if inside and path.suffix.lower() not in (".html", ".htm"):
        raise PermissionError(f"{path}: in the crawl's own folder a report must end in .html")
    return path
