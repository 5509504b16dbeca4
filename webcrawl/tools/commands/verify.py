"""`webcrawl verify`: checks that everything a crawl left is complete and undamaged."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from webcrawl.base.loading import install
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import by_type, count
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.crawls import hive_of
from webcrawl.tools.tool_command import (
    ToolCommand,
    print_error,
    print_line,
    print_text,
    usage_error,
)

# The figures that --json prints, and the names under which the checks count them.
FIGURES = {
    "queued": "queued",
    "hosts": "hosts",
    "robots": "robots",
    "waiting": "waiting",
    "files": "files",
    "bytes": "bytes",
    "records": "records",
    "lines": "lines",
    "seen": "keys",
}


class Command(ToolCommand):
    """Checks a crawl or a hive (docs/verify-move-upgrade.md).

    Exit status 0 and a summary, or 1 and one line per damaged place.
    """

    summary = "Check every file of a crawl; change none"
    usage = "JOBDIR [--json]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} verify JOBDIR")
        self.exitcode = verify_and_print(args[0], as_json=opts.json)


def verify_and_print(jobdir: str, *, as_json: bool = False) -> int:
    """Check a crawl or a hive, print the damage or a summary, and return the exit status."""
    from webcrawl.tools.verify_crawl import verify  # noqa: PLC0415 - as above
    from webcrawl.tools.verify_hive import verify_hive  # noqa: PLC0415 - Scrapy imports every command for any: 0.2 s

    found: Counter[str] = Counter()  # filled while the damages are read
    path = Path(jobdir)
    try:
        damages = verify(path, found) if hive_of(path) is None else verify_hive(path, found)
        if as_json:
            return _print_json(jobdir, damages, found)
        return _print(jobdir, damages, found)
    except (StoreError, OSError) as error:
        print_error(error, as_json=as_json)
    return ExitStatus.FAILED


def _print(jobdir: str, damages: Iterator[DamagedFile], found: Counter[str]) -> int:
    """Print each damage as it is found, then a summary; return the exit status."""
    places = 0
    for damage in damages:
        places += 1
        print_line(str(damage))
    if places:
        print_line(f"{jobdir}: damaged places: {places}")
        return ExitStatus.FAILED
    for line in _summary(jobdir, found):
        print_line(line)
    return ExitStatus.DONE


def _print_json(jobdir: str, damages: Iterator[DamagedFile], found: Counter[str]) -> int:
    """Print all damage, the figures and the summary as one object; return the exit status."""
    damaged = [
        {"path": str(damage.path), "byte": damage.offset, "why": damage.why} for damage in damages
    ]
    figures = {name: found[counter] for name, counter in FIGURES.items()}
    answer = {
        "jobdir": jobdir,
        "damaged": damaged,
        **figures,
        "truncated": _truncated_records(found),
        "summary": [] if damaged else _summary(jobdir, found),
    }
    print_text(f"{json.dumps(answer)}\n")
    return ExitStatus.FAILED if damaged else ExitStatus.DONE


def _summary(jobdir: str, found: Counter[str]) -> list[str]:
    """Return the lines on a crawl or hive without damage, one per part of its files."""
    return [
        f"{jobdir}: no damage found",
        *_hive_lines(found),
        *_state_lines(found),
        *_archive_lines(found),
        *_absence_lines(found),
        *_table_lines(found),
        *_lines_beyond_checkpoint(found),
    ]


def _hive_lines(found: Counter[str]) -> Iterator[str]:
    """Yield a line on the drones of a hive; none for a single crawl."""
    if not found["drones"]:
        return
    drones = count(found["drones"], "drone")
    pages = count(found["pages"], "URL")
    archived = count(found["archived"], "archived URL")
    hosts = count(found["hosts in use"], "host")
    yield f"hive: {drones}; {pages}, {archived}, {hosts} in use, each in only one drone"
    if found["archived in several"]:
        urls = count(found["archived in several"], "archived URL")
        yield f"hive: {urls} in several drones, because they were requested more than once"


def _state_lines(found: Counter[str]) -> Iterator[str]:
    """Yield a line on the frontier, and one on the seen store."""
    held_back = []
    if found["over budget"]:
        held_back.append(f"{found['over budget']} over their domains' budgets")
    if found["folded"]:
        held_back.append(f"{found['folded']} folded, because similar URLs brought nothing new")
    reasons = f" ({', '.join(held_back)})" if held_back else ""
    hosts = count(found["hosts"], "host")
    yield f"frontier: {_queued(found)}{reasons}, {hosts}, {found['robots']} robots.txt"
    links = count(found["waiting"], "link")
    yield f"seen: {count(found['keys'], 'URL')}, {links} not yet looked up"


def _queued(found: Counter[str]) -> str:
    """Return the number of queued URLs, or the frontier of another kind that was not checked."""
    from webcrawl.frontier.check_state import OTHER  # noqa: PLC0415 - as above

    others = [name.removeprefix(OTHER) for name in found if name.startswith(OTHER)]
    if others:
        return f"the URLs of {others[0]} were not checked"
    return f"{count(found['queued'], 'URL')} queued"


def _archive_lines(found: Counter[str]) -> Iterator[str]:
    """Yield lines on the outputs, truncated records, revisits, batches and texts."""
    files = count(found["files"], "file")
    size = count(found["bytes"], "byte")
    records = count(found["records"], "WARC record")
    yield f"outputs: {files}, {size}, {records}, {count(found['lines'], 'log line')}"
    truncated = _truncated_records(found)
    if truncated:
        records = count(sum(truncated.values()), "record")
        yield f"archive: {records} with truncated bodies: {by_type(truncated)}"
    if found["revisits"] or found["ahead"]:
        pages = count(found["revisits"], "page")
        yield f"revisits: {pages} waiting, {found['ahead']} fetched ahead of time"
    if found["batches"]:
        batches = count(found["batches"], "batch")
        yield f"hive: {batches} for other drones not acknowledged, {count(found['items'], 'item')}"
    if found["texts"]:
        yield f"text: {count(found['texts'], 'page')}{_index_words(found)}"


def _absence_lines(found: Counter[str]) -> Iterator[str]:
    """Yield a line for each finished file that is not here: taken away, or in a store."""
    from webcrawl.record.objectstore.storing import IN_STORE  # noqa: PLC0415 - as above
    from webcrawl.record.since.index import GONE_PREFIX  # noqa: PLC0415 - as above
    from webcrawl.tools.verify_crawl import ABSENT  # noqa: PLC0415 - as above

    for name in _names_with(ABSENT, found):
        yield f"{name}: was finished, but is no longer here"
    for name in _names_with(GONE_PREFIX, found):
        archives = count(found[f"{GONE_PREFIX}{name}"], "archive")
        yield (
            f"{name}: no longer here; {archives} of an earlier "
            "crawl, to which records of unchanged pages refer"
        )
    for address in _names_with(IN_STORE, found):
        yield f"{count(found[f'{IN_STORE}{address}'], 'file')} in {address}, not checked"


def _names_with(prefix: str, found: Counter[str]) -> list[str]:
    """Return the names that stand behind a prefix among the figures."""
    return [name.removeprefix(prefix) for name in found if name.startswith(prefix)]


def _table_lines(found: Counter[str]) -> Iterator[str]:
    """Yield lines on the Parquet tables: pages, changes and documents."""
    from webcrawl.record.tables.check_tables import UNCOMPARED_ROWS, UNREAD_TABLES  # noqa: PLC0415 - as above

    if found["rows"]:
        compared = "crawl.log"
        if found["archived rows"]:
            is_all_here = not found[UNCOMPARED_ROWS]
            compared += (
                " and the archive" if is_all_here else " and the archive files that are here"
            )
        yield f"tables: {count(found['rows'], 'page')}, in agreement with {compared}"
    if found["changes"]:
        yield f"changes: {count(found['changes'], 'row')}, in agreement with crawl.log"
    if found["documents"]:
        yield f"documents: {found['documents']}, all of pages in crawl.log"
    if found[UNREAD_TABLES]:
        needed = install("pyarrow")
        yield f"tables: only their checksums were checked; {needed} to check their content"


def _lines_beyond_checkpoint(found: Counter[str]) -> Iterator[str]:
    """Yield lines on the bytes in files behind the last checkpoint, by why they are there."""
    if found["behind"]:
        again = (
            "the last run was killed or failed; when resumed, the crawl drops them and does that "
            "work again"
        )
        yield f"{count(found['behind'], 'byte')} after the last checkpoint do not count: {again}"
    if found["foreign"]:
        others = "the last run ended with that checkpoint, so another program has written them"
        yield f"{count(found['foreign'], 'byte')} after the last checkpoint do not count: {others}"
    if found["unsaved"]:
        yield (
            f"{count(found['unsaved'], 'byte')} are not part of a checkpoint yet, because the "
            "crawl is running"
        )


def _truncated_records(found: Counter[str]) -> dict[str, int]:
    """Return the number of records with truncated bodies, by media type."""
    from webcrawl.record.warc.check_archive import TRUNCATED_PREFIX  # noqa: PLC0415 - as above

    return {
        name.removeprefix(TRUNCATED_PREFIX): records
        for name, records in found.items()
        if name.startswith(TRUNCATED_PREFIX)
    }


def _index_words(found: Counter[str]) -> str:
    """Return how many of the texts are in the full-text index, to follow their number."""
    from webcrawl.record.fulltext.check_texts import UNREAD_INDEX  # noqa: PLC0415 - as above

    if found[UNREAD_INDEX]:
        return f"; the index was not checked: {install('tantivy')}"
    if not found["indexed"] and not found["unindexed"]:
        return ""
    words = f", {found['indexed']} of them in the index"
    if found["replaced"]:
        words += f", {found['replaced']} replaced there by later ones"
    # A checkpoint comes before its pages enter the index.
    if found["unindexed"]:
        words += f", {found['unindexed']} will be added by the next start"
    return words
