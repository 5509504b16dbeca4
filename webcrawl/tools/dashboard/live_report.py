"""The report's sections on a crawl that may be running, as of its last checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join
from webcrawl.base.program import program
from webcrawl.record.statistics.statistics import host_of
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.crawls import hive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.tools.report.elements import note
from webcrawl.tools.report.log_summary import Log, SeedTable, take
from webcrawl.tools.report.report_page import odd, sections
from webcrawl.tools.report.report_source import Source, one_of, read_source

AT_ONCE = 64 << 20  # bytes of crawl.log that are read each time
SEEDS = 200_000  # known by name, and URLs that a wall answered last
LEFT_OUT = ("overview", "drones", "copies")  # shown as they are now; and what takes a pass over a log of its own
UNREAD = {"note": note("The report is being read.")}


class LogProgress:
    """One pass over the logs of a crawl, or of all drones of a hive, that goes on as they grow."""

    def __init__(self, jobdirs: Sequence[Path]) -> None:
        self._paths = [jobdir / LOG for jobdir in jobdirs]
        self._begin()

    def _begin(self) -> None:
        self.log = Log(seeds=SeedTable(SEEDS), room=SEEDS)
        self._places = dict.fromkeys(self._paths, 0)
        self.left = 0  # bytes that are not read yet

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
                        take(self.log, line)
        self.left = sum(size - self._places[path] for path, size in sizes.items())


class LiveReport:
    """Of one crawl or hive. `read` may run in a thread, one at a time; `sections` are those that it made last."""

    def __init__(self, jobdir: Path, crawls: Sequence[Path], defaults: Mapping[str, str]) -> None:
        self._jobdir, self._defaults = jobdir, defaults
        self._progress = LogProgress(crawls)
        self.sections: Mapping[str, Html] = UNREAD

    def read(self) -> None:
        """Reads the last checkpoint, and what came into the logs since the last time."""
        try:
            self._progress.read()
            source = _source(self._jobdir)
        except (StoreError, OSError) as error:
            self.sections = {"note": note(f"No figures of a checkpoint: {error}.")}
            return
        log = self._progress.log
        source.statistics.outcomes -= log.walled + _behind_walls(log, source)
        made = {name: make() for name, make in sections(source, log, self._defaults).items() if name not in LEFT_OUT}
        self.sections = {"note": self._note(source), **{name: html for name, html in made.items() if html is not None}}

    def _note(self, source: Source) -> Html:
        left = self._progress.left
        more = f" {numbers.size(left)} of crawl.log are not read yet: this page goes on." if left else ""
        said = [note(f"As of the last checkpoint, at {numbers.when(source.at)}.{more}")]
        if not source.complete:
            source.complete = True  # what is said of that is so of the report alone
            said.append(note(f"The statistics lack its beginning: `{program()} report` makes whole ones from the log."))
        return join(*said, odd(source, self._progress.log))


def _source(jobdir: Path) -> Source:
    if hive_of(jobdir) is None:
        return read_source(jobdir)
    return one_of(jobdir, [read_source(crawl.path) for crawl in JobDir.all(jobdir)])


def _behind_walls(log: Log, source: Source) -> Counter[int]:
    """Answers of walls to URLs that wait for these to open: not the end of them, as `Log.leave_out` has it."""
    shut = set[str]().union(*(crawl.state.shut for crawl in source.crawls))
    return Counter(status for url, (_, status) in log.walls.items() if host_of(url.decode("utf-8", "replace")) in shut)
