"""`scrapy export wacz`: packs the archive of a crawl into one file that replay programs open."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands.console import say
from webcrawl.tools.tool_command import ToolCommand, usage_error


class Command(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line, without a file; docs/warc.md has examples."""

    says = "Pack the archive of a crawl or hive into one WACZ file"

    def syntax(self) -> str:
        return "JOBDIR [-o FILE]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", metavar="FILE", help="the file to write; by default JOBDIR/NAME.wacz")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export wacz JOBDIR")
        from webcrawl.tools.optout_records import records_in  # noqa: PLC0415 - as below
        from webcrawl.tools.wacz.pack import pack  # noqa: PLC0415 - as above
        from webcrawl.tools.wacz.packable_archives import CannotPack  # noqa: PLC0415 - Scrapy imports every command for any
        from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as below

        jobdir, found = Path(args[0]), Counter[str]()
        target = Path(opts.o) if opts.o else jobdir / f"{jobdir.resolve().name}.wacz"
        try:
            forgotten = Forgotten(records_in(jobdir))
            for line in pack(jobdir, target, time.time(), found, forgotten):
                say(line)
            say(f"{target}: {_said(found)}")
        except (CannotPack, StoreError) as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or target}: {error.strerror or error}")


def _said(found: Mapping[str, int]) -> str:
    figures = {
        "archive files": "files",
        "records": "records",
        "seeds": "seeds",
        "other pages": "others",
        "bytes": "bytes",
    }
    return ", ".join(f"{name} {found[key]}" for name, key in figures.items())
