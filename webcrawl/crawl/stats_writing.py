"""The crawl's counters, in stats.json, at every checkpoint and at the end."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webcrawl.base.dates import iso
from webcrawl.crawl.run import Run
from webcrawl.record.statistics import figures as statistics_of
from webcrawl.store.jobdir import stats_file

logger = logging.getLogger(__name__)


class StatsWriting:
    """Writes stats.json. Times are of this run, counters of the whole crawl.

    `reason`, why the run has ended, is null while the crawl runs.
    """

    def __init__(
        self,
        run: Run,
        folder: Path,
        errors: Callable[[], int],
        tell: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        """`errors` returns how many unexpected errors the code of spider, pipelines or crawl has raised.

        `tell` gets the figures each time.
        """
        self._run = run
        self._folder = folder
        self._errors = errors
        self._tell = tell
        self._started = time.time()
        self._begun = time.monotonic()

    def begin(self) -> None:
        """Write the figures of each checkpoint to the file, from now on."""
        run, folder = self._run, self._folder
        run.keeping.kept = run.crawl.stats() | {"statistics": self._tables()}
        run.keeping.taken.append(self.save)
        # The file says how the run before this one ended: it must not until the first checkpoint.
        if stats_file.read(folder).get("reason") is not None:
            self.save()

    def save(self, reason: str | None = None) -> None:
        """Replace stats.json as a whole; a failure is logged, and does not end the crawl."""
        run = self._run
        taken = run.crawl.parts.db.presence.taken_away()
        # JOBDIR was moved or removed: another folder may be in its place, which is not ours.
        if taken is not None and taken.path == self._folder:
            return
        figures, tables = self._figures(reason), run.kept_tables(self._tables())
        run.keeping.kept = figures | {"statistics": tables}
        if self._tell is not None:
            self._tell(figures)
        try:
            stats_file.write(self._folder, _text(figures | {"statistics": tables}))
        except OSError as error:
            logger.warning("%s: cannot be written: %s", self._folder / stats_file.NAME, error)

    def _tables(self) -> dict[str, Any]:
        """Return the tables of the statistics, with the histograms of revisits."""
        parts = self._run.crawl.parts
        tables = statistics_of(parts.statistics)
        if begun := tables["series"]["start"]:  # by the crawl's clock
            tables["series"]["start"] = round(parts.clock.wall(begun))
        revisits = parts.revisiting.counts.figures() if parts.revisiting is not None else None
        if revisits is None:
            return tables
        return tables | {"revisits": revisits.histograms()}

    def _figures(self, reason: str | None) -> dict[str, Any]:
        """Return what stats.json says; `reason` is None while the crawl runs."""
        run = self._run
        return {
            "reason": reason,
            "started": iso(int(self._started), fraction=False),
            "at": iso(int(time.time()), fraction=False),
            "seconds": round(time.monotonic() - self._begun, 1),
            **run.kept(run.crawl.stats()),
            "bound": run.crawl.outlook.bound(),
            **self._of_end(reason),
            "errors": self._errors(),
        }

    def _of_end(self, reason: str | None) -> dict[str, Any]:
        """Return whether work is left, and why the seeds gave nothing; nothing of a running crawl."""
        if reason is None:
            return {}
        of_end: dict[str, Any] = {"work_left": self._run.is_work_left}
        fates = self._run.fates
        if fates is not None and reason == stats_file.FINISHED and fates.hopeless:
            of_end[stats_file.UNREACHED] = fates.lines()
        return of_end


def _text(figures: dict[str, Any]) -> str:
    """Return one line per counter, and one per table of the statistics."""
    tables = figures.pop("statistics")
    # What follows the figures is inserted before their closing "\n}".
    lines = ",\n  ".join(
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in tables.items()
    )
    return f'{json.dumps(figures, indent=1)[:-2]},\n "statistics": {{\n  {lines}\n }}\n}}\n'
