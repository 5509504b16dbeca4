"""The JOBDIR before a crawl opens it: it is made, or looked at."""

from __future__ import annotations

import os
from pathlib import Path

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import program
from webcrawl.base.readable import readable
from webcrawl.store.jobdir.crawls import HIVE, STATE, is_crawl
from webcrawl.store.lock import Lock


def check_name(folder: Path) -> None:
    """Raise CannotStart for a JOBDIR whose name cannot be printed."""
    name = str(folder.absolute())
    if (shown := readable(name)) != name:
        raise CannotStart(f"JOBDIR = {shown}: must not contain control characters or invalid UTF-8")


def make_folder(folder: Path) -> None:
    """Make JOBDIR if it is not there. Raise CannotStart if no crawl can have it."""
    check_name(folder)
    if (folder / HIVE).exists():
        raise CannotStart(
            f"{folder}: holds a hive: resume it by the command `{program()} hive …` that started it, "
            "or use another JOBDIR"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(f"JOBDIR = {folder}: cannot be created ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotStart(f"JOBDIR = {folder}: is not writable")


def check_folder(folder: Path) -> None:
    """Raise StoreError if JOBDIR is damaged, CannotStart if it belongs to no crawl of ours.

    To be called under its lock: a running crawl changes its files while they are read.
    """
    state, log = folder / "state", folder / "logs" / "crawl.log"
    if not is_crawl(folder):
        if log.is_file() and log.stat().st_size:  # a new crawl would empty it
            raise CannotStart(
                f"{folder}/{STATE}: is missing, though the logs of a crawl are there: restore it "
                "from a copy, or use another JOBDIR"
            )
        theirs = next(
            filter(Path.exists, (folder / "requests.queue", folder / "requests.seen")), None
        )
        if theirs is not None:
            raise CannotStart(
                f"{theirs}: belongs to a crawl by plain Scrapy, which only Scrapy can resume: use "
                "another JOBDIR"
            )
    if not state.exists():
        return
    from webcrawl.crawl.start_check import check_start  # noqa: PLC0415 - a new crawl has nothing to check

    lock = Lock(state)
    try:
        lock.add(folder)
        for damage in check_start(folder):
            raise damage
    finally:
        lock.close()
