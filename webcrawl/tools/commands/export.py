"""`webcrawl export`: makes files of a crawl that other programs can open, and copies files to a store.

Scrapy takes the last command class of a module, so `Command` stands at the end.
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

from webcrawl.base.errors import of_file
from webcrawl.base.loading import missing
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import PYTHON, ExitStatus, environment, program
from webcrawl.base.readable import count, readable
from webcrawl.store.disk import is_there, own_folder, resolved
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

PART = ".part"  # ends the name of the folder in which a file is made
SOURCES = "sources"  # a file in that folder: the paths of the archives it is made of


class DocumentsExport(ToolCommand):
    """Makes one file of documents.

    Exit status 1 if nothing was made, if a part of the archives could not be read, or if a crawl
    that is not running has documents in an unfinished file.
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
        """Write the documents of all sources to one file."""
        if not args or not all(args):
            raise usage_error(f"which crawl? {program()} export documents JOBDIR, or WARC files")
        target = None
        try:
            source = Path(args[0])
            place = source if source.is_dir() else source.parent
            target = Path(opts.o) if opts.o else place / f"{place.resolve().name}.documents.parquet"
            self._export(args, target)
        except ValueError as error:
            self.fail(error)
        except OSError as error:  # of pyarrow, too
            self.fail(of_file(error, target))
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
            self.exitcode = ExitStatus.INTERRUPTED

    def _export(self, sources: list[str], target: Path) -> None:
        """Write the documents that the crawls have made, or else make them of the archives.

        Raise ValueError or OSError if there are none, or if they cannot be read or written.
        """
        lacking = missing_library()
        if lacking:
            raise ValueError(lacking)
        from webcrawl.tools.documents_export import ending, write  # noqa: PLC0415 - pyarrow is optional

        ending(target)
        for source in sources:
            if not is_there(Path(source)):
                raise FileNotFoundError(f"{source}: no such file")
        if target.exists():
            raise FileExistsError(f"{target} exists")
        scratch = target.with_name(target.name + PART)
        crawls_by_source = {source: [*_crawls(Path(source))] for source in sources}
        documents = {source: _documents_of(crawls) for source, crawls in crawls_by_source.items()}
        files = [file for table in documents.values() for file in table.files]
        forgotten = None
        origin = ""
        own_folder(scratch)
        if files:
            forgotten = _forgotten([*chain.from_iterable(crawls_by_source.values())])
            _print_sources_without_documents(documents)
            self.exitcode = self.exitcode or _print_left_out(documents.values())
        else:
            self._make_of_archives(sources, scratch)
            files = _documents_of([scratch]).files
            origin = "of the archive, "
        if not files:
            shutil.rmtree(scratch)
            raise ValueError(f"{', '.join(sources)}: no documents")
        rows = write(files, target, scratch / target.name, forgotten)
        shutil.rmtree(scratch)
        print_line(f"{target}: {origin}{count(rows, 'document')}")

    def _make_of_archives(self, sources: list[str], scratch: Path) -> None:
        """Make documents of archives in this folder. Raise ValueError if not all are read."""
        from webcrawl.store.jobdir import stats_file  # noqa: PLC0415 - as above

        _note_sources(sources, scratch / SOURCES)
        self.exitcode = _run_process(sources, scratch, self.settings)
        if stats_file.read(scratch).get("reason") != stats_file.FINISHED:
            was_begun = [path.name for path in scratch.iterdir()] != [SOURCES]
            if not was_begun:
                shutil.rmtree(scratch)
            # `process` refused to begin, and would refuse the same command again.
            if not was_begun and self.exitcode > 0:
                raise ValueError(
                    f"{', '.join(sources)}: `{program()} process` ended with status {self.exitcode} before it read "
                    "anything; the lines above say why"
                )
            raise ValueError(
                f"{', '.join(sources)}: not read to the end: run the same command to resume"
            )


def _print_left_out(tables: Iterable[CrawlTable]) -> int:
    """Print a line for each file that is left out.

    Return exit status 1 if one is of a crawl that is not running, so that nobody will finish it.
    """
    is_incomplete = False
    for table in tables:
        for line in table.left_out:
            print_error(line)
        is_incomplete = is_incomplete or table.is_incomplete
    return ExitStatus.FAILED if is_incomplete else ExitStatus.DONE


class ClustersExport(ToolCommand):
    """Joins the clusters of near-duplicates.

    Exit status 1 if a source has made no documents, or if a crawl that is not running has documents
    in an unfinished file.
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
        """Join the clusters of all sources."""
        if not args or not all(args):
            raise usage_error(
                f"which documents? {program()} export clusters JOBDIR, or Parquet files"
            )
        source = Path(args[0])
        place = source if source.is_dir() else source.parent
        target = Path(opts.o) if opts.o else place / f"{place.resolve().name}.clusters.parquet"
        try:
            self._export([*dict.fromkeys(args)], target)
        except (StoreError, ValueError) as error:
            self.fail(error)
        except OSError as error:  # of pyarrow, too
            self.fail(of_file(error, target))
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: nothing is written\n")
            self.exitcode = ExitStatus.INTERRUPTED

    def _export(self, sources: list[str], target: Path) -> None:
        """Write the clusters and print a summary. Raise ValueError, OSError or StoreError."""
        if find_spec("pyarrow") is None:
            raise ValueError(missing("pyarrow"))
        from webcrawl.tools.clusters_export import write_clusters  # noqa: PLC0415 - as above

        if target.suffix != ".parquet":
            raise ValueError(f"{target}: the name must end in .parquet")
        if target.exists():
            raise FileExistsError(f"{target} exists")
        tables = [_documents_in(Path(source)) for source in sources]
        self.exitcode = _print_left_out(tables)
        # A file that is named twice, or is in a folder that is named too, counts once.
        files = {path.resolve(): path for table in tables for path in table.files}
        if not files:
            raise ValueError(f"{', '.join(sources)}: no documents in a finished file")
        forgotten = _forgotten([*dict.fromkeys(path.parent.parent for path in files)])
        scratch = target.with_name(target.name + PART)
        own_folder(scratch)
        try:
            figures = write_clusters([*files.values()], target, scratch, forgotten)
        finally:
            shutil.rmtree(scratch)
        near = figures.compared - figures.clusters
        are_near = "is a near-duplicate" if near == 1 else "are near-duplicates"
        print_line(
            f"{target}: {count(figures.documents, 'document')}, "
            f"{figures.documents - figures.compared} too short to compare; "
            f"{count(figures.clusters, 'cluster')}: {near} {are_near} of another"
        )


def _documents_in(source: Path) -> CrawlTable:
    """Return the documents of a crawl or hive, or the file itself.

    A shard may have none. Raise ValueError if the crawl does not write any.
    """
    if source.is_dir():
        documents = _documents_of(_crawls(source))
        has_documents = documents.files or documents.left_out
        if not has_documents and not _writes_documents(source):
            raise ValueError(
                f"{source}: no documents: {program()} process {source} -s OUTPUTS=documents "
                "makes them of an archive"
            )
        return documents
    if not is_there(source):
        raise FileNotFoundError(f"{source}: no such file")
    from webcrawl.record.tables.table_files import CrawlTable  # noqa: PLC0415 - as above

    return CrawlTable("documents", [source])


def _writes_documents(source: Path) -> bool:
    """Return whether all crawls in this folder write documents. False if there is no crawl."""
    from webcrawl.store.jobdir import meta_row  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.crawls import is_crawl  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.job_dir import JobDir  # noqa: PLC0415 - as above

    crawls = [crawl for crawl in _crawls(source) if is_crawl(crawl)]
    outputs = [JobDir(crawl).read(meta_row.terms).get("OUTPUTS", "") for crawl in crawls]
    return bool(outputs) and all("documents" in names.split(", ") for names in outputs)


def missing_library() -> str:
    """Return how to install the libraries that are missing; empty if none is."""
    absent = [name for name in LIBRARIES["documents"] if find_spec(name) is None]
    return missing(*absent) if absent else ""


def _crawls(folder: Path) -> Iterator[Path]:
    """Yield the crawls in a folder; none in a file, or if hive.json is damaged."""
    from webcrawl.store.jobdir.crawls import crawls_of  # noqa: PLC0415 - as above

    if folder.is_dir():
        with suppress(StoreError):  # the archive can be read all the same
            yield from crawls_of(folder)


def _documents_of(crawls: Iterable[Path]) -> CrawlTable:
    """Return all documents that these crawls have made."""
    from webcrawl.record.tables.table_files import CrawlTable  # noqa: PLC0415 - as above

    documents = CrawlTable("documents")
    for crawl in crawls:
        documents.add(crawl)
    return documents


def _print_sources_without_documents(documents: Mapping[str, CrawlTable]) -> None:
    """Print a line for each source that has no documents, which is left out."""
    for source, table in documents.items():
        if not table.files and not table.left_out:
            print_error(
                f"{source}: left out, because it has made no documents, unlike the others; "
                "export it separately"
            )


def _forgotten(crawls: list[Path]) -> Forgotten:
    """Return the opt-outs by which documents are left out.

    Raise ValueError if a state cannot be read.
    """
    from webcrawl.tools.optout_records import records_of  # noqa: PLC0415 - as above
    from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as above

    try:
        return Forgotten(records_of(crawls))
    except StoreError as error:
        raise ValueError(f"{error}: it may say who wants to be forgotten") from error


def _note_sources(sources: list[str], note: Path) -> None:
    """Note in the folder of the documents from which archives they are made.

    Raise ValueError if an interrupted export has begun with other archives there.
    """
    paths = os.fsencode("\n".join(str(Path(source).resolve()) for source in sources))
    if note.exists() and note.read_bytes() != paths:
        raise ValueError(
            f"{note.parent}: was left by an interrupted export of other archives: remove it"
        )
    note.write_bytes(paths)


def _run_process(sources: list[str], jobdir: Path, settings: Settings) -> int:
    """Run `webcrawl process`, which makes documents in a folder or resumes; return its status."""
    from webcrawl.tools.supervisor.hive_run import command_line_options  # noqa: PLC0415 - as above

    values = {
        **command_line_options(settings),
        "OUTPUTS": "documents",
        "JOBDIR": str(jobdir),
        "LOG_ENABLED": "True",
    }
    options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
    process = subprocess.Popen(  # noqa: S603 - ours
        [*PYTHON, "-m", "webcrawl", "process", *sources, *options], env=environment()
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # the terminal has interrupted it too, and it takes a checkpoint
        raise


class GraphExport(ToolCommand):
    """Writes the graph of hosts; docs/study-the-web.md describes its files.

    Exit status 1 if nothing was written, or if a crawl that is not running has links in an
    unfinished file.
    """

    summary = "Write the graph of a crawl's hosts: hosts.tsv and edges.tsv"
    usage = "JOBDIR [-o FOLDER]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", metavar="FOLDER", default="graph", help="where to write it (default: %(default)s)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the graph, and print how many hosts and edges it has."""
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export graph JOBDIR")
        from webcrawl.tools.host_graph import write_graph  # noqa: PLC0415 - Scrapy imports every command for any

        folder = Path(opts.o)
        try:
            graph = write_graph(Path(args[0]), folder)
        except StoreError as error:
            self.fail(error)
            return
        except OSError as error:
            self.fail(of_file(error, folder))
            return
        for line in graph.left_out:
            print_error(line)
        if graph.is_incomplete:
            self.exitcode = ExitStatus.FAILED
        print_line(f"{folder}: hosts {len(graph.hosts)}, edges {graph.size}")


class DerivedExport(ToolCommand):
    """Writes a WET or a WAT file for each archive file, and a line on each.

    Exit status 1 if one could not be read or written, or only in part.
    """

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
        """Write a file for each finished archive file of the sources."""
        if not args or not all(args):
            raise usage_error(f"which crawl? {program()} export {self.kind} JOBDIR, or WARC files")
        source = Path(args[0])
        place = source if source.is_dir() else source.parent
        folder = Path(opts.o) if opts.o else place / self.kind
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
        """Write the files of all finished archive files. Raise StoreError, ValueError or OSError."""
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
        """Return whether a file is finished; print why it is left out if it is not.

        Set exit status 1 if its crawl is not running, so that it will not be finished.
        """
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
        """Write one file. It replaces that of an earlier run, which may have had less to read."""
        lost_before = derived.lost
        records = derived.write(path)
        print_line(f"{derived.targets[path]}: {count(records, 'record')}")
        lost = derived.lost - lost_before
        if lost:
            print_error(f"{path}: {count(lost, 'record')} could not be read")
            self.exitcode = ExitStatus.FAILED


class WetExport(DerivedExport):
    """Writes the texts of pages."""

    kind = "wet"
    summary = "Write the texts of archived pages as WET files, as Common Crawl does"


class WatExport(DerivedExport):
    """Writes the headers, titles and links of pages."""

    kind = "wat"
    summary = "Write headers, titles and links of archived pages as WAT files, as Common Crawl does"


STORE_SETTINGS = "OUTPUT_STORE", "OUTPUT_STORE_KEEP"


class StoreExport(ToolCommand):
    """Copies finished files to the store that OUTPUT_STORE names.

    Exit status 0 if all finished files are in the store, else 1 and the reasons.
    """

    summary = "Copy the finished files of a crawl or hive to its store"
    usage = "JOBDIR"
    listed_options = SETTINGS_OPTION

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Copy the files of a crawl or hive, and set the exit status by whether all are in the store."""
        del opts
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export store JOBDIR")
        jobdir = Path(args[0])
        is_complete = False
        try:
            is_complete = _copy_to_store(jobdir, self.settings)
        except (StoreError, ValueError) as error:
            print_error(error)
        except OSError as error:
            sys.stderr.write(
                f"{readable(f'{error.filename or jobdir}: {error.strerror or error}')}\n"
            )
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
        self.exitcode = ExitStatus.DONE if is_complete else ExitStatus.FAILED


def _copy_to_store(jobdir: Path, settings: Settings) -> bool:
    """Copy the finished files of a crawl or hive, and return whether all are in the store now.

    Raise StoreError, ValueError or OSError if there is no crawl, or no such store.
    """
    from webcrawl import settings as defaults  # noqa: PLC0415 - as above
    from webcrawl.crawl.checks.check import read  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.store_folder import StoreFolder, address_below  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.storing import copy_to_store  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.crawls import crawls_of, hive_of  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.job_dir import JobDir  # noqa: PLC0415 - as above

    _print_log_of_store()
    store, keep = (
        read(name, settings.get(name, getattr(defaults, name))) for name in STORE_SETTINGS
    )
    is_hive = hive_of(jobdir) is not None
    is_complete = True
    for crawl in crawls_of(jobdir):
        JobDir.open(crawl)
        address = address_below(store, crawl.name) if store and is_hive else store
        for line, is_sound in copy_to_store(crawl, address, keep=keep, open_folder=StoreFolder):
            is_complete = is_complete and is_sound
            print_line(line)
    return is_complete


class _PrintedLog(logging.Handler):
    """Prints log messages as they are: which file was stored, and why one was not."""

    def emit(self, record: logging.LogRecord) -> None:
        print_line(record.getMessage())


def _print_log_of_store() -> None:
    logger = logging.getLogger("webcrawl.record.objectstore")
    logger.setLevel(logging.INFO)
    logger.handlers[:] = [_PrintedLog()]


class WaczExport(ToolCommand):
    """Packs a crawl or hive into one WACZ file; docs/archive.md has examples.

    Exit status 0 and a summary, or 1 and one line, without a file.
    """

    summary = "Pack the archive of a crawl or hive into one WACZ file"
    usage = "JOBDIR [-o FILE]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", metavar="FILE", help="the file to write; by default JOBDIR/NAME.wacz"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the package, and print what it has."""
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export wacz JOBDIR")
        from webcrawl.tools.optout_records import records_in  # noqa: PLC0415 - as below
        from webcrawl.tools.wacz.pack import pack  # noqa: PLC0415 - as above
        from webcrawl.tools.wacz.packable_archives import CannotPack  # noqa: PLC0415 - Scrapy imports every command for any
        from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as below

        jobdir = Path(args[0])
        figures = Counter[str]()
        target = Path(opts.o) if opts.o else jobdir / f"{resolved(jobdir).name}.wacz"
        try:
            forgotten = Forgotten(records_in(jobdir))
            for line in pack(jobdir, target, time.time(), figures, forgotten):
                print_line(line)
            print_line(f"{target}: {_wacz_summary(figures)}")
        except (CannotPack, StoreError) as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or target}: {error.strerror or error}")


def _wacz_summary(figures: Mapping[str, int]) -> str:
    counters = {
        "archive files": "files",
        "records": "records",
        "seeds": "seeds",
        "other pages": "others",
        "bytes": "bytes",
    }
    return ", ".join(f"{name} {figures[counter]}" for name, counter in counters.items())


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
        "documents": DocumentsExport,
        "graph": GraphExport,
        "clusters": ClustersExport,
        "wet": WetExport,
        "wat": WatExport,
    }
