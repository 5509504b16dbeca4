"""The ends of a crawl's logs, and what they say of its seeds; files of fixed names, read in bounded pieces."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from webcrawl.store.disk import regular
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.tools.report.log_summary import Log, SeedTable, take

LOGS = ("crawl.log", "errors.log", "skipped.log", "requests.log")
TAIL = 1 << 18  # bytes of a log's end
AT_ONCE = 64 << 20  # bytes of crawl.log for the table of seeds, each time that it is wanted
SEEDS = 200_000  # known by name, and URLs that a wall answered last
LONGEST = 4000  # characters of a line


def tail(jobdir: Path, name: str, wanted: str, most: int) -> list[str]:
    """The last lines of a log that have this text in them, the latest first."""
    if name not in LOGS:
        return []
    try:
        with regular(jobdir / "logs" / name) as file:
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            lines = file.read(TAIL).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    if size > TAIL:
        del lines[0]  # a part of one
    return [line[:LONGEST] for line in reversed(lines) if line and wanted in line][:most]


class SeedProgress:
    """The outcomes of the seeds of a crawl, or of all drones of a hive. `read` may run in a thread, one at a time."""

    def __init__(self, jobdirs: Sequence[Path]) -> None:
        self._paths = [jobdir / LOG for jobdir in jobdirs]
        self._begin()

    def _begin(self) -> None:
        self._log = Log(seeds=SeedTable(SEEDS), room=SEEDS)
        self._places = dict.fromkeys(self._paths, 0)
        self.left = 0  # bytes that are not read yet

    @property
    def table(self) -> SeedTable:
        return self._log.seeds

    def read(self) -> None:
        """Goes on where it was; begins anew if a log was cut back."""
        sizes = {path: path.stat().st_size if path.exists() else 0 for path in self._paths}
        if any(sizes[path] < place for path, place in self._places.items()):
            self._begin()
        budget = AT_ONCE
        for path, size in sizes.items():
            place = self._places[path]
            if size > place and budget > 0:
                with regular(path) as file:
                    file.seek(place)
                    data = file.read(min(budget, size - place))
                whole = data[: data.rfind(b"\n") + 1]
                budget -= len(data)
                self._places[path] += len(whole)
                for line in whole.splitlines():
                    with suppress(ValueError, IndexError, OverflowError):
                        take(self._log, line)
        self.left = sum(size - self._places[path] for path, size in sizes.items())
