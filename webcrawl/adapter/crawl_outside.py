"""`scrapy crawl` outside of a project: a message that names the command which works anywhere."""

from __future__ import annotations

import argparse
import os
from typing import Any

from scrapy.commands import BaseRunSpiderCommand
from scrapy.commands.crawl import Command as ScrapysCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import ENVVAR

REFUSAL = (
    "`scrapy crawl` works only inside a project; in any folder use: webcrawl crawl web -a seeds=SRC"
)


class OutsideCommand(BaseRunSpiderCommand):
    """Refuses to run outside of a project. In a project it is Scrapy's own command."""

    requires_crawler_process = False

    def __new__(cls) -> Any:
        in_project = os.environ.get(ENVVAR) or closest_scrapy_cfg()
        return ScrapysCommand() if in_project else super().__new__(cls)

    def short_desc(self) -> str:
        return "Run a spider inside a project; in any folder use webcrawl crawl"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002
        raise UsageError(REFUSAL, print_help=False)
