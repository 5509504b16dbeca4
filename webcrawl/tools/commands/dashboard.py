"""`webcrawl dashboard`: a web page on crawls, running or not.

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.errors import CannotStart
from webcrawl.base.loading import missing
from webcrawl.tools.commands.ctl import ask
from webcrawl.tools.commands.report import default_terms
from webcrawl.tools.tool_command import (
    CannotPrint,
    ToolCommand,
    port_of,
    print_line,
    require_jobdir,
)

if TYPE_CHECKING:
    from scrapy.settings import Settings

ROOT = "crawls"
MAX_PAGE_SECONDS = 3.0  # for an answer that a page shows
MAX_COMMAND_SECONDS = 60.0  # a command may have to wait for a checkpoint
SHOWN_ON_PAGES = ("status", "hosts", "errors")  # commands


class Command(ToolCommand):
    """Serves the dashboard until Ctrl-C, with exit status 0 (docs/watch.md#the-dashboard).

    The server is a process of its own, so that it costs a crawl next to nothing.
    """

    summary = "Watch and control crawls in a browser"
    usage = "[JOBDIR ...] [--port 8700] [--host 127.0.0.1]"

    def long_desc(self) -> str:
        return (
            f"{self.summary}. Without a JOBDIR it shows all crawls below ./{ROOT}. The address that it prints has"
            " a token: whoever has it may command the crawls."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --port and --host."""
        super().add_options(parser)
        parser.add_argument(
            "--port",
            default="8700",
            metavar="N",
            help="port to listen on; 0: any that is free (default: %(default)s)",
        )
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            metavar="ADDRESS",
            help="address to listen on (default: %(default)s)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            _serve(self.settings, [*map(Path, args)], opts.host, port_of(opts.port))
        except (CannotStart, CannotPrint) as error:
            self.fail(error)


def _serve(settings: Settings, jobdirs: list[Path], host: str, port: int) -> None:
    """Serve the dashboard on these crawls, or on all below ROOT. Raise CannotStart."""
    from webcrawl.tools.dashboard.crawls import CrawlFinder, is_jobdir  # noqa: PLC0415 - as above, here and below

    for jobdir in jobdirs:
        require_jobdir(jobdir, is_jobdir)
    try:
        from webcrawl.tools.dashboard.dashboard_server import NotListening, run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "aiohttp":
            raise
        raise CannotStart(missing("aiohttp")) from error
    try:
        run(
            CrawlFinder(jobdirs, Path(ROOT)),
            f"{ROOT}{os.sep}",
            (host, port),
            partial(ask_crawl, settings),
            print_line,
            default_terms(),
        )
    except NotListening as error:
        raise CannotStart(str(error)) from error


def ask_crawl(
    settings: Settings, jobdir: Path, command: str, *words: str, written: bytes = b""
) -> Any:
    """Return the answer of a crawl or hive to a command of a page. Raise as `ask` does.

    `written` has the seeds that `seeds add -` gives to a hive.
    """
    patience = MAX_PAGE_SECONDS if command in SHOWN_ON_PAGES else MAX_COMMAND_SECONDS
    return ask(lambda: settings, str(jobdir), patience, BytesIO(written), command, *words)
