"""`scrapy export store`: brings what a crawl has finished to its store."""

from __future__ import annotations

import argparse
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

    says = "Copy the finished files of a crawl or hive to its store"

    def syntax(self) -> str:
        return "JOBDIR"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del opts
        if len(args) != 1 or not args[0]:
            raise usage_error(f"one folder: {program()} export store JOBDIR")
        from webcrawl.store.errors import StoreError  # noqa: PLC0415 - Scrapy imports every command for any

        jobdir = Path(args[0])
        is_sound = False
        try:
            is_sound = _copy(jobdir, self.settings)
        except (StoreError, ValueError) as error:
            complain(error)
        except OSError as error:
            sys.stderr.write(f"{readable(f'{error.filename or jobdir}: {error.strerror or error}')}\n")
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: run the same command to resume\n")
        self.exitcode = 0 if is_sound else 1


def _copy(jobdir: Path, settings: Settings) -> bool:
    """Copy what is finished; return whether everything is in the store now."""
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
