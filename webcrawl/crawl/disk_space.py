"""Nothing is fetched while the disk of JOBDIR is nearly full."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.periodic import Loop

logger = logging.getLogger(__name__)

INTERVAL = 5.0  # seconds between two checks
MIB = 1 << 20


class DiskSpace:
    """Requests under way are finished, and checkpoints continue."""

    def __init__(self, folder: Path, least: int, hold: Callable[[str], str]) -> None:
        """`hold` has nothing fetched for the reason that it is given, and goes on if that is empty.

        It returns what comes of it, for a line.
        """
        self._folder = folder
        self._least = least
        self._hold = hold
        self._paused = False
        self._loop = Loop(self.look)

    def start(self) -> None:
        """Begin to look at the disk space at intervals."""
        self._loop.start(INTERVAL)

    def stop(self) -> None:
        """Stop looking at the disk space."""
        self._loop.stop()

    def change(self, values: CheckedSettings) -> None:
        """Take another MIN_FREE_DISK, which the next look resolves; 0: never too little."""
        self._least = values["MIN_FREE_DISK"]

    def look(self) -> None:
        """Hold the crawl if the disk has too little room, or let it go on."""
        try:
            free = shutil.disk_usage(self._folder).free // MIB
        except OSError:  # JOBDIR was moved or removed: the next checkpoint finds out, and says so
            return
        short = free < self._least
        if short == self._paused:
            return
        self._paused = short
        then = self._hold("disk nearly full" if short else "")
        if short:
            logger.warning(
                "%d MiB are free for %s, less than MIN_FREE_DISK = %d: fetching is paused until there is more",
                free,
                self._folder,
                self._least,
            )
        else:
            logger.info("%d MiB are free for %s: %s", free, self._folder, then)
