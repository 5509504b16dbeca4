"""`scrapy export store`: brings what a crawl has finished to its store, says what lies there, and checks it."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.program import program
from webcrawl.base.readable import readable
from webcrawl.tools.commands.console import complain, say
from webcrawl.tools.tool_command import ToolCommand, usage_error

if TYPE_CHECKING:
    from scrapy.settings import Settings

SETTINGS = "OUTPUT_STORE", "OUTPUT_STORE_KEEP"


class Command(ToolCommand):
    """Exit status 0 if all finished files are in the store, or 1 and a line for each reason; docs/outputs.md."""

    says = "Copy the finished files of a crawl or hive to its store, list or check them"

    def syntax(self) -> str:
        return "JOBDIR [-l | --verify] [--json]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-l", "--list", action="store_true", help="say what lies where; nothing is copied")
        parser.add_argument("--verify", action="store_true", help="read all copies and compare them; nothing is copied")
        parser.add_argument("--json", action="store_true", help="with -l or --verify: one JSON object per file")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export store JOBDIR")
        if opts.list and opts.verify:
            raise usage_error("-l or --verify")
        if opts.json and not (opts.list or opts.verify):
            raise usage_error("--json goes with -l or --verify")
        from webcrawl.store.errors import StoreError  # noqa: PLC0415 - Scrapy imports every command for any

        jobdir = Path(args[0])
        try:
            sound = self._looked(jobdir, opts) if opts.list or opts.verify else self._copied(jobdir)
        except (StoreError, ValueError) as error:
            complain(error)
            sound = False
        except OSError as error:
            sys.stderr.write(f"{readable(f'{error.filename or jobdir}: {error.strerror or error}')}\n")
            sound = False
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
            sound = False
        self.exitcode = 0 if sound else 1

    def _looked(self, jobdir: Path, opts: argparse.Namespace) -> bool:
        from webcrawl.record.objectstore.place import open_place  # noqa: PLC0415 - as above
        from webcrawl.record.objectstore.stored import looked  # noqa: PLC0415 - as above
        from webcrawl.store.jobdir.crawls import crawls_of  # noqa: PLC0415 - as above

        sound = True
        for crawl in crawls_of(jobdir):
            for one in looked(crawl, open_place if opts.verify else None):
                sound = sound and one.is_sound
                say(json.dumps(one.to_json()) if opts.json else one.line())
        return sound

    def _copied(self, jobdir: Path) -> bool:
        return _copied(jobdir, self.settings)


def _copied(jobdir: Path, settings: Settings) -> bool:
    """Return whether everything is in the store now."""
    from webcrawl import settings as defaults  # noqa: PLC0415 - as above
    from webcrawl.crawl.checks.check import read  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.place import below, open_place  # noqa: PLC0415 - as above
    from webcrawl.record.objectstore.storing import copied  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.crawls import crawls_of, hive_of  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.job_dir import JobDir  # noqa: PLC0415 - as above

    _aloud()
    given, keep = (read(name, settings.get(name, getattr(defaults, name))) for name in SETTINGS)
    drones = hive_of(jobdir) is not None
    sound = True
    for crawl in crawls_of(jobdir):
        JobDir.open(crawl)
        address = below(given, crawl.name) if given and drones else given
        for line, is_sound in copied(crawl, address, keep=keep, open_place=open_place):
            sound = sound and is_sound
            say(line)
    return sound


class _Lines(logging.Handler):
    """Prints what is said meanwhile: which file is stored, and why one is not."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def _aloud() -> None:
    logger = logging.getLogger("webcrawl.record.objectstore")
    logger.setLevel(logging.INFO)
    logger.handlers[:] = [_Lines()]
