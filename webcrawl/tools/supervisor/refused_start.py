"""A start of a hive that is refused leaves nothing behind: the next one in its folder may be another's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.store.lock import LOCK


@contextmanager
def leaving_nothing(folder: HiveFolder, *, new: bool) -> Iterator[ExitStack]:
    """What was made in the folder goes again, if this ends before `pop_all`. `new`: the folder was made for this start.

    Only with its lock: what another process has made is then there before, and stays.
    """
    there = {*folder.path.iterdir()}
    with ExitStack() as refused:
        refused.callback(_remove, folder, there, new=new)
        yield refused


def _remove(folder: HiveFolder, there: set[Path], *, new: bool) -> None:
    made = {folder.server, folder.path / "logs", *folder.path.glob("drone-*")} - there
    for path in made:
        shutil.rmtree(path, ignore_errors=True)
    if new and there <= {folder.path / LOCK}:
        with suppress(OSError):  # somebody has put something there meanwhile
            (folder.path / LOCK).unlink(missing_ok=True)
            folder.path.rmdir()
