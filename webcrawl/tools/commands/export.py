"""`scrapy export`: what others can open or keep, made of a crawl.

Of the commands in a module Scrapy takes the last one.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import INTERRUPTED, program
from webcrawl.base.readable import count
from webcrawl.tools.commands import store, wacz
from webcrawl.tools.commands.console import say
from webcrawl.tools.tool_command import CommandGroup, ToolCommand, usage_error

if TYPE_CHECKING:
    from scrapy.settings import Settings

PART = ".part"  # after the file's name: a folder that is there until the file is


class Documents(ToolCommand):
    """Exit status 0; 1 and one line if nothing was made, or if something in the archives could not be read."""

    says = "Make one file of the documents of a crawl, hive or archive (OUTPUTS=documents)"

    def syntax(self) -> str:
        return "JOBDIR|WARC... [-o FILE]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", metavar="FILE", help="ends in .parquet or .jsonl.zst; by default JOBDIR/NAME.documents.parquet"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or not all(args):
            raise usage_error(f"which crawl? {program()} export documents JOBDIR, or WARC files")
        try:
            source = Path(args[0])
            place = source if source.is_dir() else source.parent
            target = Path(opts.o) if opts.o else place / f"{place.resolve().name}.documents.parquet"
            self._export(args, target)
        except (ValueError, OSError) as error:  # of pyarrow, too
            self.fail(error)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
            self.exitcode = INTERRUPTED

    def _export(self, sources: list[str], target: Path) -> None:
        """Documents that the crawls have made are taken as they are; else they are made of the archives."""
        if lack := missing_library():
            raise ValueError(lack)
        from webcrawl.adapter.crawl_end import FINISHED  # noqa: PLC0415 - Scrapy imports every command for any
        from webcrawl.store.disk import own_folder  # noqa: PLC0415 - as above
        from webcrawl.store.jobdir import stats_file  # noqa: PLC0415 - as above
        from webcrawl.tools.documents_export import ending, tables_of, write  # noqa: PLC0415 - pyarrow is optional

        ending(target)
        for source in sources:
            if not Path(source).exists():
                raise FileNotFoundError(f"{source}: no such file")
        if target.exists():
            raise FileExistsError(f"{target} exists")
        scratch = target.with_name(target.name + PART)
        found = {source: tables_of(_crawls(Path(source))) for source in sources}
        tables = [table for tables in found.values() for table in tables]
        for source in [source for source, its in found.items() if tables and not its]:
            sys.stderr.write(f"{source}: has made no documents, as the others have: left out; export it by itself\n")
        made = "" if tables else "of the archive, "
        own_folder(scratch)
        if not tables:
            self.exitcode = _processed(sources, scratch, self.settings)
            if stats_file.read(scratch).get("reason") != FINISHED:
                with suppress(OSError):  # it is empty if nothing was begun
                    scratch.rmdir()
                raise ValueError(f"{', '.join(sources)}: not read to the end: run the same command to resume")
            tables = tables_of([scratch])
        if not tables:
            shutil.rmtree(scratch)
            raise ValueError(f"{', '.join(sources)}: no documents")
        rows = write(tables, target, scratch / target.name)
        shutil.rmtree(scratch)
        say(f"{target}: {made}{count(rows, 'document')}")


def missing_library() -> str:
    """A line for those that are not installed."""
    lacks = [one for one in LIBRARIES["documents"] if find_spec(one) is None]
    return missing(*lacks) if lacks else ""


def _crawls(folder: Path) -> Iterator[Path]:
    from webcrawl.store.errors import StoreError  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.store.jobdir.crawls import crawls_of  # noqa: PLC0415 - as above

    if folder.is_dir():
        with suppress(StoreError):  # of a damaged crawl the archive can be read
            yield from crawls_of(folder)


def _processed(sources: list[str], jobdir: Path, settings: Settings) -> int:
    """Has `scrapy process` make them in this folder, or go on with it; returns its exit status."""
    from webcrawl.tools.supervisor.plan import given_by_command  # noqa: PLC0415 - as above

    given = {**given_by_command(settings), "OUTPUTS": "documents", "JOBDIR": str(jobdir), "LOG_ENABLED": "True"}
    options = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    process = subprocess.Popen([sys.executable, "-m", "webcrawl", "process", *sources, *options])  # noqa: S603 - ours
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    return status


class Command(CommandGroup):
    """`scrapy wacz` and `scrapy store` are the same commands."""

    name = "export"
    says = "Pack a crawl's archive into one WACZ file, make documents, or copy its finished files to a store"
    members = {"wacz": wacz.Command, "store": store.Command, "documents": Documents}  # noqa: RUF012 - a constant of the class
