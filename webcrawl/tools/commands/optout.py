"""`scrapy optout`: a web form by which whoever proves control of a site has it left alone (docs/leaving.md).

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import program
from webcrawl.tools.commands.console import port_of, say
from webcrawl.tools.commands.crawl_queries import ask
from webcrawl.tools.tool_command import ToolCommand, need_jobdir, usage_error

if TYPE_CHECKING:
    from scrapy.settings import Settings

PORT = "8710"
PROXY = (
    "the environment names a proxy, and the form has none: behind one nobody checks which addresses strangers lead to; "
    "with -s HTTPPROXY_ENABLED=0 it asks directly"
)
PATIENCE = 90.0  # seconds for an answer, which may wait for a checkpoint of each drone


class Command(ToolCommand):
    """A process of its own: strangers reach it, and not the crawl. Ctrl-C ends it: exit status 0."""

    says = "Serve a form by which owners have their sites left alone, with proof of control"

    def syntax(self) -> str:
        return f"JOBDIR [--port {PORT}] [--host 127.0.0.1]"

    def long_desc(self) -> str:
        return (
            f"{self.says}. A token in a file of the site, or in a TXT record, is the proof; what is proven is "
            f"ordered of the crawl or hive in JOBDIR, as `{program()} ctl JOBDIR exclude` does (docs/leaving.md)."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--port", default=PORT, metavar="N", help="0: any that is free (default: %(default)s)")
        parser.add_argument(
            "--host", default="127.0.0.1", metavar="ADDRESS", help="an IP address to listen on (default: %(default)s)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise usage_error(f"{program()} optout {self.syntax()}")
        try:
            _serve(self.settings, Path(args[0]), opts.host, port_of(opts.port))
        except CannotStart as error:
            self.fail(error)


def _serve(settings: Settings, jobdir: Path, host: str, port: int) -> None:
    from ipaddress import ip_address  # noqa: PLC0415 - as above, here and below
    from urllib.request import getproxies  # noqa: PLC0415

    from webcrawl.adapter.values import PROXIED, plain_values  # noqa: PLC0415
    from webcrawl.crawl.checks import SettingError  # noqa: PLC0415
    from webcrawl.net.errors import DnsFailed  # noqa: PLC0415
    from webcrawl.net.http_answerer import CannotListen, bound  # noqa: PLC0415
    from webcrawl.net.identity.signing_key import BadKey  # noqa: PLC0415
    from webcrawl.store.jobdir.crawls import HIVE, is_crawl  # noqa: PLC0415
    from webcrawl.tools.optout.serving import run  # noqa: PLC0415
    from webcrawl.tools.optout.token import BadSecret, secret_of  # noqa: PLC0415

    need_jobdir(jobdir, lambda folder: is_crawl(folder) or (folder / HIVE).exists())
    try:
        ip_address(host)
    except ValueError as error:
        raise CannotStart(f"--host {host}: must be an IP address of this machine") from error
    try:
        values = plain_values(settings, "web")
        if settings.getbool("HTTPPROXY_ENABLED") and PROXIED & getproxies().keys():
            raise CannotStart(PROXY)
        run(values, bound(host, port, "--port"), secret_of(jobdir), partial(ask, settings, jobdir, PATIENCE), say)
    except (SettingError, CannotListen, BadSecret, DnsFailed) as error:
        raise CannotStart(str(error)) from error
    except BadKey as error:
        raise CannotStart(f"BOT_KEY: {error}") from error
    except OSError as error:
        raise CannotStart(f"{error.filename or jobdir}: {error.strerror or error}") from error
