"""`webcrawl account`: all that was asked of a site, for its owner."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import (
    ToolCommand,
    ignore_closed_pipe,
    print_line,
    print_text,
    usage_error,
    write_page,
)


class Command(ToolCommand):
    """Reads the last checkpoint and the logs, and changes nothing (docs/site-owners-operator.md)."""

    summary = "List every request made to a site, for its owner"
    usage = "JOBDIR DOMAIN [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            help="an .html page, or .csv (default: account-DOMAIN.html); - prints HTML",
        )

        parser.add_argument(
            "--list-records",
            action="store_true",
            help="list the archive records of a site or URL prefix instead: file, offset, length, kind, URL",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 2:
            raise usage_error(f"give a folder and a site: {program()} account JOBDIR DOMAIN")
        try:
            if opts.list_records:
                self._list(Path(args[0]), args[1])
            else:
                self._give(Path(args[0]), args[1], opts.output)
        except BrokenPipeError:
            ignore_closed_pipe()
        except (StoreError, OSError) as error:
            self.fail(error)

    def _give(self, jobdir: Path, name: str, output: str | None) -> None:
        # Scrapy imports every command for any
        from webcrawl.tools.account_page import page, sheet  # noqa: PLC0415
        from webcrawl.tools.site_account import account_of, site_of  # noqa: PLC0415

        site = site_of(name)
        target = Path(output if output is not None else f"account-{site.name.strip('[]')}.html")
        if output != "-" and target.suffix.lower() not in (".html", ".htm", ".csv"):
            raise usage_error(f"-o {output}: must end in .html or .csv")
        account = account_of(jobdir, site)
        as_csv = output != "-" and target.suffix.lower() == ".csv"
        text = "".join(sheet(account)) if as_csv else page(account, time.time())
        if output == "-":
            print_text(text.encode())
            return
        try:
            write_page(target, text)
        except OSError as error:
            self.fail(f"{target}: {error.strerror or error}")
            return
        what = (
            f"{len(account.requests)} requests"
            if account.requests
            else "no request to it is recorded"
        )
        print_line(f"{target}: {site.name}, {what}")

    def _list(self, jobdir: Path, rule: str) -> None:
        """Exit status 1, with a line for each, if archives are left out."""
        from webcrawl.tools.optout_records import RecordFinder  # noqa: PLC0415 - as above

        offsets = RecordFinder(jobdir, rule)
        for one in offsets:
            sys.stdout.write(
                f"{one.file}\t{one.offset}\t{one.length}\t{one.kind}\t{readable(one.url)}\n"
            )
        for line in offsets.unread:
            sys.stderr.write(f"{readable(line)}\n")
            self.exitcode = ExitStatus.FAILED
