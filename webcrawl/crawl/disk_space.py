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
    """Holds the crawl while too little of the disk is free, and lets it go on when there is more.

    While it is held, requests under way are finished, and checkpoints continue.
    """

    def __init__(self, folder: Path, least: int, set_pause_reason: Callable[[str], str]) -> None:
        """Hold the crawl if less than `least` MiB are free on the disk of `folder`.

        `set_pause_reason` is called with the reason for which nothing is to be fetched, or with an
        empty one to let the crawl go on. It returns in words what happens then.
        """
        self._folder = folder
        self._least = least
        self._set_pause_reason = set_pause_reason
        self._paused = False
        self._loop = Loop(self.look)

    def start(self) -> None:
        """Begin to look at the disk space at intervals."""
        self._loop.start(INTERVAL)

    def stop(self) -> None:
        self._loop.stop()

    def change(self, values: CheckedSettings) -> None:
        """Take another MIN_FREE_DISK, which the next look applies; 0: never too little."""
        self._least = values["MIN_FREE_DISK"]

    def look(self) -> None:
        """Hold the crawl if the disk has too little room, or let it go on."""
        try:
            free = shutil.disk_usage(self._folder).free // MIB
        except OSError:  # JOBDIR was moved or removed: the next checkpoint finds out, and says so
            return
        is_short = free < self._least
        if is_short == self._paused:
            return
        self._paused = is_short
        then = self._set_pause_reason("disk nearly full" if is_short else "")
        if is_short:
            logger.warning(
                "%d MiB are free for %s, less than MIN_FREE_DISK = %d: fetching is paused until there is more",
                free,
                self._folder,
                self._least,
            )
        else:
            logger.info("%d MiB are free for %s: %s", free, self._folder, then)
