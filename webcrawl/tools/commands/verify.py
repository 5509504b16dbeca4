"""`webcrawl verify`: checks that everything a crawl left is complete and undamaged."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from webcrawl.base.loading import install
from webcrawl.base.program import program
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

FIGURES = {
    name: name
    for name in ("queued", "hosts", "robots", "waiting", "files", "bytes", "records", "lines")
} | {"seen": "keys"}


class Command(ToolCommand):
    """Exit status 0 and a summary, or 1 and one line per damaged place (docs/verify-move-upgrade.md)."""

    summary = "Check every file of a crawl; change none"
    usage = "JOBDIR [--json]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} verify JOBDIR")
        self.exitcode = verified(args[0], as_json=opts.json)


def verified(jobdir: str, *, as_json: bool = False) -> int:
    """Print what is found in a crawl or a hive, and return the exit status."""
    from webcrawl.tools.verify_crawl import verify  # noqa: PLC0415 - as above
    from webcrawl.tools.verify_hive import verify_hive  # noqa: PLC0415 - Scrapy imports every command for any: 0.2 s

    found: Counter[str] = Counter()
    path = Path(jobdir)
    try:
        damages = verify(path, found) if hive_of(path) is None else verify_hive(path, found)
        return (_print_json if as_json else _print)(jobdir, damages, found)
    except (StoreError, OSError) as error:
        print_error(error, as_json=as_json)
    return 1


def _print(jobdir: str, damages: Iterator[DamagedFile], found: Counter[str]) -> int:
    places = 0
    for damage in damages:
        places += 1
        print_line(str(damage))
    for line in [f"{jobdir}: damaged places: {places}"] if places else _summary(jobdir, found):
        print_line(line)
    return min(places, 1)


def _print_json(jobdir: str, damages: Iterator[DamagedFile], found: Counter[str]) -> int:
    damaged = [{"path": str(one.path), "byte": one.offset, "why": one.why} for one in damages]
    figures = {name: found[counted] for name, counted in FIGURES.items()}
    summary = [] if damaged else _summary(jobdir, found)
    about = {
        "jobdir": jobdir,
        "damaged": damaged,
        **figures,
        "cut": _cut(found),
        "summary": summary,
    }
    print_text(f"{json.dumps(about)}\n")
    return min(len(damaged), 1)


def _summary(jobdir: str, found: Counter[str]) -> list[str]:
    from webcrawl.record.objectstore.storing import IN_STORE  # noqa: PLC0415 - as above
    from webcrawl.record.since.index import GONE_PREFIX  # noqa: PLC0415 - as above
    from webcrawl.record.tables.check_tables import UNREAD_TABLES  # noqa: PLC0415 - as above
    from webcrawl.tools.verify_crawl import ABSENT  # noqa: PLC0415 - as above

    held = [f"{found['over budget']} over their domains' budgets"] if found["over budget"] else []
    held += (
        [f"{found['folded']} folded, because similar URLs brought nothing new"]
        if found["folded"]
        else []
    )
    over = f" ({', '.join(held)})" if held else ""

    def many(name: str, noun: str) -> str:
        return count(found[name], noun)

    outputs = f"outputs: {many('files', 'file')}, {many('bytes', 'byte')}, {many('records', 'WARC record')}"
    lines = [
        f"{jobdir}: no damage found",
        *_of_hive(found),
        f"frontier: {_queued(found)}{over}, {many('hosts', 'host')}, {found['robots']} robots.txt",
        f"seen: {many('keys', 'URL')}, {many('waiting', 'link')} not yet looked up",
        f"{outputs}, {many('lines', 'log line')}",
    ]
    if cut := _cut(found):
        lines.append(
            f"archive: {count(sum(cut.values()), 'record')} with truncated bodies: {by_type(cut)}"
        )
    if found["revisits"] or found["ahead"]:
        lines.append(
            f"revisits: {many('revisits', 'page')} waiting, {found['ahead']} fetched ahead of time"
        )
    if found["letters"]:
        lines.append(f"hive: {many('letters', 'letter')} not acknowledged, {many('items', 'item')}")
    if found["texts"]:
        lines.append(f"text: {many('texts', 'page')}{_of_index(found)}")
    lines += [
        f"{name.removeprefix(ABSENT)}: was finished, but is no longer here"
        for name in found
        if name.startswith(ABSENT)
    ]
    lines += [
        f"{name.removeprefix(GONE_PREFIX)}: no longer here; {count(found[name], 'archive')} of an earlier "
        "crawl, to which records of unchanged pages refer"
        for name in found
        if name.startswith(GONE_PREFIX)
    ]
    lines += [
        f"{count(found[name], 'file')} in {name.removeprefix(IN_STORE)}, not checked"
        for name in found
        if name.startswith(IN_STORE)
    ]
    if found["rows"]:
        have = "crawl.log and the archive" if found["archived rows"] else "crawl.log"
        lines.append(f"tables: {many('rows', 'page')}, in agreement with {have}")
    if found["changes"]:
        lines.append(f"changes: {many('changes', 'row')}, in agreement with crawl.log")
    if found["documents"]:
        lines.append(f"documents: {found['documents']}, all of pages in crawl.log")
    if found[UNREAD_TABLES]:
        lines.append(
            f"tables: only their checksums were checked; {install('pyarrow')} to check their content"
        )
    return [*lines, *_beyond(found)]


def _beyond(found: Counter[str]) -> Iterator[str]:
    """Yield lines on what lies behind the last checkpoint."""
    if found["behind"]:
        again = (
            "the last run was killed or failed; when resumed, the crawl drops them and fetches "
            "those pages again"
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


def _cut(found: Counter[str]) -> dict[str, int]:
    """Return the records of bodies that are cut, by media type."""
    from webcrawl.record.warc.check_archive import CUT_PREFIX  # noqa: PLC0415 - as above

    return {
        name.removeprefix(CUT_PREFIX): many
        for name, many in found.items()
        if name.startswith(CUT_PREFIX)
    }


def _queued(found: Counter[str]) -> str:
    from webcrawl.frontier.check_state import OTHER  # noqa: PLC0415 - as above

    others = [name.removeprefix(OTHER) for name in found if name.startswith(OTHER)]
    return (
        f"the URLs of {others[0]} were not checked"
        if others
        else f"{count(found['queued'], 'URL')} queued"
    )


def _of_hive(found: Counter[str]) -> list[str]:
    if not found["drones"]:
        return []
    many = (
        ("drones", "drone"),
        ("pages", "URL"),
        ("archived", "archived URL"),
        ("hosts in use", "host"),
    )
    drones, *others = (count(found[figure], word) for figure, word in many)
    return [f"hive: {drones}; {', '.join(others)} in use, each in only one drone"]


def _of_index(found: Counter[str]) -> str:
    from webcrawl.record.fulltext.check_texts import UNREAD_INDEX  # noqa: PLC0415 - as above

    if found[UNREAD_INDEX]:
        return f"; the index was not checked: {install('tantivy')}"
    if not found["indexed"] and not found["unindexed"]:
        return ""
    said = f", {found['indexed']} of them in the index"
    if found["replaced"]:
        said += f", {found['replaced']} replaced there by later ones"
    # A checkpoint comes before its pages enter the index.
    if found["unindexed"]:
        said += f", {found['unindexed']} will be added by the next start"
    return said
