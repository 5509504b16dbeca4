"""`webcrawl mcp`: crawls for agents, by the Model Context Protocol (docs/programs.md).

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path
from typing import Any

from webcrawl.base.errors import CannotStart
from webcrawl.base.loading import missing
from webcrawl.base.settings import SETTINGS
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.tools.commands.dashboard import ROOT, ask_crawl
from webcrawl.tools.tool_command import SETTINGS_OPTION, ToolCommand, require_jobdir

MAX_BUDGET_PAGES = 1_000_000
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*", re.IGNORECASE)


class Command(ToolCommand):
    """Serves one agent over standard input and output, until the agent closes them.

    Exit status 0; 1 if it cannot start.
    """

    summary = "Let agents search and read crawls (MCP)"
    usage = "[JOBDIR ...] [--allow-crawl DOMAIN=PAGES]"
    listed_options = SETTINGS_OPTION

    def long_desc(self) -> str:
        return (
            f"{self.summary}, over standard input and output. Without a JOBDIR it serves all crawls below ./{ROOT}."
            " Nothing is fetched unless --allow-crawl says where, and how many pages."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--allow-crawl",
            action="append",
            default=[],
            metavar="DOMAIN=PAGES",
            help="let the agent crawl hosts of this domain, so many pages in all (may be repeated)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self._serve([*map(Path, args)], opts.allow_crawl)
        except CannotStart as error:
            self.fail(error)
        except KeyboardInterrupt:
            return

    def _serve(self, jobdirs: list[Path], allowed: list[str]) -> None:
        """Serve these crawls; `allowed` are the values of --allow-crawl. Raise CannotStart."""
        from webcrawl.tools.dashboard.crawls import CrawlFinder, is_jobdir  # noqa: PLC0415 - as above, here and below

        for jobdir in jobdirs:
            require_jobdir(jobdir, is_jobdir)
        pages_by_domain = dict(map(_budget_of, allowed))
        try:
            from webcrawl.tools.mcp_server import Budget, serve  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise CannotStart(missing("mcp")) from error
        from webcrawl.tools.dashboard.operations import Operations  # noqa: PLC0415

        budget = None
        if pages_by_domain:
            budget = Budget(pages_by_domain, Path(ROOT), self._changed_settings(), jobdirs)
        finder = CrawlFinder(jobdirs, Path(ROOT))
        serve(Operations(finder, partial(ask_crawl, self.settings)), budget)

    def _changed_settings(self) -> dict[str, Any]:
        """Return the settings that the project, the environment or the command line changes."""
        from webcrawl.library import OF_SCRAPYS_PROCESS  # noqa: PLC0415

        return {
            name: self.settings[name]
            for name, setting in SETTINGS.items()
            if name not in OF_SCRAPYS_PROCESS and self.settings[name] != setting.default
        }


def _budget_of(text: str) -> tuple[str, int]:
    """Return the domain and the pages of an --allow-crawl. Raise CannotStart if it has not both."""
    domain, _, pages = text.rpartition("=")
    if not DOMAIN.fullmatch(domain) or not is_whole(pages, 1, MAX_BUDGET_PAGES):
        raise CannotStart(
            f"--allow-crawl {text}: must be a domain and a number of pages from 1 to {MAX_BUDGET_PAGES}, "
            "as in --allow-crawl example.org=100"
        )
    return domain.lower(), int(pages)
