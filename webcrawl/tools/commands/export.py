"""`scrapy export`: what others can open or keep, made of a crawl.

Of the commands in a module Scrapy takes the last one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.own_process import PYTHON, environment
from webcrawl.base.program import INTERRUPTED, program
from webcrawl.base.readable import count
from webcrawl.tools.commands.console import complain, say
from webcrawl.tools.exports import graph, store, wacz
from webcrawl.tools.tool_command import CommandGroup, ToolCommand, usage_error

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from webcrawl.tools.made_tables import Made
    from webcrawl.urls.exclusion_rules import Forgotten

PART = ".part"  # after the file's name: a folder that is there until the file is
SOURCES = "sources"  # in it: of what archives


class Documents(ToolCommand):
    """Exit status 0; 1 and one line if nothing was made, or if something in the archives could not be read.

    So if a crawl that does not run has documents in no finished file.
    """

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
        from webcrawl.store.disk import own_folder  # noqa: PLC0415 - Scrapy imports every command for any
        from webcrawl.tools.documents_export import ending, write  # noqa: PLC0415 - pyarrow is optional

        ending(target)
        for source in sources:
            if not Path(source).exists():
                raise FileNotFoundError(f"{source}: no such file")
        if target.exists():
            raise FileExistsError(f"{target} exists")
        scratch = target.with_name(target.name + PART)
        crawls = {source: [*_crawls(Path(source))] for source in sources}
        made = {source: _made_by(its) for source, its in crawls.items()}
        tables, forgotten, how = [table for one in made.values() for table in one.files], None, ""
        own_folder(scratch)
        if tables:
            forgotten = _forgotten([crawl for its in crawls.values() for crawl in its])
            self._tell_left_out(made)
        else:
            self._make(sources, scratch)
            tables, how = _made_by([scratch]).files, "of the archive, "
        if not tables:
            shutil.rmtree(scratch)
            raise ValueError(f"{', '.join(sources)}: no documents")
        rows = write(tables, target, scratch / target.name, forgotten)
        shutil.rmtree(scratch)
        say(f"{target}: {how}{count(rows, 'document')}")

    def _tell_left_out(self, made: Mapping[str, Made]) -> None:
        """Of what is left out a line each; exit status 1 if nobody is about to finish it."""
        for source, its in made.items():
            if not (its.files or its.left_out):
                complain(f"{source}: has made no documents, as the others have: left out; export it by itself")
            for line in its.left_out:
                complain(line)
            self.exitcode = self.exitcode or int(its.is_cut)

    def _make(self, sources: list[str], scratch: Path) -> None:
        """Makes documents of archives in this folder. ValueError if not all are read."""
        from webcrawl.adapter.crawl_end import FINISHED  # noqa: PLC0415 - as above
        from webcrawl.store.jobdir import stats_file  # noqa: PLC0415 - as above

        _note(sources, scratch / SOURCES)
        self.exitcode = _processed(sources, scratch, self.settings)
        if stats_file.read(scratch).get("reason") != FINISHED:
            was_begun = [path.name for path in scratch.iterdir()] != [SOURCES]
            if not was_begun:
                shutil.rmtree(scratch)
            if not was_begun and self.exitcode > 0:  # refused: the same command would be refused again
                raise ValueError(
                    f"{', '.join(sources)}: `{program()} process` ended with status {self.exitcode} before it read "
                    "anything; the lines above say why"
                )
            raise ValueError(f"{', '.join(sources)}: not read to the end: run the same command to resume")


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


def _made_by(crawls: Iterable[Path]) -> Made:
    """All documents that these crawls have made."""
    from webcrawl.tools.made_tables import Made  # noqa: PLC0415 - as above

    made = Made("documents")
    for crawl in crawls:
        made.add(crawl)
    return made


def _forgotten(crawls: list[Path]) -> Forgotten:
    """Of whom these crawls' documents are left out. ValueError if a state cannot be read."""
    from webcrawl.store.errors import StoreError  # noqa: PLC0415 - as above
    from webcrawl.tools.optout_records import records_of  # noqa: PLC0415 - as above
    from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as above

    try:
        return Forgotten(records_of(crawls))
    except StoreError as error:
        raise ValueError(f"{error}: it may say who wants to be forgotten") from error


def _note(sources: list[str], note: Path) -> None:
    """Notes of what archives documents are made here. ValueError: there are those of others already."""
    asked = os.fsencode("\n".join(str(Path(source).resolve()) for source in sources))
    if note.exists() and note.read_bytes() != asked:
        raise ValueError(f"{note.parent}: has documents of other archives, as an interrupted export left it: remove it")
    note.write_bytes(asked)


def _processed(sources: list[str], jobdir: Path, settings: Settings) -> int:
    """Has `scrapy process` make them in this folder, or go on with it; returns its exit status."""
    from webcrawl.tools.supervisor.plan import given_by_command  # noqa: PLC0415 - as above

    given = {**given_by_command(settings), "OUTPUTS": "documents", "JOBDIR": str(jobdir), "LOG_ENABLED": "True"}
    options = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    process = subprocess.Popen([*PYTHON, "-m", "webcrawl", "process", *sources, *options], env=environment())  # noqa: S603 - ours
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    return status


class Command(CommandGroup):
    """One command per kind of export; the others are in tools/exports."""

    name = "export"
    says = "Pack a crawl's archive into one WACZ file, copy files to a store, make documents or the graph of hosts"
    members = {  # noqa: RUF012 - a constant of the class
        "wacz": wacz.Command,
        "store": store.Command,
        "documents": Documents,
        "graph": graph.Command,
    }
