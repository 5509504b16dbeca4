"""What the queen tells of all drones: a line in her log, and a file beside her own stats.json."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from pathlib import Path

from webcrawl.hive.merging import merged
from webcrawl.hive.report import Report

logger = logging.getLogger(__name__)

NAME = "hive-stats.json"
WRITE, SAY = 10.0, 60.0  # seconds between two files, and two lines


class Telling:
    """`jobdir`: the queen's."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / NAME
        self._written_at = self._said_at = float("-inf")

    def __repr__(self) -> str:
        return f"<Telling {self._path}>"

    def tell(self, now: float, reports: Collection[Report], *, last: bool = False) -> None:
        """If it is time for it; `last`: the crawl is over."""
        if not last and now - self._written_at < WRITE:
            return
        found = merged(report.stats() for report in reports)
        self._written_at = now
        new = self._path.with_suffix(".json.new")
        try:
            new.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
            new.replace(self._path)
        except OSError as error:  # the figures are in the server, too
            logger.warning("%s: not written: %s", self._path, error)
        if last or now - self._said_at >= SAY:
            self._said_at = now
            figures = (found.get(name, 0) for name in ("pages", "queued", "failures"))
            logger.info("the hive: %d pages, %d queued, %d failures, drones: %d", *figures, len(reports))
