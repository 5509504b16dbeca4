"""`webcrawl account`: all that was requested from a site, for its owner."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import count, readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import (
    ToolCommand,
    discard_further_output,
    print_line,
    print_text,
    usage_error,
    write_out,
    write_page,
    write_text,
)


class Command(ToolCommand):
    """Reads the last checkpoint and the logs, and changes nothing (docs/site-owners-operator.md).

    With --list-records, exit status 1 and a line for each archive file that is left out.
    """

    summary = "List every request made to a site, for its owner"
    usage = "JOBDIR DOMAIN [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --output and --list-records."""
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
            help="instead, list file, offset, length, kind and URL of each archive record of a site or URL prefix",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the account of a site, or list its archive records."""
        if len(args) != 2:
            raise usage_error(f"give a folder and a site: {program()} account JOBDIR DOMAIN")
        try:
            if opts.list_records:
                self._list_records(Path(args[0]), args[1])
            else:
                self._write_account(Path(args[0]), args[1], opts.output)
        except BrokenPipeError:
            discard_further_output()
        except (StoreError, OSError) as error:
            self.fail(error)

    def _write_account(self, jobdir: Path, name: str, output: str | None) -> None:
        """Write the account of a site as HTML or CSV; print HTML if `output` is a dash."""
        # Scrapy imports every command for any
        from webcrawl.tools.account_page import csv_lines, page  # noqa: PLC0415
        from webcrawl.tools.site_account import account_of, site_of  # noqa: PLC0415

        site = site_of(name)
        if output == "-":
            print_text(page(account_of(jobdir, site), time.time()).encode())
            return
        target = Path(output if output is not None else f"account-{site.name.strip('[]')}.html")
        ending = target.suffix.lower()
        if ending not in (".html", ".htm", ".csv"):
            raise usage_error(f"-o {output}: must end in .html or .csv")
        account = account_of(jobdir, site)
        text = "".join(csv_lines(account)) if ending == ".csv" else page(account, time.time())
        try:
            write_page(target, text)
        except OSError as error:
            self.fail(f"{target}: {error.strerror or error}")
            return
        requests = "no request to it is recorded"
        if account.requests:
            requests = count(len(account.requests), "request")
        print_line(f"{target}: {site.name}, {requests}")

    def _list_records(self, jobdir: Path, rule: str) -> None:
        """Print the place of each archive record of a site, and the archives that are left out."""
        from webcrawl.tools.optout_records import RecordFinder  # noqa: PLC0415 - as above

        finder = RecordFinder(jobdir, rule)
        for place in finder:
            write_text(
                f"{place.file}\t{place.offset}\t{place.length}\t{place.kind}\t{readable(place.url)}\n"
            )
        write_out()
        for line in finder.unread:
            sys.stderr.write(f"{readable(line)}\n")
            self.exitcode = ExitStatus.FAILED
