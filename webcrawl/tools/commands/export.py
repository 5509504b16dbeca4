"""`webcrawl export`: what others can open or keep, made of a crawl.

Of the commands in a module Scrapy takes the last one.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import PYTHON, ExitStatus, environment, program
from webcrawl.base.readable import count, readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import (
    SETTINGS_OPTION,
    CommandGroup,
    ToolCommand,
    print_error,
    print_line,
    usage_error,
)

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from webcrawl.record.tables.table_files import CrawlTable
    from webcrawl.tools.derived_archives import Derived
    from webcrawl.urls.exclusion_rules import Forgotten

PART = ".part"  # after the file's name: a folder that is there until the file is
SOURCES = "sources"  # in it: of what archives


class DocumentsCommand(ToolCommand):
    """Exit status 0; 1 if nothing was made, or something in the archives could not be read.

    So if a crawl that does not run has documents in no finished file.
    """

    summary = "Make one file of the documents of a crawl, hive or archive (OUTPUTS=documents)"
    usage = "JOBDIR|WARC... [-o FILE]"
    listed_options = SETTINGS_OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            metavar="FILE",
            help="ends in .parquet or .jsonl.zst; by default JOBDIR/NAME.documents.parquet",
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
            self.exitcode = ExitStatus.INTERRUPTED

    def _export(self, sources: list[str], target: Path) -> None:
        """Take the documents that the crawls have made, or else make them of the archives."""
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
        tables = [table for one in made.values() for table in one.files]
        forgotten = None
        how = ""
        own_folder(scratch)
        if tables:
            forgotten = _forgotten([crawl for its in crawls.values() for crawl in its])
            _tell_without_documents(made)
            self.exitcode = self.exitcode or _tell_left_out(made.values())
        else:
            self._make(sources, scratch)
            tables = _made_by([scratch]).files
            how = "of the archive, "
        if not tables:
            shutil.rmtree(scratch)
            raise ValueError(f"{', '.join(sources)}: no documents")
        rows = write(tables, target, scratch / target.name, forgotten)
        shutil.rmtree(scratch)
        print_line(f"{target}: {how}{count(rows, 'document')}")

    def _make(self, sources: list[str], scratch: Path) -> None:
        """Make documents of archives in this folder. ValueError if not all are read."""
        from webcrawl.store.jobdir import stats_file  # noqa: PLC0415 - as above

        _note(sources, scratch / SOURCES)
        self.exitcode = _processed(sources, scratch, self.settings)
        if stats_file.read(scratch).get("reason") != stats_file.FINISHED:
            was_begun = [path.name for path in scratch.iterdir()] != [SOURCES]
            if not was_begun:
                shutil.rmtree(scratch)
            # refused: the same command would be refused again
            if not was_begun and self.exitcode > 0:
                raise ValueError(
                    f"{', '.join(sources)}: `{program()} process` ended with status {self.exitcode} before it read "
                    "anything; the lines above say why"
                )
            raise ValueError(
                f"{', '.join(sources)}: not read to the end: run the same command to resume"
            )


def _tell_left_out(made: Iterable[CrawlTable]) -> int:
    """Print a line for each file left out; return exit status 1 if no run will finish it."""
    is_cut = False
    for its in made:
        for line in its.left_out:
            print_error(line)
        is_cut = is_cut or its.is_cut
    return int(is_cut)


class ClustersExport(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line. So if a source has made no documents.

    As of documents, the status is 1 as well if a crawl that does not run has some in no finished
    file.
    """

    summary = "Join the near-duplicate clusters of documents of crawls, hives and shards"
    usage = "JOBDIR|FILE.parquet... [-o FILE]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            metavar="FILE",
            help="ends in .parquet; by default JOBDIR/NAME.clusters.parquet, of the first JOBDIR",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or not all(args):
            raise usage_error(
                f"which documents? {program()} export clusters JOBDIR, or Parquet files"
            )
        source = Path(args[0])
        place = source if source.is_dir() else source.parent
        target = Path(opts.o) if opts.o else place / f"{place.resolve().name}.clusters.parquet"
        try:
            self._export([*dict.fromkeys(args)], target)
        except (StoreError, ValueError, OSError) as error:  # of pyarrow, too
            self.fail(error)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: nothing is written\n")
            self.exitcode = ExitStatus.INTERRUPTED

    def _export(self, sources: list[str], target: Path) -> None:
        if find_spec("pyarrow") is None:
            raise ValueError(missing("pyarrow"))
        from webcrawl.store.disk import own_folder  # noqa: PLC0415 - as above
        from webcrawl.tools.clusters_export import write_clusters  # noqa: PLC0415 - as above

        if target.suffix != ".parquet":
            raise ValueError(f"{target}: the name must end in .parquet")
        if target.exists():
            raise FileExistsError(f"{target} exists")
        made = [_documents_in(Path(source)) for source in sources]
        self.exitcode = _tell_left_out(made)
        tables = {path.resolve(): path for its in made for path in its.files}
        if not tables:
            raise ValueError(f"{', '.join(sources)}: no documents in a finished file")
        forgotten = _forgotten([*dict.fromkeys(path.parent.parent for path in tables)])
        scratch = target.with_name(target.name + PART)
        own_folder(scratch)
        try:
            found = write_clusters([*tables.values()], target, scratch, forgotten)
        finally:
            shutil.rmtree(scratch)
        near = found.compared - found.clusters
        are_near = "is a near-duplicate" if near == 1 else "are near-duplicates"
        print_line(
            f"{target}: {count(found.documents, 'document')}, "
            f"{found.documents - found.compared} too short to compare; "
            f"{count(found.clusters, 'cluster')}: {near} {are_near} of another"
        )


def _documents_in(source: Path) -> CrawlTable:
    """Return the documents of a crawl or hive, or the file itself.

    A shard may have none. Raise ValueError if the crawl was not told to write any.
    """
    if source.is_dir():
        made = _made_by(_crawls(source))
        if not (made.files or made.left_out or _writes_documents(source)):
            raise ValueError(
                f"{source}: no documents: {program()} process {source} -s OUTPUTS=documents "
                "makes them of an archive"
            )
        return made
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    from webcrawl.record.tables.table_files import CrawlTable  # noqa: PLC0415 - as above

    return CrawlTable("documents", [source])


def _writes_documents(source: Path) -> bool:
    """Return whether the crawls in this folder write documents."""
    from webcrawl.store.jobdir import meta_row  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.crawls import is_crawl  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.job_dir import JobDir  # noqa: PLC0415 - as above

    terms = [JobDir(crawl).read(meta_row.terms) for crawl in _crawls(source) if is_crawl(crawl)]
    return bool(terms) and all("documents" in one.get("OUTPUTS", "").split(", ") for one in terms)


def missing_library() -> str:
    """Return a line on the libraries that are not installed."""
    lacks = [one for one in LIBRARIES["documents"] if find_spec(one) is None]
    return missing(*lacks) if lacks else ""


def _crawls(folder: Path) -> Iterator[Path]:
    from webcrawl.store.jobdir.crawls import crawls_of  # noqa: PLC0415 - as above

    if folder.is_dir():
        with suppress(StoreError):  # of a damaged crawl the archive can be read
            yield from crawls_of(folder)


def _made_by(crawls: Iterable[Path]) -> CrawlTable:
    """Return all documents that these crawls have made."""
    from webcrawl.record.tables.table_files import CrawlTable  # noqa: PLC0415 - as above

    made = CrawlTable("documents")
    for crawl in crawls:
        made.add(crawl)
    return made


def _tell_without_documents(made: Mapping[str, CrawlTable]) -> None:
    """Name the sources without documents, while others have some."""
    for source, its in made.items():
        if not (its.files or its.left_out):
            print_error(
                f"{source}: left out, because it has made no documents, unlike the others; "
                "export it separately"
            )


def _forgotten(crawls: list[Path]) -> Forgotten:
    """Return whose documents are left out. Raise ValueError if a state cannot be read."""
    from webcrawl.tools.optout_records import records_of  # noqa: PLC0415 - as above
    from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as above

    try:
        return Forgotten(records_of(crawls))
    except StoreError as error:
        raise ValueError(f"{error}: it may say who wants to be forgotten") from error


def _note(sources: list[str], note: Path) -> None:
    """Note of what archives documents are made here.

    ValueError: there are those of others already.
    """
    asked = os.fsencode("\n".join(str(Path(source).resolve()) for source in sources))
    if note.exists() and note.read_bytes() != asked:
        raise ValueError(
            f"{note.parent}: was left by an interrupted export of other archives: remove it"
        )
    note.write_bytes(asked)


def _processed(sources: list[str], jobdir: Path, settings: Settings) -> int:
    """Have `webcrawl process` make them in this folder, or go on with it; return its exit status."""
    from webcrawl.tools.supervisor.hive_run import command_line_options  # noqa: PLC0415 - as above

    given = {
        **command_line_options(settings),
        "OUTPUTS": "documents",
        "JOBDIR": str(jobdir),
        "LOG_ENABLED": "True",
    }
    options = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    process = subprocess.Popen(  # noqa: S603 - ours
        [*PYTHON, "-m", "webcrawl", "process", *sources, *options], env=environment()
    )
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    return status


class GraphExport(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line; docs/study-the-web.md says what is in them."""

    summary = "Write the graph of a crawl's hosts: hosts.tsv and edges.tsv"
    usage = "JOBDIR [-o FOLDER]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", metavar="FOLDER", default="graph", help="where to write it (default: %(default)s)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export graph JOBDIR")
        from webcrawl.tools.host_graph import write_graph  # noqa: PLC0415 - Scrapy imports every command for any

        folder = Path(opts.o)
        try:
            graph = write_graph(Path(args[0]), folder)
        except (StoreError, OSError) as error:
            self.fail(error)
            return
        for line in graph.left_out:
            print_error(line)
        print_line(f"{folder}: hosts {len(graph.hosts)}, edges {graph.size}")


def _folder_of(source: Path) -> Path:
    """Return the job directory, or the folder of an archive file."""
    return source if source.is_dir() else source.parent


class DerivedExport(ToolCommand):
    """Exit status 0 and a line for each file; 1 if one could not be read or written, or in part."""

    kind: str  # wet or wat
    usage = "JOBDIR|WARC... [-o FOLDER]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            metavar="FOLDER",
            help=f"where to write the files (default: the folder {self.kind} in JOBDIR)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or not all(args):
            raise usage_error(f"which crawl? {program()} export {self.kind} JOBDIR, or WARC files")
        folder = Path(opts.o) if opts.o else _folder_of(Path(args[0])) / self.kind
        try:
            self._export_all(args, folder)
        except (StoreError, ValueError) as error:
            self.fail(error)
        except OSError as error:
            self.fail(f"{error.filename or folder}: {error.strerror or error}")
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: the file that was being made is left out\n")
            self.exitcode = ExitStatus.INTERRUPTED

    def _export_all(self, sources: list[str], folder: Path) -> None:
        from webcrawl.tools.absent_archives import absent_archives  # noqa: PLC0415 - as below
        from webcrawl.tools.derived_archives import (  # noqa: PLC0415 - Scrapy imports every command for any
            Derived,
            archive_files_of,
        )

        files = archive_files_of(sources)
        for line in chain.from_iterable(map(absent_archives, sources)):
            print_error(line)
        crawls = [crawl for source in sources for crawl in _crawls(Path(source))]
        forgotten = _forgotten(crawls)
        finished = [path for path in files if self._is_finished(path)]
        derived = Derived(self.kind, finished, folder, forgotten)
        folder.mkdir(parents=True, exist_ok=True)
        for path in finished:
            self._export(derived, path)

    def _is_finished(self, path: Path) -> bool:
        """Return False, and say so, for a file that a crawl still writes or has to go on with."""
        from webcrawl.store.jobdir.crawls import is_locked  # noqa: PLC0415 - as above
        from webcrawl.store.output import OPEN  # noqa: PLC0415 - as above

        if not path.name.endswith(OPEN):
            return True
        if is_locked(path.resolve().parent.parent):
            print_error(f"{path}: left out, because its crawl is still writing it")
        else:
            print_error(f"{path}: left out: run the crawl again, which finishes it")
            self.exitcode = ExitStatus.FAILED
        return False

    def _export(self, derived: Derived, path: Path) -> None:
        """Make one file, in place of what a former run made: that may lack what can be read now."""
        lost = derived.lost
        records = derived.write(path)
        print_line(f"{derived.targets[path]}: {count(records, 'record')}")
        if derived.lost > lost:
            print_error(f"{path}: {count(derived.lost - lost, 'record')} could not be read")
            self.exitcode = ExitStatus.FAILED


class WetExport(DerivedExport):
    """Texts."""

    kind = "wet"
    summary = "Write the texts of archived pages as WET files, as Common Crawl does"


class WatExport(DerivedExport):
    """Metadata."""

    kind = "wat"
    summary = "Write headers, titles and links of archived pages as WAT files, as Common Crawl does"


STORE_SETTINGS = "OUTPUT_STORE", "OUTPUT_STORE_KEEP"


class StoreExport(ToolCommand):
    """Exit status 0 if all finished files are in the store, else 1 and the reasons."""

    summary = "Copy the finished files of a crawl or hive to its store"
    usage = "JOBDIR"
    listed_options = SETTINGS_OPTION

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del opts
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export store JOBDIR")
        jobdir = Path(args[0])
        is_sound = False
        try:
            is_sound = _copy_to_store(jobdir, self.settings)
        except (StoreError, ValueError) as error:
            print_error(error)
        except OSError as error:
            sys.stderr.write(
                f"{readable(f'{error.filename or jobdir}: {error.strerror or error}')}\n"
            )
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
        self.exitcode = ExitStatus.DONE if is_sound else ExitStatus.FAILED


def _copy_to_store(jobdir: Path, settings: Settings) -> bool:
    """Copy what is finished; return whether everything is in the store now."""
    from webcrawl import settings as defaults  # noqa: PLC0415 - as above
    from webcrawl.crawl.checks.check import read  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.store_folder import StoreFolder, address_below  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.storing import copy_to_store  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.crawls import crawls_of, hive_of  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.job_dir import JobDir  # noqa: PLC0415 - as above

    _log_aloud()
    given, keep = (
        read(name, settings.get(name, getattr(defaults, name))) for name in STORE_SETTINGS
    )
    drones = hive_of(jobdir) is not None
    sound = True
    for crawl in crawls_of(jobdir):
        JobDir.open(crawl)
        address = address_below(given, crawl.name) if given and drones else given
        for line, is_sound in copy_to_store(crawl, address, keep=keep, open_folder=StoreFolder):
            sound = sound and is_sound
            print_line(line)
    return sound


class _StoreLines(logging.Handler):
    """Prints what is said meanwhile: which file is stored, and why one is not."""

    def emit(self, record: logging.LogRecord) -> None:
        print_line(record.getMessage())


def _log_aloud() -> None:
    logger = logging.getLogger("webcrawl.record.objectstore")
    logger.setLevel(logging.INFO)
    logger.handlers[:] = [_StoreLines()]


class WaczExport(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line, without a file; docs/archive.md has examples."""

    summary = "Pack the archive of a crawl or hive into one WACZ file"
    usage = "JOBDIR [-o FILE]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", metavar="FILE", help="the file to write; by default JOBDIR/NAME.wacz"
        )

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
                print_line(line)
            print_line(f"{target}: {_wacz_figures(found)}")
        except (CannotPack, StoreError) as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or target}: {error.strerror or error}")


def _wacz_figures(found: Mapping[str, int]) -> str:
    figures = {
        "archive files": "files",
        "records": "records",
        "seeds": "seeds",
        "other pages": "others",
        "bytes": "bytes",
    }
    return ", ".join(f"{name} {found[key]}" for name, key in figures.items())


class Command(CommandGroup):
    """`webcrawl export`: one command per kind of export."""

    name = "export"
    summary = (
        "Make a WACZ file, WET and WAT files, a file of documents, clusters of near-duplicates or a "
        "host graph; copy files to a store"
    )
    members = {  # noqa: RUF012 - a constant of the class
        "wacz": WaczExport,
        "store": StoreExport,
        "documents": DocumentsCommand,
        "graph": GraphExport,
        "clusters": ClustersExport,
        "wet": WetExport,
        "wat": WatExport,
    }
